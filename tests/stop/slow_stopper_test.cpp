// A stop whose thread is slow between closing the gate and leaving its operation.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <latch>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace agentcore;

// A client whose first call blocks the thread that stops it until release(), as a stop callback must not, but
// may.
struct HoldingClient {
  std::thread::id loop = std::this_thread::get_id();
  std::latch held{1};
  std::latch released{1};
  std::optional<std::stop_callback<std::function<void()>>> hold;
  test::FakeClient client{[this](test::FakeClient&, test::FakeClient::Call& call) {
    if (call.number > 0) return;
    hold.emplace(call.stop, [this] {
      if (std::this_thread::get_id() == loop) return;
      held.count_down();
      released.wait();
    });
  }};

  void finish(ChatOutcome outcome) {
    test::FakeClient::finish(*client.open_calls().at(0), std::move(outcome));
  }
  void wait_until_held() { held.wait(); }
  void release() { released.count_down(); }
};

}  // namespace

TEST_CASE("a stop whose thread is slow does not stop an agent that was resumed in the meantime",
          "[stop][G3][X4]") {
  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock}};
  HoldingClient llm;
  AgentTree tree{runtime, {.llm = &llm.client}};
  const Agent parent = tree.create().value();
  const Agent child = parent.create_child().value();
  REQUIRE(child.send("first").accepted());
  runtime.poll();

  std::thread slow([&] { CHECK(child.stop().took_effect()); });
  llm.wait_until_held();
  CHECK(parent.stop().took_effect());
  runtime.poll();
  llm.finish(ChatOutcome::cancelled());
  runtime.poll();
  REQUIRE(child.state().value() == AgentState::stopped);
  CHECK(parent.resume().took_effect());
  runtime.poll();
  if (child.state().value() == AgentState::stopped) CHECK(child.resume().took_effect());
  REQUIRE(child.send("second").accepted());
  runtime.poll();
  REQUIRE(child.state().value() == AgentState::waiting_llm);

  llm.release();
  slow.join();
  runtime.poll();
  CHECK(child.state().value() == AgentState::waiting_llm);
  llm.finish(ChatOutcome::completed(FinishReason::complete));
  runtime.poll();
  CHECK(child.state().value() == AgentState::idle);
  CHECK(child.conversation().value().size() == 3);
}
