// ChatSink: one outcome, whatever happens around it.
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"

#include <agentcore/llm_client.hpp>

#include <stdexcept>

using namespace agentcore;
using test::ChatRecord;

namespace {

// Records its destruction, and runs a given function when it is called.
class Probe final : public ChatSink::Receiver {
 public:
  Probe(ChatRecord& heard, bool& alive) : heard_(heard), alive_(alive) { alive_ = true; }
  ~Probe() override { alive_ = false; }
  void on_delta(std::string_view text) override {
    heard_.deltas.emplace_back(text);
    if (in_delta) in_delta();
    alive_after_delta = alive_;
    if (after) *after = alive_;
  }
  void on_outcome(ChatOutcome outcome) override {
    heard_.outcomes.push_back(std::move(outcome));
    if (in_outcome) in_outcome();
    if (after) *after = alive_;
  }

  std::function<void()> in_delta, in_outcome;
  bool* after = nullptr;
  bool alive_after_delta = false;

 private:
  ChatRecord& heard_;
  bool& alive_;
};

struct Fixture {
  ChatRecord heard;
  bool alive = false, alive_after = false;
  Probe* probe = nullptr;
  std::optional<ChatSink> sink;

  Fixture() {
    auto made = std::make_unique<Probe>(heard, alive);
    probe = made.get();
    probe->after = &alive_after;
    sink.emplace(std::move(made));
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a sink delivers deltas and then one outcome", "[llm][G7]") {
  sink->delta("a");
  sink->delta("");
  sink->delta("b");
  CHECK(*sink);
  sink->finish(ChatOutcome::completed(FinishReason::complete));
  CHECK_FALSE(*sink);
  CHECK_FALSE(alive);
  sink->delta("late");
  sink->finish(ChatOutcome::cancelled());
  sink.reset();
  CHECK(heard.deltas == std::vector<std::string>{"a", "b"});
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "a dropped sink delivers client_dropped_call", "[llm][G10]") {
  sink.reset();
  CHECK(heard.failed_with(Errc::client_dropped_call));
  CHECK_FALSE(alive);
}

TEST_CASE_METHOD(Fixture, "an overwritten sink delivers client_dropped_call", "[llm][G10]") {
  *sink = ChatSink();
  CHECK(heard.failed_with(Errc::client_dropped_call));
}

TEST_CASE_METHOD(Fixture, "a moved sink delivers one outcome", "[llm][G10]") {
  ChatSink other = std::move(*sink);
  CHECK_FALSE(*sink);
  sink.reset();
  CHECK_FALSE(heard.ended());
  other.finish(ChatOutcome::cancelled());
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "a receiver may destroy the sink from within a delta", "[llm][Q3]") {
  probe->in_delta = [this] { sink.reset(); };
  sink->delta("a");
  CHECK(heard.failed_with(Errc::client_dropped_call));
  CHECK(alive_after);
  CHECK_FALSE(alive);
}

TEST_CASE_METHOD(Fixture, "a receiver may finish its own call from within a delta", "[llm][Q3]") {
  probe->in_delta = [this] { sink->finish(ChatOutcome::cancelled()); };
  sink->delta("a");
  sink->delta("b");
  CHECK(heard.deltas.size() == 1);
  CHECK(heard.cancelled());
  CHECK(alive_after);
  CHECK_FALSE(alive);
}

TEST_CASE_METHOD(Fixture, "a receiver may destroy the sink from within the outcome", "[llm][Q3]") {
  probe->in_outcome = [this] { sink.reset(); };
  sink->finish(ChatOutcome::cancelled());
  CHECK(heard.cancelled());
  CHECK(alive_after);
  CHECK_FALSE(alive);
}

TEST_CASE_METHOD(Fixture, "deltas may nest and the receiver lives until the outermost returns", "[llm][Q3]") {
  probe->in_delta = [this] {
    if (heard.deltas.size() == 1) return sink->delta("inner");
    sink.reset();
  };
  sink->delta("outer");
  CHECK(heard.text() == "outerinner");
  CHECK(heard.outcomes.size() == 1);
  CHECK(probe != nullptr);
  CHECK(alive_after);
  CHECK_FALSE(alive);
}

TEST_CASE_METHOD(Fixture, "a receiver that throws gets callback_failed at once", "[llm][G16][Q6]") {
  probe->in_delta = [] { throw std::runtime_error("no room"); };
  sink->delta("a");
  CHECK(heard.failed_with(Errc::callback_failed));
  CHECK(heard.error().message == "on_delta threw: no room");
  CHECK_FALSE(heard.outcomes[0].usage.complete);
  CHECK_FALSE(*sink);
  sink->delta("b");
  sink->finish(ChatOutcome::cancelled());
  CHECK(heard.outcomes.size() == 1);
  CHECK(heard.deltas.size() == 1);
}

TEST_CASE_METHOD(Fixture, "an exception of on_outcome is ignored", "[llm][G16][Q6]") {
  probe->in_outcome = [] { throw 7; };
  sink->finish(ChatOutcome::cancelled());
  CHECK(heard.cancelled());
  CHECK_FALSE(alive);
}
