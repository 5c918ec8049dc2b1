// A model without a network.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <stdexcept>

using namespace agentcore;
using namespace std::chrono_literals;
using test::ask;
using test::ChatRecord;
using Words = std::vector<std::string>;

namespace {

struct Fixture {
  testing::ManualClock clock;
  ChatRecord heard, other;
  StopSource stop;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(RuntimeOptions{.clock = &clock, .seed = 1});
  std::unique_ptr<testing::ScriptedClient> llm = std::make_unique<testing::ScriptedClient>(*runtime);

  void start(std::string id = "a") { llm->chat(ask(std::move(id)), stop.get_token(), heard.sink()); }
  void polls(int count) {
    while (count-- > 0) runtime->poll();
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "without a script it repeats the last message word by word", "[llm]") {
  llm->chat(ask("a", "one two  three"), {}, heard.sink());
  CHECK(heard.deltas.empty());
  runtime->poll();
  CHECK(heard.deltas == Words{"one"});
  runtime->poll();
  runtime->poll();
  CHECK(heard.deltas == Words{"one", " two", "  three"});
  CHECK_FALSE(heard.ended());
  CHECK(llm->open_calls() == 1);
  runtime->poll();
  CHECK(heard.completed());
  CHECK(heard.outcomes[0].finish_reason == FinishReason::complete);
  CHECK(llm->open_calls() == 0);
  CHECK(llm->calls() == 1);
}

TEST_CASE_METHOD(Fixture, "queued replies are used before the responder", "[llm]") {
  llm = std::make_unique<testing::ScriptedClient>(*runtime, [](const ChatRequest& request) {
    testing::ScriptedReply reply;
    reply.deltas = {request.agent_id + "!"};
    return reply;
  });
  testing::ScriptedReply queued;
  queued.deltas = {"queued"};
  queued.usage = {1, 2, 3};
  llm->enqueue(queued);
  start("a");
  llm->chat(ask("b"), {}, other.sink());
  CHECK(runtime->run_until_idle());
  CHECK(heard.text() == "queued");
  CHECK(heard.outcomes[0].usage == Usage{1, 2, 3});
  CHECK(other.text() == "b!");
}

TEST_CASE_METHOD(Fixture, "deltas come at the times of the script", "[llm][Q8]") {
  testing::ScriptedReply reply;
  reply.deltas = {"x", "y"};
  reply.first_delay = 2s;
  reply.interval = 1s;
  llm->enqueue(reply);
  start();
  runtime->run_for(1999ms);
  CHECK(heard.deltas.empty());
  runtime->run_for(1ms);
  CHECK(heard.deltas == Words{"x"});
  runtime->run_for(1s);
  CHECK(heard.deltas == Words{"x", "y"});
  CHECK_FALSE(heard.ended());
  runtime->run_for(1s);
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "a scripted error follows the deltas", "[llm]") {
  testing::ScriptedReply reply;
  reply.deltas = {"x"};
  reply.error = {Errc::network_error, "cut", 0, true};
  llm->enqueue(reply);
  start();
  CHECK(runtime->run_until_idle());
  CHECK(heard.text() == "x");
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(heard.error().retryable);
}

TEST_CASE_METHOD(Fixture, "a stop token ends a call before its next delta", "[llm][A7][G7]") {
  llm->chat(ask("a", "one two three"), stop.get_token(), heard.sink());
  runtime->poll();
  stop.request_stop();
  CHECK_FALSE(llm->has_active_request("a"));
  polls(5);
  CHECK(heard.deltas == Words{"one"});
  CHECK(heard.cancelled());
  CHECK(heard.error().code == Errc::cancelled);
  CHECK(llm->open_calls() == 0);
}

TEST_CASE_METHOD(Fixture, "a silent call ends only when it is stopped", "[llm]") {
  testing::ScriptedReply reply;
  reply.deltas = {"hm"};
  reply.silent = true;
  llm->enqueue(reply);
  start();
  runtime->run_for(24h);
  CHECK(heard.text() == "hm");
  CHECK_FALSE(heard.ended());
  CHECK(llm->abort("a"));
  runtime->poll();
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "a call that ignores its stop continues but its agent is free", "[llm]") {
  testing::ScriptedReply reply;
  reply.deltas = {"la", "la"};
  reply.deaf = true;
  llm->enqueue(reply);
  start();
  stop.request_stop();
  CHECK_FALSE(llm->has_active_request("a"));
  llm->chat(ask("a"), {}, other.sink());
  CHECK(runtime->run_until_idle());
  CHECK(heard.text() == "lala");
  CHECK(heard.completed());
  CHECK(other.text() == "hello");
}

TEST_CASE_METHOD(Fixture, "a stopped token starts nothing", "[llm]") {
  stop.request_stop();
  start();
  CHECK(heard.cancelled());
  CHECK(llm->calls() == 0);
  CHECK_FALSE(llm->has_active_request("a"));
}

TEST_CASE_METHOD(Fixture, "a second call of an agent is refused while the first is open", "[llm][A1]") {
  start();
  llm->chat(ask("a"), {}, other.sink());
  CHECK(other.failed_with(Errc::request_in_progress));
  CHECK(llm->has_active_request("a"));
  CHECK(runtime->run_until_idle());
  CHECK(heard.completed());
}

TEST_CASE_METHOD(Fixture, "a call may be aborted and restarted and aborted again in one tick", "[llm][X11]") {
  start();
  CHECK(llm->abort("a"));
  llm->chat(ask("a"), {}, other.sink());
  CHECK(llm->has_active_request("a"));
  runtime->poll();  // the first call ends now
  CHECK(heard.cancelled());
  CHECK(llm->has_active_request("a"));
  CHECK(llm->abort("a"));
  CHECK_FALSE(llm->abort("a"));
  runtime->poll();
  CHECK(other.cancelled());
}

TEST_CASE_METHOD(Fixture, "destroying the client cancels all open calls", "[llm]") {
  testing::ScriptedReply reply;
  reply.silent = reply.deaf = true;
  llm->enqueue(reply);
  start();
  llm->chat(ask("b"), {}, other.sink());
  llm.reset();
  CHECK(heard.cancelled());
  CHECK(other.cancelled());
  CHECK(runtime->run_until_idle());
}

TEST_CASE_METHOD(Fixture, "a receiver may destroy the client and the runtime", "[llm][Q3]") {
  llm->chat(ask("a", "one two"), {}, heard.sink([this] {
    llm.reset();
    runtime.reset();
  }));
  const auto engine = detail::loop::engine_of(*runtime);
  runtime->poll();
  CHECK(heard.text() == "one");
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "a receiver may stop its own call", "[llm][Q3][G7]") {
  llm->chat(ask("a", "one two"), {}, heard.sink([this] { llm->abort("a"); }));
  polls(5);
  CHECK(heard.text() == "one");
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "a client is inert after its Runtime was destroyed", "[llm]") {
  start();
  runtime.reset();
  CHECK_FALSE(heard.ended());
  llm->chat(ask("b"), {}, other.sink());
  CHECK(other.cancelled());
  llm.reset();
  CHECK(heard.cancelled());
}

TEST_CASE_METHOD(Fixture, "a throwing responder fails its call", "[llm][G16][Q6]") {
  llm = std::make_unique<testing::ScriptedClient>(
      *runtime, [](const ChatRequest&) -> testing::ScriptedReply { throw std::runtime_error("x"); });
  start();
  CHECK(heard.failed_with(Errc::callback_failed));
  CHECK_FALSE(llm->has_active_request("a"));
}

TEST_CASE_METHOD(Fixture, "a throwing receiver ends its call", "[llm][G16][Q6]") {
  llm->chat(ask("a", "one two"), {}, heard.sink([] { throw 1; }));
  polls(5);
  CHECK(heard.text() == "one");
  CHECK(heard.failed_with(Errc::callback_failed));
  CHECK(llm->open_calls() == 0);
}

TEST_CASE_METHOD(Fixture, "a stop without memory ends a silent call", "[llm][G5][G16]") {
  testing::ScriptedReply silent;
  silent.silent = true;
  llm->enqueue(silent);
  llm->enqueue(silent);
  start();
  llm->chat(ask("b"), {}, other.sink());
  polls(2);
  CHECK(llm->open_calls() == 2);
  {
    const test::FailingAllocation none(1, 1000);
    stop.request_stop();
    CHECK(none.failed());
  }
  CHECK(runtime->next_deadline());  // there is something to do
  polls(1);
  CHECK(heard.cancelled());
  CHECK_FALSE(other.ended());
  CHECK(llm->open_calls() == 1);
  polls(1);
  llm.reset();
  CHECK(other.cancelled());
}
