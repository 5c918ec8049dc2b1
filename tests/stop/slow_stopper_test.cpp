// A stop whose thread is slow between closing the gate and leaving its operation.
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>

#include <functional>
#include <latch>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace {

using namespace agentcore;

// Its first call holds whoever stops it until it is told to go on, as a stop callback must not, but may.
class HoldingClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken stop, ChatSink sink) override {
    open_.emplace(std::move(sink));
    if (calls_++ > 0) return;
    hold_.emplace(stop, [this] {
      if (std::this_thread::get_id() == loop_) return;
      held_.count_down();
      go_on_.wait();
    });
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return open_.has_value(); }

  void finish(ChatOutcome outcome) {
    ChatSink sink = std::move(*open_);
    open_.reset();
    sink.finish(std::move(outcome));
  }
  void wait_until_held() { held_.wait(); }
  void let_go() { go_on_.count_down(); }

 private:
  std::thread::id loop_ = std::this_thread::get_id();
  std::latch held_{1};
  std::latch go_on_{1};
  int calls_ = 0;
  std::optional<ChatSink> open_;
  std::optional<std::stop_callback<std::function<void()>>> hold_;
};

}  // namespace

TEST_CASE("a stop that is slow to be followed up does not stop an agent that was resumed since",
          "[stop][G3][X4]") {
  ManualClock clock;
  Runtime runtime{{.clock = &clock}};
  HoldingClient llm;
  AgentTree tree{runtime, {.llm = &llm}};
  const Agent parent = tree.create().value();
  const Agent child = parent.create_child().value();
  REQUIRE(child.send("first").accepted);
  runtime.poll();

  std::thread slow([&] { CHECK(child.stop().stopped); });
  llm.wait_until_held();
  CHECK(parent.stop().stopped);
  runtime.poll();
  llm.finish(ChatOutcome::cancelled());
  runtime.poll();
  REQUIRE(child.state().value() == AgentState::stopped);
  CHECK(parent.resume().resumed);
  runtime.poll();
  if (child.state().value() == AgentState::stopped) CHECK(child.resume().resumed);
  REQUIRE(child.send("second").accepted);
  runtime.poll();
  REQUIRE(child.state().value() == AgentState::waiting_llm);

  llm.let_go();
  slow.join();
  runtime.poll();
  CHECK(child.state().value() == AgentState::waiting_llm);
  llm.finish(ChatOutcome::completed(FinishReason::complete));
  runtime.poll();
  CHECK(child.state().value() == AgentState::idle);
  CHECK(child.conversation().value().size() == 3);
}
