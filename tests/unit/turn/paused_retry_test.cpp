// A pause reaches the retries of a router, and the tree knows when they wait.
#include "support/drive/tool_turn.hpp"

#include <agentcore/llm_router.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

TEST_CASE("a back-off stands still while the agent is paused and counts as rest", "[tree][pause][router]") {
  ToolTurn t;
  t.llm->on_chat = [](FakeClient&, FakeClient::Call& call) {
    if (call.number == 0)
      FakeClient::finish(call, ChatOutcome::failed({.code = Errc::network_error, .retryable = true}));
    else
      FakeClient::complete(call);
  };
  RouterOptions options;
  options.routes = {{.client = t.llm.get()}};
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(10s); };
  LlmRouter router(*t.runtime, std::move(options));
  const Agent agent = t.agent({.llm = &router});
  CHECK(agent.send("question"));
  t.settle();
  CHECK(t.llm->calls() == 1);
  CHECK(agent.pause().took_effect());
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  t.advance(100s);
  CHECK(t.llm->calls() == 1);
  CHECK(agent.unpause().took_effect());
  t.settle();
  t.advance(9s);
  CHECK(t.llm->calls() == 1);
  t.advance(1s);
  CHECK(t.llm->calls() == 2);
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(agent.terminate().took_effect());
  t.settle();
}
