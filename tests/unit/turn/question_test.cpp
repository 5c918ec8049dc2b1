// Questions to people: asked by a tool or before it may run, answered once, closed by every end of their
// call.
#include "support/drive/tool_turn.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Asking : ToolTurn {
  std::vector<Answer> heard;  // by `held` calls that asked

  explicit Asking(TreeOptions options = {}) : ToolTurn(options) {
    tools->add(make_ask_human_tool(std::chrono::seconds(30)));
    tools->add(
        {{.name = "danger", .parameters = R"({"type":"object"})", .needs_approval = true}, held.start()});
  }
  void ask_human() {
    ask(agent());
    call({{.id = "x", .name = "ask_human", .arguments = R"({"question":"Why?"})"}});
    REQUIRE(tree->questions().size() == 1);
  }
  void ask_approval() {
    ask(agent());
    call({{.id = "x", .name = "danger", .arguments = R"({"path":"/"})"}});
    REQUIRE(tree->questions().size() == 1);
    CHECK(held.calls.empty());
  }
  void hold() {
    ask(agent());
    call({{.id = "x", .name = "held"}});
    REQUIRE(held.calls.size() == 1);
  }
  void ask_by_hand(std::string text) {
    held.calls.at(0).context.ask({.text = std::move(text), .choices = {"yes", "no"}},
                                 [this](const Answer& answer) { heard.push_back(answer); });
  }
  std::string told() { return (*this)["a"].conversation().value().back().content(); }
};

}  // namespace

TEST_CASE("the model receives the answer of a person", "[turn][questions][I14]") {
  Asking t;
  t.ask_human();
  const OpenQuestion question = t.tree->questions().at(0);
  CHECK(question.id == "q_1");
  CHECK(question.kind == QuestionKind::question);
  CHECK(question.agent_id == "a");
  CHECK(question.call_id == "x");
  CHECK(question.tool == "ask_human");
  CHECK(question.text == "Why?");
  CHECK(t.state("a") == AgentState::processing);
  CHECK(t.tree->answer("q_1", "because"));
  t.settle();
  CHECK(t.history() == "user:question, assistant:[ask_human x], tool:x=because");
  CHECK(t.seen.index("asked a q_1 question Why?") < t.seen.index("closed a q_1 answered"));
  CHECK(t.tree->questions().empty());
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("the model receives the refusal of a person", "[turn][questions][I14]") {
  for (const bool reason : {false, true}) {
    Asking t;
    t.ask_human();
    CHECK(t.tree->decline("q_1", reason ? "not mine" : ""));
    t.settle();
    CHECK(t.told() == (reason ? "error: the person declined to answer: not mine"
                              : "error: the person declined to answer"));
    CHECK(t.seen.count("closed a q_1 declined") == 1);
    CHECK(t.llm->calls() == 2);
  }
}

TEST_CASE("the model receives the time-out of a question", "[turn][questions][I13][I14][G15]") {
  Asking t;
  t.ask_human();
  t.advance(std::chrono::seconds(29));
  CHECK(t.tree->questions().size() == 1);
  t.advance(std::chrono::seconds(2));
  CHECK(t.told() == "error: the person did not answer in time");
  CHECK(t.seen.count("closed a q_1 timed_out") == 1);
  CHECK(t.tree->answer("q_1", "because").code() == Errc::question_closed);
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("a stop and a delete cancel a question at once", "[turn][questions][C14][I13][G1]") {
  for (const bool terminate : {false, true}) {
    Asking t;
    t.ask_human();
    if (terminate)
      CHECK(t["a"].terminate().took_effect());
    else
      CHECK(t["a"].stop().took_effect());
    const Result<void> late = t.tree->answer("q_1", "because");
    CHECK_FALSE(late.has_value());
    CHECK(late.code() == (terminate ? Errc::agent_terminating : Errc::agent_stopping));
    CHECK(t.tree->decline("q_1").code() == late.code());
    t.settle();  // no time passes
    CHECK(t.seen.count("closed a q_1 cancelled") == 1);
    CHECK(t.seen.count(terminate ? "settled a terminating" : "settled a stopped") == 1);
    CHECK(t.seen.count("abandoned") == 0);
    CHECK(t.tree->questions().empty());
    CHECK(t.tree->answer("q_1", "because").code() == Errc::question_closed);
  }
}

TEST_CASE("the stop of a parent cancels the questions below it", "[turn][questions][C14]") {
  Asking t;
  const Agent parent = t.root("p");
  t.ask(t.child(parent, "a", {.tools = t.tools}));
  t.call({{.name = "ask_human", .arguments = R"({"question":"Why?"})"}});
  CHECK(parent.stop().took_effect());
  CHECK(t.tree->answer("q_1", "because").code() == Errc::agent_stopping);
  t.settle();
  CHECK(t.tree->questions().empty());
  CHECK(t.state("p") == AgentState::stopped);
}

TEST_CASE("the first answer counts and others are refused with the reason", "[turn][questions][I13][C14]") {
  Asking t;
  t.ask_human();
  for (const char* id : {"q_2", "q_0", "q_01", "q_-1", "q_1x", "q_", "x", "", "q_99999999999999999999999"}) {
    CAPTURE(id);
    CHECK(t.tree->answer(id, "what").code() == Errc::question_not_found);
    CHECK(t.tree->decline(id).code() == Errc::question_not_found);
  }
  CHECK(t.tree->answer("q_1", "first"));
  CHECK(t.tree->answer("q_1", "second").code() == Errc::question_closed);
  CHECK(t.tree->decline("q_1").code() == Errc::question_closed);
  t.settle();
  CHECK(t.told() == "first");
  CHECK(t.seen.count("closed a") == 1);
}

TEST_CASE("a call may ask several questions with choices", "[turn][questions][I13]") {
  Asking t;
  t.hold();
  t.ask_by_hand("One?");
  t.ask_by_hand("Two?");
  REQUIRE(t.tree->questions().size() == 2);
  CHECK(t.tree->questions()[1].choices == std::vector<std::string>{"yes", "no"});
  CHECK(t.tree->answer("q_2", "no"));
  CHECK(t["a"].stop().took_effect());
  t.settle();
  REQUIRE(t.heard.size() == 2);
  CHECK(t.heard[0].text == "no");
  CHECK(t.heard[1].outcome == QuestionOutcome::cancelled);
  CHECK(t.heard[1].text.empty());
  t.held.calls.clear();
}

TEST_CASE("a call that has ended cannot ask", "[turn][questions][I13][C14]") {
  Asking t;
  t.hold();
  t.ask_by_hand("Still open");
  t.held.calls[0].done(ToolResult::done("ok"));
  t.settle();
  REQUIRE(t.heard.size() == 1);
  CHECK(t.heard[0].outcome == QuestionOutcome::cancelled);
  t.ask_by_hand("Afterwards");
  REQUIRE(t.heard.size() == 2);
  CHECK(t.heard[1].outcome == QuestionOutcome::cancelled);
  CHECK(t.seen.count("asked") == 1);
}

TEST_CASE("a question cannot be answered after its tree was destroyed", "[turn][questions][I13]") {
  Asking t;
  t.check_at_end = false;
  t.hold();
  t.ask_by_hand("Why?");
  t.tree.reset();
  t.ask_by_hand("And now?");
  t.settle();
  CHECK(t.heard.empty());
}

TEST_CASE("a call starts after its approval", "[turn][questions][I13][I14]") {
  Asking t;
  t.ask_approval();
  CHECK(t.tree->questions().at(0).kind == QuestionKind::approval);
  CHECK(t.tree->questions().at(0).text == R"({"path":"/"})");
  CHECK(t.seen.count("tool a") == 0);
  REQUIRE(t.tree->tasks().size() == 2);
  CHECK(t.tree->tasks()[1].tool == "danger");
  CHECK(t.tree->approve("q_1"));
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  CHECK(t.seen.index("closed a q_1 answered") < t.seen.index(R"(tool a x danger {"path":"/"})"));
  t.held.calls[0].done(ToolResult::done("done"));
  t.settle();
  CHECK(t.told() == "done");
}

TEST_CASE("an answer in words decides no approval, whatever it says", "[turn][questions][I13][I14]") {
  Asking t;
  t.ask_approval();
  for (const char* text : {"no", "yes", "approve", ""}) {
    CHECK(t.tree->answer("q_1", text).code() == Errc::is_an_approval);
    t.settle();
    CHECK(t.tree->questions().size() == 1);
    CHECK(t.held.calls.empty());
  }
  CHECK(t.seen.count("closed") == 0);
  CHECK(t.tree->approve("q_1"));
  CHECK(t.tree->answer("q_1", "no").code() == Errc::question_closed);
  t.settle();
  CHECK(t.held.calls.size() == 1);
}

TEST_CASE("a call whose approval is refused does not start", "[turn][questions][I13][I14][G9]") {
  for (const bool reason : {false, true}) {
    Asking t;
    t.ask_approval();
    CHECK(t.tree->decline("q_1", reason ? "too risky" : ""));
    t.settle();
    CHECK(t.told() ==
          (reason ? "error: the person refused the call: too risky" : "error: the person refused the call"));
    CHECK(t.held.calls.empty());
    CHECK(t.llm->calls() == 2);
    t.answer("well");
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
    CHECK(t.seen.count("tool") == 0);
  }
}

TEST_CASE("a call whose approval times out does not start", "[turn][questions][I13][G9][G15]") {
  Asking t({.question_timeout = std::chrono::seconds(30)});
  t.ask_approval();
  t.advance(std::chrono::seconds(31));
  CHECK(t.told() == "error: nobody approved the call in time");
  CHECK(t.held.calls.empty());
  CHECK(t.tree->approve("q_1").code() == Errc::question_closed);
  t.answer("well");
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
}

TEST_CASE("an approval with a time-out of zero times out in the next poll", "[turn][questions]") {
  Asking t({.question_timeout = Duration(0)});
  t.ask(t.agent());
  t.call({{.id = "x", .name = "danger"}});
  CHECK(t.told() == "error: nobody approved the call in time");
  CHECK(t.held.calls.empty());
}

TEST_CASE("a stop during an approval starts no call", "[turn][questions][C14][G9][I14]") {
  Asking t;
  t.ask_approval();
  CHECK(t["a"].stop().took_effect());
  CHECK(t.tree->approve("q_1").code() == Errc::agent_stopping);
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.held.calls.empty());
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.seen.count("tool") == 0);
  CHECK(t.told() == "not started: its turn ended before it began");
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("approvals of one answer are asked in parallel if its calls may run in parallel",
          "[turn][questions]") {
  Asking t;
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.id = "x", .name = "danger"}, {.id = "y", .name = "danger"}, {.id = "z", .name = "danger"}});
  CHECK(t.tree->questions().size() == 2);
  CHECK(t.tree->approve("q_2"));
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  CHECK(t.held.calls[0].context.call_id() == "y");
  CHECK(t.tree->decline("q_1"));
  t.settle();
  CHECK(t.tree->questions().size() == 1);
  CHECK(t.tree->questions().at(0).call_id == "z");
}

TEST_CASE("an observer of a question answers it at once", "[turn][questions][I13][I14]") {
  for (const bool decline : {false, true}) {
    for (const bool approval : {false, true}) {
      Asking t;
      std::optional<Result<void>> answered, again;
      const Subscription answers = t.tree->on_event([&](const Event& event) {
        const auto* asked = event.get<QuestionAsked>();
        if (!asked) return;
        const std::string& id = asked->question.id;
        answered = decline ? t.tree->decline(id) : approval ? t.tree->approve(id) : t.tree->answer(id, "42");
        again = t.tree->answer(id, "43");
      });
      t.ask(t.agent());
      t.call({{.id = "x", .name = approval ? "danger" : "ask_human", .arguments = R"({"question":"Why?"})"}});
      REQUIRE(answered);
      CHECK(answered->has_value());
      CHECK(again->code() == Errc::question_closed);
      CHECK(t.seen.count("closed a q_1") == 1);
      if (approval && !decline) {
        REQUIRE(t.held.calls.size() == 1);
        t.held.calls[0].done(ToolResult::done("42"));
        t.settle();
      }
      CHECK(t.llm->calls() == 2);
      CHECK((t.told() == "42") == !decline);
    }
  }
}

TEST_CASE("an observer of a question stops its agent", "[turn][questions][C14][G1]") {
  for (const char* tool : {"danger", "ask_human"}) {
    Asking t;
    const Subscription stops = t.tree->on_event([&](const Event& event) {
      if (event.get<QuestionAsked>()) CHECK(event.agent().stop().took_effect());
    });
    t.ask(t.agent());
    t.call({{.id = "x", .name = tool, .arguments = R"({"question":"Why?"})"}});
    CHECK(t.state("a") == AgentState::stopped);
    CHECK(t.seen.count("closed a q_1 cancelled") == 1);
    CHECK(t.held.calls.empty());
  }
}

TEST_CASE("an observer of the end of a question may stop the agent and the tool is cancelled",
          "[turn][questions][C14][I13][G1]") {
  Asking t;
  t.hold();
  t.ask_by_hand("Why?");
  const Subscription stops = t.tree->on_event([&](const Event& event) {
    if (event.get<QuestionClosed>()) CHECK(event.agent().stop().took_effect());
  });
  CHECK(t.tree->answer("q_1", "because").code() == Errc::agent_stopping);
  REQUIRE(t.heard.size() == 1);
  CHECK(t.heard[0].outcome == QuestionOutcome::cancelled);
  CHECK(t.heard[0].text.empty());
  t.held.calls[0].done(ToolResult::failed("cancelled"));
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("an observer of an approval may stop the agent and the call does not start",
          "[turn][questions][C14][I14][G1]") {
  Asking t;
  t.ask_approval();
  const Subscription stops = t.tree->on_event([&](const Event& event) {
    if (event.get<QuestionClosed>()) CHECK(event.agent().stop().took_effect());
  });
  CHECK(t.tree->approve("q_1").code() == Errc::agent_stopping);
  t.settle();
  CHECK(t.held.calls.empty());
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
}

TEST_CASE("a callback of a question may throw or destroy the tree", "[turn][questions][G16]") {
  for (const bool whole_tree : {false, true}) {
    Asking t;
    t.check_at_end = !whole_tree;
    t.hold();
    t.held.calls[0].context.ask({.text = "Why?"}, [&](const Answer&) {
      if (!whole_tree) throw std::runtime_error("boom");
      t.tree.reset();
    });
    AgentTree& tree = *t.tree;
    CHECK(tree.answer("q_1", "because"));
    if (whole_tree) continue;
    CHECK(t.logged("boom"));
    t.held.calls[0].done(ToolResult::done("ok"));
    t.settle();
    CHECK(t.told() == "ok");
  }
}

TEST_CASE("an exception during the end of a stopped turn does not change the end",
          "[turn][questions][I19][G16][G4]") {
  ToolTurn t;
  t.tools->add({{.name = "asks"}, [](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                  context.ask({.text = "Why?"},
                              [done](const Answer&) { throw std::runtime_error("in the end"); });
                }});
  const auto events = t.tree->on_event([](const Event& event) {
    if (event.get<ToolEnded>() || event.get<QuestionClosed>() || event.get<TurnEnded>()) throw 7;
  });
  t.ask(t.agent());
  t.call({{.name = "asks"}});
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(t.logged("in the end"));
  CHECK(t.tree->questions().empty());
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("an observer of a tool's end closes the last question of its turn", "[turn][questions][Q3][G10]") {
  ToolTurn t;
  t.tools->add({{.name = "careful", .needs_approval = true}, t.held.start()});
  const auto events = t.tree->on_event([&](const Event& event) {
    if (event.get<ToolEnded>()) CHECK(t.tree->decline("q_1", "no").has_value());
  });
  const Agent agent = t.agent({.limits = {.parallel_tools = 2}});
  CHECK(agent.simulate(R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"held"},)"
                       R"({"window_id":"tools","action_id":"careful"}]}</tool_call>)"));
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  t.held.calls[0].done(ToolResult::done("over"));
  t.settle();
  CHECK(t.seen.count("ended a 1 completed") == 1);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("an answer is not accepted if an observer ends the question first", "[turn][questions][C14][G1]") {
  ToolTurn t;
  t.tools->add(make_ask_human_tool());
  const auto events = t.tree->on_event([&](const Event& event) {
    if (event.get<QuestionClosed>()) static_cast<void>(t["a"].stop());
  });
  t.ask(t.agent());
  t.call({{.name = "ask_human", .arguments = R"({"question":"Why?"})"}});
  const Result<void> result = t.tree->answer("q_1", "so");
  CHECK_FALSE(result.has_value());
  CHECK(result.code() == Errc::agent_stopping);
}
