// Policies: which tool calls run, are asked about, or are denied.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>

#include <stdexcept>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct Seen {
  std::string agent;
  std::string window;
  std::string tool;
  std::string arguments;
};

// A policy that decides as the test wants, and records what it was asked.
struct Guard {
  ToolDecision decision = {};
  std::vector<Seen> seen = {};
  std::function<void()> act = {};

  ToolPolicy policy() {
    return [this](const ToolRequest& request) {
      seen.push_back({std::string(request.agent_id), std::string(request.window_id), request.tool.name,
                      std::string(request.arguments)});
      CHECK(request.agent.id() == request.agent_id);
      if (act) act();
      return decision;
    };
  }
};

TreeOptions guarded_by(Guard& guard) {
  TreeOptions options;
  options.tool_policy = guard.policy();
  return options;
}

std::string written(const Guard& guard) {
  std::string all;
  for (const Seen& one : guard.seen)
    all += (all.empty() ? "" : ", ") + one.agent + " " + one.window + " " + one.tool + " " + one.arguments;
  return all;
}

// A tree with a policy, and an agent "a" whose spec has another one.
struct TwoPolicies {
  Guard of_tree, of_spec;
  ToolTurn t{guarded_by(of_tree)};

  void run(ToolCall call, AgentSpec spec = {}) {
    spec.tool_policy = of_spec.policy();
    t.ask(t.agent(std::move(spec)));
    t.call({std::move(call)});
  }
};

}  // namespace

TEST_CASE("a policy is asked about each call with the text that runs", "[turn][tools][policy]") {
  TwoPolicies p;
  json ran;
  p.t.tools->add(make_tool({.name = "any", .parameters = R"({"type":"object"})"},
                           [&](const json& arguments, const ToolContext&) {
                             ran = arguments;
                             return ToolResult::done("ok");
                           }));
  p.run({.id = "x", .name = "any", .arguments = "{ \"b\" : 1.50, \"a\":\"\\u00e9\", \"b\":2 }"});
  CHECK(written(p.of_tree) == "a  any {\"a\":\"\xC3\xA9\",\"b\":2}");
  CHECK(written(p.of_spec) == written(p.of_tree));
  CHECK(ran.dump() == p.of_tree.seen.at(0).arguments);
  CHECK(p.t.seen.count("tool a x any {\"a\":\"\xC3\xA9\",\"b\":2}") == 1);
}

TEST_CASE("a policy is asked only about calls that could run", "[turn][tools][policy]") {
  for (const ToolCall& call : {ToolCall{.id = "x", .name = "none"}, ToolCall{.id = "x", .name = "add"},
                               ToolCall{.id = "x", .name = "add", .arguments = "no json"}}) {
    TwoPolicies p;
    p.of_tree.decision = {Permission::deny};
    p.run(call);
    CHECK(p.of_tree.seen.empty());
    CHECK(p.t.llm->calls() == 2);
  }
}

TEST_CASE("a denied call does not run and the model reads the reason", "[turn][tools][policy]") {
  for (const bool by_tree : {false, true}) {
    TwoPolicies p;
    (by_tree ? p.of_tree : p.of_spec).decision = {Permission::deny, "not on this host"};
    p.run({.id = "x", .name = "held"});
    CHECK(p.t.held.calls.empty());
    CHECK(p.t.history() == "user:question, assistant:[held x], tool:x=error: denied: not on this host");
    CHECK(p.t.seen.count("refused a x held denied: not on this host") == 1);
    CHECK(p.t.seen.count("tool a") == 0);
    CHECK(p.of_spec.seen.empty() == by_tree);  // a denial of the tree is final
    p.t.answer("well");
    CHECK(p.t.result->calls.at(0).outcome == ToolOutcome::not_started);
  }
}

TEST_CASE("a denial without a reason has words, too", "[turn][tools][policy]") {
  TwoPolicies p;
  p.of_tree.decision = {Permission::deny};
  p.run({.id = "x", .name = "held"});
  CHECK(p.t.seen.count("refused a x held denied: the policy of the host denies this call") == 1);
}

TEST_CASE("the strictest of both policies and of the tool decides", "[turn][tools][policy]") {
  constexpr Permission all[] = {Permission::allow, Permission::ask, Permission::deny};
  for (const Permission tree : all)
    for (const Permission spec : all)
      for (const bool needs_approval : {false, true}) {
        CAPTURE(to_string(tree), to_string(spec), needs_approval);
        TwoPolicies p;
        p.of_tree.decision = {tree};
        p.of_spec.decision = {spec};
        p.t.tools->add({{.name = "tool", .needs_approval = needs_approval}, p.t.held.start()});
        p.run({.id = "x", .name = "tool"});
        const Permission tool = needs_approval ? Permission::ask : Permission::allow;
        const Permission strictest = std::max({tree, spec, tool});
        CHECK(p.t.held.calls.size() == (strictest == Permission::allow ? 1 : 0));
        CHECK(p.t.tree->questions().size() == (strictest == Permission::ask ? 1 : 0));
        CHECK(p.t.seen.count("refused a x") == (strictest == Permission::deny ? 1 : 0));
      }
}

TEST_CASE("a decision that is no permission denies", "[turn][tools][policy]") {
  TwoPolicies p;
  p.of_spec.decision = {static_cast<Permission>(7)};
  p.run({.id = "x", .name = "held"});
  CHECK(p.t.held.calls.empty());
  CHECK(p.t.seen.count("refused a x held denied: the policy of the host denies this call") == 1);
}

TEST_CASE("a policy that throws denies the call and is logged", "[turn][tools][policy][G16]") {
  for (const bool standard : {true, false}) {
    TwoPolicies p;
    p.of_spec.act = [&] {
      if (standard) throw std::runtime_error("secret");
      throw 1;
    };
    p.run({.id = "x", .name = "held"});
    CHECK(p.t.held.calls.empty());
    CHECK(p.t.seen.count("refused a x held denied: the policy of the host failed") == 1);
    CHECK(p.t.logged("a ToolPolicy"));
  }
}

TEST_CASE("a verb from inside a policy takes effect", "[turn][tools][policy][G1]") {
  for (const Permission permission : {Permission::allow, Permission::ask, Permission::deny})
    for (const std::string_view verb :
         {"stop", "terminate", "interrupt", "cancel", "complete", "rewind", "regenerate"}) {
      CAPTURE(to_string(permission), verb);
      TwoPolicies p;
      p.of_tree.decision = {permission};
      p.of_tree.act = [&] {
        const Agent agent = p.t["a"];
        if (verb == "stop") CHECK(agent.stop().took_effect());
        if (verb == "terminate") CHECK(agent.terminate().took_effect());
        if (verb == "interrupt") CHECK(agent.interrupt().took_effect());
        if (verb == "rewind") CHECK(agent.rewind(1));
        if (verb == "regenerate") CHECK(agent.regenerate().accepted());
        if (verb == "cancel") CHECK(agent.cancel_call("x").took_effect());
        if (verb == "complete") CHECK(agent.complete_call("x", ToolResult::done("by hand")).took_effect());
      };
      p.run({.id = "x", .name = "held"});
      CHECK(p.t.held.calls.empty());
      CHECK(p.t.seen.count("asked") == 0);
      CHECK(p.t.seen.count("refused a x held denied") == 0);
      CHECK(p.t.seen.count("tool a") ==
            (verb == "complete" ? 1 : 0));  // the host's result has a beginning, too
    }
}

TEST_CASE("a tree may be destroyed from inside a policy", "[turn][tools][policy][G13]") {
  ToolTurn t;
  t.check_at_end = false;
  t.ask(t.agent({.tool_policy = [&](const ToolRequest&) -> ToolDecision {
    t.tree.reset();
    return {Permission::ask};
  }}));
  t.call({{.id = "x", .name = "held"}});
  CHECK(t.held.calls.empty());
}

TEST_CASE("policies decide about windows, the launcher, tasks and simulated answers",
          "[turn][tools][policy]") {
  Guard guard{.decision = {Permission::deny, "no"}};
  ToolTurn t(guarded_by(guard));
  Window notes;
  notes.id = "notes";
  notes.closable = true;
  notes.actions.push_back({{.name = "save"}, t.held.start()});
  t.tools->open(std::move(notes));
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "1", .name = "notes__save"},
          {.id = "2", .name = "notes__close", .arguments = "{}"},
          {.id = "3", .name = "launcher__open", .arguments = R"({"app":"x"})"},
          {.id = "4", .name = "bg"}});
  CHECK(written(guard) == "a notes save {}, a notes close {}, a launcher open {\"app\":\"x\"}, a  bg {}");
  CHECK(t.seen.count("refused a") == 4);
  CHECK(t.tools->windows().size() == 2);
  t.answer("well");
  guard.seen.clear();
  CHECK(t["a"].simulate(R"(<tool_call>{"name":"held","arguments":{}}</tool_call>)"));
  t.settle();
  CHECK(written(guard) == "a  held {}");
  CHECK(t.held.calls.empty());
}

TEST_CASE("a policy that asks has the call approved before it begins", "[turn][tools][policy][I13]") {
  TwoPolicies p;
  p.of_spec.decision = {Permission::ask};
  Window notes;
  notes.id = "notes";
  notes.actions.push_back({{.name = "save", .parameters = R"({"type":"object"})"}, p.t.held.start()});
  p.t.tools->open(std::move(notes));
  p.run({.id = "x", .name = "notes__save", .arguments = "{\"b\":1,  \"a\":2}"});
  REQUIRE(p.t.tree->questions().size() == 1);
  const OpenQuestion question = p.t.tree->questions().at(0);
  CHECK(question.kind == QuestionKind::approval);
  CHECK(question.agent_id == "a");
  CHECK(question.window_id == "notes");
  CHECK(question.tool == "save");
  CHECK(question.text == R"({"a":2,"b":1})");
  CHECK(p.t.tree->approve(question.id));
  p.t.settle();
  REQUIRE(p.t.held.calls.size() == 1);
  CHECK(p.t.held.calls[0].arguments.dump() == question.text);
  CHECK(p.of_spec.seen.size() == 1);  // not asked again
}

TEST_CASE("a call that was approved runs the tool that was approved", "[turn][tools][policy]") {
  for (const bool replaced : {false, true}) {
    TwoPolicies p;
    HeldTool other;
    p.of_spec.decision = {Permission::ask};
    p.run({.id = "x", .name = "held"});
    p.t.tools->remove("held");
    if (replaced) p.t.tools->add({{.name = "held", .description = "another one"}, other.start()});
    p.of_spec.decision = {Permission::deny};
    CHECK(p.t.tree->approve("q_1"));
    p.t.settle();
    CHECK(p.t.held.calls.size() == 1);
    CHECK(other.calls.empty());
  }
}
