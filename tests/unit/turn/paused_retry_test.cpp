// A pause reaches the clients of model calls, and the tree knows when they wait.
#include "support/drive/tool_turn.hpp"

#include <agentcore/llm_router.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

// Calls whose clients wait for changes of the pause, each of an agent below `top`.
struct WaitingCalls : ToolTurn {
  explicit WaitingCalls(int calls) {
    llm->on_chat = [this](FakeClient&, FakeClient::Call& call) {
      registered.push_back(call.request.pause.on_change([this, agent = std::string(call.request.agent_id)] {
        notified.push_back(agent);
        if (when_notified) when_notified(agent);
      }));
    };
    for (int i = 0; i < calls; ++i) ask(child(top, std::to_string(i), {.tools = tools}));
  }

  Agent top = root("top");
  std::vector<std::shared_ptr<void>> registered;
  std::vector<std::string> notified;
  std::function<void(const std::string& agent)> when_notified;
};

}  // namespace

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

TEST_CASE("a call that waited for the end of a pause does not count as rest in the next pause",
          "[tree][pause][router]") {
  ToolTurn t;
  t.llm->on_chat = [](FakeClient&, FakeClient::Call& call) {
    if (call.number == 0)
      FakeClient::finish(call, ChatOutcome::failed({.code = Errc::network_error, .retryable = true}));
  };
  RouterOptions options;
  options.routes = {{.client = t.llm.get()}};
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(10s); };
  LlmRouter router(*t.runtime, std::move(options));
  const Agent agent = t.agent({.llm = &router});
  CHECK(agent.send("question"));
  t.settle();
  CHECK(agent.pause().took_effect());
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(agent.unpause().took_effect());
  t.settle();
  t.advance(10s);
  REQUIRE(t.llm->calls() == 2);  // and it runs
  CHECK(agent.pause().took_effect());
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  t.llm->answer("a", "words");
  t.settle();
  CHECK(t.seen.count("at-rest a") == 2);
  CHECK(agent.terminate().took_effect());
  t.settle();
}

TEST_CASE("the newest client is notified of a pause, however many were before it", "[tree][pause]") {
  WaitingCalls t(1);
  for (int i = 0; i < 100; ++i) {
    t.registered.back().reset();
    t.llm->answer("0", "words");
    t.settle();
    t.ask(t["0"]);
  }
  REQUIRE(t.registered.size() == 101);
  CHECK(t.top.pause().took_effect());
  t.settle();
  CHECK(t.notified == std::vector<std::string>{"0"});
}

TEST_CASE("every client is notified of a pause although calls end and begin meanwhile",
          "[tree][pause][router]") {
  using Agents = std::vector<std::string>;
  WaitingCalls t(8);
  CHECK(t.top.pause().took_effect());
  t.settle();
  CHECK(t.notified == Agents{"0", "1", "2", "3", "4", "5", "6", "7"});
  t.notified.clear();
  t.when_notified = [&](const std::string& agent) {
    if (agent != "2") return;
    for (std::size_t i = 0; i < 3; ++i) t.registered.at(i).reset();
    t.llm->call_tools(agent, {{.name = "add", .arguments = R"({"a":1,"b":2})"}});  // the next call begins
  };
  CHECK(t.top.unpause().took_effect());
  t.settle();
  CHECK(t.registered.size() == 9);
  CHECK(t.notified == Agents{"0", "1", "2", "3", "4", "5", "6", "7"});
  t.notified.clear();
  t.when_notified = nullptr;
  CHECK(t.top.pause().took_effect());
  t.settle();
  CHECK(t.notified == Agents{"3", "4", "5", "6", "7", "2"});
}

TEST_CASE("a queued call of a router goes on after a pause although others end and begin meanwhile",
          "[tree][pause][router]") {
  ToolTurn t;
  bool at_once = false;
  t.llm->on_chat = [&](FakeClient&, FakeClient::Call& call) {
    if (!at_once) return;
    const bool asks = call.request.agent_id == "1" && call.request.messages.size() < 6;
    auto outcome = ChatOutcome::completed(asks ? FinishReason::tool_calls : FinishReason::complete);
    if (asks) outcome.tool_calls = {{.id = "", .name = "add", .arguments = R"({"a":1,"b":2})"}};
    FakeClient::finish(call, std::move(outcome));
  };
  LlmRouter router(*t.runtime, {.routes = {{.client = t.llm.get()}}, .limits = {.total = 1}});
  const Agent top = t.root("top");
  std::vector<Agent> agents;
  for (const char* const id : {"0", "1", "2", "3"}) {
    agents.push_back(t.child(top, id, {.llm = &router, .tools = t.tools}));
    t.ask(agents.back());
  }
  CHECK(top.pause().took_effect());
  t.settle();
  t.llm->answer("0", "words");
  t.settle();
  at_once = true;
  CHECK(top.unpause().took_effect());
  t.settle();
  for (const Agent& agent : agents) CHECK(agent.state().value() == AgentState::idle);
  CHECK(top.terminate().took_effect());
  t.settle();
}

TEST_CASE("a client that is notified of a pause may destroy the tree", "[tree][pause]") {
  WaitingCalls t(4);
  t.check_at_end = false;
  t.when_notified = [&](const std::string& agent) {
    if (agent == "1") t.tree.reset();
  };
  CHECK(t.top.pause().took_effect());
  t.settle();
  CHECK(t.notified == std::vector<std::string>{"0", "1"});
}

TEST_CASE("a poll notifies as many clients of a pause as its budget allows", "[tree][pause][G16]") {
  WaitingCalls t(50);
  CHECK(t.top.pause().took_effect());
  std::size_t before = 0;
  for (int polls = 0; t.notified.size() < 50 && polls < 1000; ++polls) {
    t.runtime->poll(Duration(0));  // one step of each stage
    CHECK(t.notified.size() <= before + 1);
    before = t.notified.size();
  }
  t.settle();
  CHECK(t.notified.size() == 50);
}

TEST_CASE("clients hear of the end of a pause, although the loop has not told all of them of its begin",
          "[tree][pause]") {
  const std::size_t told = GENERATE(as<std::size_t>{}, 1, 20, 49);  // before the pause ends
  WaitingCalls t(50);
  CHECK(t.top.pause().took_effect());
  for (int polls = 0; t.notified.size() < told && polls < 1000; ++polls)
    t.runtime->poll(Duration(0));  // one step of each stage
  REQUIRE(t.notified.size() == told);
  t.notified.clear();
  CHECK(t.top.unpause().took_effect());
  t.settle();
  for (int i = 0; i < 50; ++i) {
    CAPTURE(i);
    CHECK(std::ranges::find(t.notified, std::to_string(i)) != t.notified.end());
  }
}
