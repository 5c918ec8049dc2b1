// AgentTree::approve(), grants() and revoke(): permissions that people give for longer than one call.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

#include <algorithm>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

ToolSpec risky(std::string description = {}) {
  return {.name = "risky",
          .description = std::move(description),
          .parameters = R"({"type":"object"})",
          .needs_approval = true};
}

// Agents whose tool `risky` needs an approval, and records the arguments that it ran with.
struct Granted : ToolTurn {
  std::vector<std::string> ran;

  explicit Granted(TreeOptions options = {}) : ToolTurn(std::move(options)) { add(risky()); }

  void add(ToolSpec spec) {
    tools->add(make_tool(std::move(spec), [this](const json& arguments, const ToolContext& context) {
      ran.push_back(context.agent().id() + arguments.dump());
      return ToolResult::done("ok");
    }));
  }
  // A whole turn of the agent with these calls, up to the questions that it asks.
  void turn(const std::string& id, const std::vector<std::string>& arguments) {
    if (state(id) == AgentState::idle) ask((*this)[id]);
    std::vector<ToolCall> calls;
    for (const std::string& text : arguments)
      calls.push_back({.id = "c" + std::to_string(calls.size()), .name = "risky", .arguments = text});
    llm->call_tools(id, calls);
    settle();
  }
  // The same, and then the model of the agent ends the turn. Returns how many calls ran without a question.
  std::size_t runs(const std::string& id, const std::string& arguments) {
    ran.clear();
    turn(id, {arguments});
    const std::size_t ran_now = ran.size();
    for (const OpenQuestion& question : tree->questions())
      if (question.agent_id == id) CHECK(tree->decline(question.id));
    settle();
    llm->answer(id, "well");
    settle();
    return ran_now;
  }
  // The same, approved with `scope`.
  void grant(const std::string& id, const std::string& arguments, GrantScope scope) {
    turn(id, {arguments});
    REQUIRE(tree->questions().size() == 1);
    CHECK(tree->approve(tree->questions()[0].id, scope));
    settle();
    llm->answer(id, "well");
    settle();
  }
};

}  // namespace

TEST_CASE("an approval for the agent holds for later calls with the same arguments",
          "[turn][questions][policy][grants]") {
  Granted t;
  t.agent();
  t.grant("a", R"({"b":1,"a":[2]})", GrantScope::agent);
  CHECK(t.ran == std::vector<std::string>{R"(a{"a":[2],"b":1})"});
  CHECK(t.runs("a", R"({ "a" : [2], "b" : 1 })") == 1);
  CHECK(t.runs("a", R"({"b":1,"a":[3]})") == 0);
  CHECK(t.runs("a", "{}") == 0);
  const std::vector<Grant> grants = t.tree->grants();
  REQUIRE(grants.size() == 1);
  CHECK(grants[0].agent_id == "a");
  CHECK(grants[0].scope == GrantScope::agent);
  CHECK(grants[0].window_id.empty());
  CHECK(grants[0].tool == "risky");
  CHECK(grants[0].arguments == R"({"a":[2],"b":1})");
  CHECK(grants[0].key.empty());
}

TEST_CASE("an approval for once, which is the default, grants nothing", "[turn][questions][policy][grants]") {
  Granted t;
  t.agent();
  t.grant("a", "{}", GrantScope::once);
  CHECK(t.tree->grants().empty());
  CHECK(t.runs("a", "{}") == 0);
  t.turn("a", {"{}"});
  CHECK(t.tree->approve(t.tree->questions().at(0).id));
  CHECK(t.tree->grants().empty());
}

TEST_CASE("a grant is for its agent, and that of a subtree for the descendants, too",
          "[turn][questions][policy][grants]") {
  for (const GrantScope scope : {GrantScope::agent, GrantScope::subtree}) {
    CAPTURE(to_string(scope));
    Granted t;
    const AgentSpec spec{.tools = t.tools};
    const Agent parent = t.root("parent", spec);
    const Agent a = t.child(parent, "a", spec);
    t.child(parent, "sibling", spec);
    t.child(t.child(a, "child", spec), "grandchild", spec);
    t.grant("a", "{}", scope);
    const std::size_t below = scope == GrantScope::subtree ? 1 : 0;
    CHECK(t.runs("a", "{}") == 1);
    CHECK(t.runs("child", "{}") == below);
    CHECK(t.runs("grandchild", "{}") == below);
    CHECK(t.runs("parent", "{}") == 0);
    CHECK(t.runs("sibling", "{}") == 0);
  }
}

TEST_CASE("a grant with a key of the policy covers all calls with that key",
          "[turn][questions][policy][grants]") {
  Granted t;
  t.agent({.tool_policy = [](const ToolRequest& request) -> ToolDecision {
    return {Permission::ask, {}, json::parse(request.arguments).value("key", std::string())};
  }});
  t.grant("a", R"({"key":"k","n":1})", GrantScope::agent);
  CHECK(t.tree->grants().at(0).key == "k");
  CHECK(t.tree->grants().at(0).arguments.empty());
  CHECK(t.runs("a", R"({"key":"k","n":2})") == 1);
  CHECK(t.runs("a", R"({"key":"l","n":1})") == 0);
  CHECK(t.runs("a", R"({"n":1})") == 0);
}

TEST_CASE("two policies that ask grant together only what both mean", "[turn][questions][policy][grants]") {
  for (const bool same : {false, true}) {
    CAPTURE(same);
    TreeOptions options;
    options.tool_policy = [](const ToolRequest&) -> ToolDecision { return {Permission::ask, {}, "k"}; };
    Granted t(options);
    t.agent({.tool_policy = [same](const ToolRequest&) -> ToolDecision {
      return {Permission::ask, {}, same ? "k" : "l"};
    }});
    t.grant("a", R"({"n":1})", GrantScope::agent);
    CHECK(t.runs("a", R"({"n":1})") == 1);
    CHECK(t.runs("a", R"({"n":2})") == (same ? 1 : 0));
  }
}

TEST_CASE("a denial wins over a grant", "[turn][questions][policy][grants]") {
  bool denies = false;
  Granted t;
  t.agent({.tool_policy = [&](const ToolRequest&) -> ToolDecision {
    return {denies ? Permission::deny : Permission::allow};
  }});
  t.grant("a", "{}", GrantScope::agent);
  denies = true;
  CHECK(t.runs("a", "{}") == 0);
  denies = false;
  CHECK(t.runs("a", "{}") == 1);
}

TEST_CASE("a revoked grant is asked about again, and calls that run go on",
          "[turn][questions][policy][grants]") {
  Granted t;
  t.agent();
  t.grant("a", "{}", GrantScope::agent);
  const std::uint64_t id = t.tree->grants().at(0).id;
  CHECK(t.tree->revoke(id + 1).code() == Errc::grant_not_found);
  CHECK(t.tree->revoke(id));
  CHECK(t.tree->revoke(id).code() == Errc::grant_not_found);
  CHECK(t.tree->grants().empty());
  CHECK(t.runs("a", "{}") == 0);
}

TEST_CASE("a tool that has changed has no grants, also if it changes back after that was noticed",
          "[turn][questions][policy][grants]") {
  const auto change = [](Granted& t, ToolSpec spec) {
    t.tools->remove("risky");
    t.add(std::move(spec));
  };
  ToolSpec parameters = risky();
  parameters.parameters = R"({"type":"object","title":"x"})";
  ToolSpec mode = risky();
  mode.mode = ToolMode::async;
  for (const ToolSpec& other : {risky("other"), parameters, mode})
    for (const bool by_call : {false, true}) {
      CAPTURE(other.description, other.parameters, by_call);
      Granted t;
      t.agent();
      t.grant("a", "{}", GrantScope::agent);
      t.tools->remove("risky");
      CHECK(t.tree->grants().size() == 1);  // a tool that is gone is no other tool
      t.add(risky());
      CHECK(t.runs("a", "{}") == 1);
      change(t, other);
      if (by_call)
        CHECK(t.runs("a", "{}") == 0);
      else
        CHECK(t.tree->grants().empty());
      change(t, risky());
      CHECK(t.runs("a", "{}") == 0);
    }
}

TEST_CASE("another tool of a descendant does not end the grant of its ancestor",
          "[turn][questions][policy][grants]") {
  Granted t;
  auto others = std::make_shared<ToolRegistry>();
  others->add(make_tool(risky("other"), [&](const json&, const ToolContext&) {
    t.ran.push_back("other");
    return ToolResult::done("ok");
  }));
  t.child(t.agent(), "child", {.tools = others});
  t.grant("a", "{}", GrantScope::subtree);
  CHECK(t.runs("child", "{}") == 0);
  CHECK(t.runs("a", "{}") == 1);
}

TEST_CASE("a grant for an action of a window is for that window", "[turn][questions][policy][grants]") {
  Granted t;
  for (const char* const id : {"one", "two"}) {
    Window window;
    window.id = id;
    window.actions.push_back({risky(), t.held.start()});
    t.tools->open(std::move(window));
  }
  t.ask(t.agent());
  t.call({{.id = "x", .name = "one__risky"}});
  CHECK(t.tree->approve("q_1", GrantScope::agent));
  t.settle();
  CHECK(t.tree->grants().at(0).window_id == "one");
  t.held.calls.at(0).done(ToolResult::done("ok"));
  t.settle();
  t.call({{.id = "y", .name = "one__risky"}});
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::done("ok"));
  t.settle();
  t.call({{.id = "z", .name = "two__risky"}});
  CHECK(t.held.calls.size() == 2);
  CHECK(t.tree->questions().size() == 1);
}

TEST_CASE("a new grant answers the other open approvals that it covers",
          "[turn][questions][policy][grants]") {
  Granted t;
  const AgentSpec spec{.tools = t.tools, .limits = {.parallel_tools = 4}};
  t.child(t.root("a", spec), "b", spec);
  t.root("c", spec);
  t.turn("c", {"{}"});
  t.turn("b", {"{}"});
  t.turn("a", {R"({"n":1})", "{}", "{}"});
  REQUIRE(t.tree->questions().size() == 5);
  CHECK(t.tree->approve("q_5", GrantScope::subtree));
  t.settle();
  CHECK(t.tree->grants().size() == 1);
  std::sort(t.ran.begin(), t.ran.end());
  CHECK(t.ran == std::vector<std::string>{"a{}", "a{}", "b{}"});
  REQUIRE(t.tree->questions().size() == 2);
  CHECK(t.tree->questions()[0].id == "q_1");
  CHECK(t.tree->questions()[1].id == "q_3");
}

TEST_CASE("the same grant given twice is one grant", "[turn][questions][policy][grants]") {
  Granted t;
  t.agent({.limits = {.parallel_tools = 2}});
  t.turn("a", {"{}", "{}"});
  const auto closed = t.tree->on<QuestionClosed>([&](const QuestionClosed& one) {
    if (one.question_id == "q_1") CHECK(t.tree->approve("q_2", GrantScope::agent));
  });
  CHECK(t.tree->approve("q_1", GrantScope::agent));
  t.settle();
  CHECK(t.ran.size() == 2);
  CHECK(t.tree->grants().size() == 1);
}

TEST_CASE("grants are listed in the order in which they were given", "[turn][questions][policy][grants]") {
  Granted t;
  const Agent a = t.agent();
  t.child(a, "b", {.tools = t.tools});
  t.grant("b", "{}", GrantScope::agent);
  t.grant("a", "{}", GrantScope::agent);
  t.grant("b", R"({"n":1})", GrantScope::subtree);
  CHECK(t.tree->revoke(t.tree->grants().at(1).id));
  t.grant("a", "{}", GrantScope::subtree);
  const std::vector<Grant> grants = t.tree->grants();
  REQUIRE(grants.size() == 3);
  CHECK(grants[0].agent_id + grants[1].agent_id + grants[2].agent_id == "bba");
  CHECK(grants[0].id < grants[1].id);
  CHECK(grants[1].id < grants[2].id);
}

TEST_CASE("only an approval can be approved", "[turn][questions][policy][grants]") {
  Granted t;
  t.tools->add(make_ask_human_tool());
  t.ask(t.agent());
  t.call({{.id = "x", .name = "ask_human", .arguments = R"({"question":"Why?"})"}});
  for (const GrantScope scope : {GrantScope::once, GrantScope::agent, GrantScope::subtree})
    CHECK(t.tree->approve("q_1", scope).code() == Errc::not_an_approval);
  CHECK(t.tree->questions().size() == 1);
  CHECK(t.tree->approve("q_2", GrantScope::agent).code() == Errc::question_not_found);
  CHECK(t.tree->answer("q_1", "because"));
  CHECK(t.tree->approve("q_1", GrantScope::agent).code() == Errc::question_closed);
  CHECK(t.tree->grants().empty());
}

TEST_CASE("an approval that comes too late grants nothing", "[turn][questions][policy][grants][C14]") {
  for (const bool by_observer : {false, true}) {
    CAPTURE(by_observer);
    Granted t;
    const Agent agent = t.agent();
    t.turn("a", {"{}"});
    const auto closed = t.tree->on<QuestionClosed>([&](const QuestionClosed&) {
      if (by_observer) static_cast<void>(agent.stop());
    });
    if (!by_observer) CHECK(agent.stop().took_effect());
    CHECK(t.tree->approve("q_1", GrantScope::agent).code() == Errc::agent_stopping);
    CHECK(t.tree->grants().empty());
    t.settle();
    CHECK(t.ran.empty());
  }
}

TEST_CASE("a stop does not end a grant, a delete does", "[turn][questions][policy][grants][G13]") {
  Granted t;
  const Agent agent = t.agent();
  t.grant("a", "{}", GrantScope::subtree);
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(t.runs("a", "{}") == 1);
  CHECK(testing::count_references(*t.tree, "a") != 0);
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK(t.tree->grants().empty());
  CHECK(testing::count_references(*t.tree, "a") == 0);
  t.agent();  // of the same id, in the same slot
  CHECK(t.runs("a", "{}") == 0);
}

TEST_CASE("a granted call waits for the end of a pause as any other", "[turn][questions][policy][grants]") {
  Granted t;
  const Agent agent = t.agent();
  t.grant("a", "{}", GrantScope::agent);
  t.ran.clear();
  t.ask(agent);
  CHECK(agent.pause().took_effect());
  t.turn("a", {"{}"});
  CHECK(t.ran.empty());
  CHECK(t.tree->questions().empty());
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.ran.size() == 1);
}

TEST_CASE("grants are gone with the Runtime", "[turn][questions][policy][grants][Q3]") {
  Granted t;
  t.agent();
  t.turn("a", {"{}"});
  t.seen.unwatch();
  t.check_at_end = false;
  t.runtime.reset();
  CHECK(t.tree->approve("q_1", GrantScope::agent).code() == Errc::runtime_gone);
  CHECK(t.tree->revoke(1).code() == Errc::runtime_gone);
}

TEST_CASE("a grant for the agent and one for its subtree are two", "[turn][questions][policy][grants]") {
  const bool agent_first = GENERATE(true, false);
  Granted t;
  const Agent a = t.agent({.limits = {.parallel_tools = 2}});
  t.child(a, "child", {.tools = t.tools});
  t.turn("a", {"{}", "{}"});
  const auto closed = t.tree->on<QuestionClosed>([&](const QuestionClosed& one) {
    if (one.question_id == "q_1")
      CHECK(t.tree->approve("q_2", agent_first ? GrantScope::agent : GrantScope::subtree));
  });
  CHECK(t.tree->approve("q_1", agent_first ? GrantScope::subtree : GrantScope::agent));
  t.settle();
  t.llm->answer("a", "well");
  t.settle();
  REQUIRE(t.tree->grants().size() == 2);
  CHECK(t.tree->grants()[0].scope != t.tree->grants()[1].scope);
  CHECK(t.runs("child", "{}") == 1);
}
