// Agent::complete_call: the host supplies the result of a tool call.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct CompleteCall : ToolTurn {
  std::vector<ToolEnded> tool_ends;
  Subscription watch;

  explicit CompleteCall(TreeOptions options = {}) : ToolTurn(options) {
    tools->add({{.name = "risky", .needs_approval = true}, held.start()});
    tools->add({{.name = "bg", .mode = ToolMode::async}, held.start()});
    watch = tree->on<ToolEnded>([this](const ToolEnded& ended) { tool_ends.push_back(ended); });
  }
  Agent begin(std::vector<ToolCall> calls, AgentSpec spec = {}) {
    const Agent made = agent(std::move(spec));
    ask(made);
    call(std::move(calls));
    return made;
  }
};

}  // namespace

TEST_CASE("the host completes a tool call that is running", "[turn][complete_call][G9][G10]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "held"}});
  CHECK(agent.complete_call("x", ToolResult::done("by hand", R"({"n":1})")).took_effect());
  CHECK(t.held.calls.at(0).context.stop().stop_requested());
  CHECK(agent.complete_call("x", ToolResult::done("again")).reason == Errc::call_over);
  CHECK(agent.cancel_call("x").reason == Errc::call_over);
  t.settle();
  CHECK(t.history() == "user:question, assistant:[held x], tool:x=by hand\n{\"n\":1}");
  REQUIRE(t.tool_ends.size() == 1);
  CHECK(t.tool_ends[0].by_host);
  CHECK(t.tool_ends[0].outcome == ToolOutcome::completed);
  CHECK(t.tool_ends[0].result.message == "by hand");
  t.held.calls[0].done(ToolResult::done("by the tool"));
  t.settle();
  CHECK(t.seen.with("discarded") == std::vector<std::string>{"discarded a 1 tool result"});
  t.answer("well");
  REQUIRE(t.result->calls.size() == 1);
  CHECK(t.result->calls[0].by_host);
  CHECK(t.result->calls[0].success);
  CHECK(t.result->calls[0].outcome == ToolOutcome::completed);
  CHECK(json::parse(to_json(*t.result))["steps"][0]["byHost"] == true);
}

TEST_CASE("the host may complete a call with a failure", "[turn][complete_call][G9]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "held"}});
  CHECK(agent.complete_call("x", ToolResult::failed("sold out")).took_effect());
  t.settle();
  CHECK(t.history() == "user:question, assistant:[held x], tool:x=error: sold out");
  t.answer("well");
  CHECK(t.result->calls.at(0).by_host);
  CHECK_FALSE(t.result->calls.at(0).success);
}

TEST_CASE("the result of the tool is the tool's", "[turn][complete_call][G10]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "held"}});
  t.held.calls.at(0).done(ToolResult::done("by the tool"));
  t.settle();
  CHECK(agent.complete_call("x", ToolResult::done("by hand")).reason == Errc::call_over);
  CHECK(agent.complete_call("y", ToolResult::done("by hand")).reason == Errc::call_not_found);
  t.answer("well");
  CHECK_FALSE(t.result->calls.at(0).by_host);
  CHECK(t.result->calls.at(0).message == "by the tool");
  CHECK_FALSE(t.tool_ends.at(0).by_host);
  CHECK(json::parse(to_json(*t.result))["steps"][0]["byHost"] == false);
}

TEST_CASE("the host completes a call that waits for its approval and its tool does not start",
          "[turn][complete_call][G9][G5]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "risky"}});
  REQUIRE(t.tree->questions().size() == 1);
  CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
  CHECK(t.tree->approve("q_1"));  // does not help the tool any more
  t.settle();
  CHECK(t.held.calls.empty());
  CHECK(t.tree->questions().empty());
  CHECK(t.seen.index("tool a x risky {}") + 1 == t.seen.index("tool-end a x completed ok"));
  CHECK(t.history() == "user:question, assistant:[risky x], tool:x=by hand");
  t.answer("well");
  CHECK(t.result->calls.at(0).by_host);
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("the host completes a call that waits for others", "[turn][complete_call][G9]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "held"},
                               {.id = "y", .name = "held", .arguments = "no JSON"},
                               {.id = "z", .name = "bg"}},
                              {.limits = {.background_tasks = 1}});
  CHECK(agent.complete_call("y", ToolResult::done("by hand")).took_effect());
  CHECK(agent.complete_call("z", ToolResult::done("by hand, too")).took_effect());
  t.settle();
  CHECK(t.seen.count("tool a y held {}") == 1);
  t.held.calls.at(0).done(ToolResult::done("by the tool"));
  t.settle();
  CHECK(t.held.calls.size() == 1);
  CHECK(t.seen.count("task") == 0);
  t.answer("well");
  REQUIRE(t.result->calls.size() == 3);
  CHECK_FALSE(t.result->calls[0].by_host);
  CHECK(t.result->calls[1].by_host);
  CHECK(t.result->calls[2].by_host);
  CHECK(t.result->calls[2].mode == ToolMode::sync);
  CHECK(t.result->calls[2].message == "by hand, too");
}

TEST_CASE("a result of the host is limited and checked like one of a tool", "[turn][complete_call][G15]") {
  CompleteCall t({.max_tool_result_bytes = 100});
  const Agent agent =
      t.begin({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}}, {.limits = {.parallel_tools = 2}});
  CHECK(agent.complete_call("x", ToolResult::done(std::string(1000, 'x'))).took_effect());
  CHECK(agent.complete_call("y", ToolResult::done("short", std::string(1000, '1'))).took_effect());
  t.settle();
  REQUIRE(t.tool_ends.size() == 2);
  CHECK(t.tool_ends[0].result.message == std::string(100, 'x') + "\n[900 bytes more were dropped]");
  CHECK_FALSE(t.tool_ends[1].result.success);
}

TEST_CASE("a result of the host opens an application as one of a tool does", "[turn][complete_call]") {
  CompleteCall t;
  std::vector<std::string> opened;
  t.tools = std::make_shared<ToolRegistry>(
      [&](ToolRegistry&, const Agent&, std::string_view app, std::string_view) { opened.emplace_back(app); });
  t.tools->add({{.name = "held"}, t.held.start()});
  const Agent agent = t.begin({{.id = "x", .name = "held"}});
  ToolResult result = ToolResult::done("by hand");
  result.launch = Launch{.app = "notes"};
  CHECK(agent.complete_call("x", std::move(result)).took_effect());
  CHECK(opened.empty());  // on the loop thread
  t.settle();
  CHECK(opened == std::vector<std::string>{"notes"});
}

TEST_CASE("a result of the host whose turn ends before it is written is dropped",
          "[turn][complete_call][G1][G7]") {
  for (const bool terminate : {false, true}) {
    CompleteCall t;
    const Agent agent = t.begin({{.id = "x", .name = "held"}, {.id = "y", .name = "risky"}},
                                {.limits = {.parallel_tools = 2}});
    CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
    CHECK(agent.complete_call("y", ToolResult::done("by hand")).took_effect());
    CHECK((terminate ? agent.terminate() : agent.stop()).took_effect());
    t.settle();
    CHECK(t.seen.count("discarded a 1 tool result") == 2);
    REQUIRE(t.result);
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
    CHECK(t.result->calls.at(1).outcome == ToolOutcome::not_started);
    CHECK_FALSE(t.result->calls.at(0).by_host);
    t.held.calls.clear();
    t.settle();
    CHECK(t.seen.count("discarded a 1 tool result") == 3);
  }
}

TEST_CASE("an observer may end the turn before the result of the host is written",
          "[turn][complete_call][G1][G7][Q3]") {
  for (const bool destroy : {false, true}) {
    CompleteCall t;
    const auto stops = t.tree->on<ToolStarted>([&](const ToolStarted& started) {
      if (destroy)
        t.tree.reset();
      else
        static_cast<void>(started.agent.stop());
    });
    const Agent agent = t.begin({{.id = "x", .name = "risky"}});
    CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
    t.settle();
    if (destroy) continue;
    CHECK(t.state("a") == AgentState::stopped);
    CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
    CHECK(t.seen.count("discarded a 1 tool result") == 1);
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  }
}

TEST_CASE("a completed call whose tool does not end is given up", "[turn][complete_call][G5]") {
  CompleteCall t;
  const Agent agent = t.begin({{.id = "x", .name = "held"}});
  CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
  t.settle();
  t.answer("well");
  CHECK(t.seen.count("ended a 1 completed") == 1);
  t.advance(std::chrono::seconds(6));
  CHECK(t.seen.count("abandoned a tool call held") == 1);
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("the calls of a simulated answer can be cancelled and completed", "[turn][complete_call][J1]") {
  CompleteCall t;
  const Agent agent = t.agent({.limits = {.parallel_tools = 2}});
  CHECK(agent.simulate(R"(<tool_call>{"name":"held","arguments":{}}</tool_call>)"
                       R"(<tool_call>{"name":"held","arguments":{}}</tool_call>)"));
  t.settle();
  REQUIRE(t.held.calls.size() == 2);
  CHECK(agent.complete_call(t.held.calls[0].context.call_id(), ToolResult::done("by hand")).took_effect());
  CHECK(agent.cancel_call(t.held.calls[1].context.call_id()).took_effect());
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->calls.at(0).by_host);
  CHECK(t.result->calls.at(1).outcome == ToolOutcome::interrupted);
}

TEST_CASE("a result of the host launches in the registry in which its call was approved or begun",
          "[turn][complete_call]") {
  const bool asks = GENERATE(true, false);
  CompleteCall t;
  ToolRegistry* launched = nullptr;
  const auto registry = [&] {
    auto made = std::make_shared<ToolRegistry>(
        [&](ToolRegistry& in, const Agent&, std::string_view, std::string_view) { launched = &in; });
    made->add({{.name = "opens", .needs_approval = asks}, t.held.start()});
    return made;
  };
  const auto before = registry();
  const Agent agent = t.tree->create({.id = "a", .tools = before}).value();
  t.ask(agent);
  t.call({{.id = "x", .name = "opens"}});
  CHECK(agent.set_tools(registry()));
  ToolResult result = ToolResult::done("opened");
  result.launch = Launch{.app = "notes"};
  CHECK(agent.complete_call("x", std::move(result)).took_effect());
  t.settle();
  CHECK(launched == before.get());
}

TEST_CASE("a launch for a result of the host may end the turn", "[turn][complete_call][verbs]") {
  CompleteCall t;
  const auto registry =
      std::make_shared<ToolRegistry>([&](ToolRegistry&, const Agent& agent, std::string_view,
                                         std::string_view) { CHECK(agent.rewind(1).has_value()); });
  registry->add({{.name = "opens", .needs_approval = true}, t.held.start()});
  const Agent agent = t.tree->create({.id = "a", .tools = registry}).value();
  t.ask(agent);
  t.call({{.id = "x", .name = "opens"}});
  ToolResult result = ToolResult::done("opened");
  result.launch = Launch{.app = "notes"};
  CHECK(agent.complete_call("x", std::move(result)).took_effect());
  t.settle();
  CHECK(t.seen.with("ended").size() == 1);
  CHECK(agent.conversation().value().empty());
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a call of an async tool that the host completes is no task", "[turn][complete_call][L2]") {
  CompleteCall t;
  t.tools->add({{.name = "risky_bg", .mode = ToolMode::async, .needs_approval = true}, t.held.start()});
  const Agent agent = t.begin({{.id = "x", .name = "risky_bg"}}, {.limits = {.background_tasks = 1}});
  REQUIRE(t.tree->questions().size() == 1);
  CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
  t.settle();
  t.answer("well");
  REQUIRE(t.result->calls.size() == 1);
  CHECK(t.result->calls[0].mode == ToolMode::sync);
  CHECK(t.result->calls[0].task_id.empty());
  CHECK(t.seen.count("task") == 0);
  CHECK(t.held.calls.empty());
}
