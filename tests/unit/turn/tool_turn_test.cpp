// A turn with tools: model, tools, model again, until it answers in words.
#include "support/drive/tool_turn.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

TEST_CASE("a tool call is executed and its result is sent and the next answer ends the turn",
          "[turn][tools][K1][K7][K8][B7][G8]") {
  ToolTurn t;
  t.ask(t.agent());
  REQUIRE(t.llm->call(0).request.tools.size() == 3);
  CHECK(t.llm->call(0).request.tools[0].name == "add");
  t.call({add_call("x1", 2, 3)}, "let me see");
  REQUIRE(t.llm->calls() == 2);
  CHECK(t.history() == "user:question, assistant:let me see[add x1], tool:x1=5");
  CHECK(t.llm->call(1).request.messages == t["a"].conversation().value());
  t.llm->answer("a", "five");
  t.settle();
  CHECK(t.history() == "user:question, assistant:let me see[add x1], tool:x1=5, assistant:five");
  CHECK(t.seen.lines ==
        std::vector<std::string>{"created a", "started a 1", "a idle>waiting_llm", "delta a 1 let me see",
                                 "a waiting_llm>processing", R"(tool a x1 add {"a":2,"b":3})",
                                 "tool-end a x1 completed ok", "a processing>waiting_llm", "delta a 1 five",
                                 "a waiting_llm>processing", "ended a 1 completed", "a processing>idle"});
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->text == "five");
  CHECK(t.result->usage.total_tokens == 15);
  REQUIRE(t.result->calls.size() == 1);
  CHECK(t.result->calls[0].message == "5");
  CHECK(t.result->calls[0].outcome == ToolOutcome::completed);
}

TEST_CASE("several calls run in order and one at a time", "[turn][tools][J10][J8]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.name = "held"}, {.name = "held"}, add_call("", 1, 1)});
  REQUIRE(t.held.calls.size() == 1);
  CHECK(t.held.calls[0].context.call_id() == "call_1_1");
  t.held.calls[0].done(ToolResult::done("first"));
  t.settle();
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::failed("second"));
  t.settle();
  CHECK(t.history() ==
        "user:question, assistant:[held call_1_1][held call_1_2][add call_1_3], tool:call_1_1=first, "
        "tool:call_1_2=error: second, tool:call_1_3=2");
}

TEST_CASE("calls run in parallel if allowed and their results stay in order", "[turn][tools][J10]") {
  ToolTurn t;
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.name = "held"}, {.name = "held"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::done("second"));
  t.settle();
  REQUIRE(t.held.calls.size() == 3);
  t.held.calls[2].done(ToolResult::done("third"));
  t.settle();
  CHECK(t.llm->calls() == 1);
  t.held.calls[0].done(ToolResult::done("first"));
  t.settle();
  CHECK(t.llm->calls() == 2);
  CHECK(t.history() ==
        "user:question, assistant:[held call_1_1][held call_1_2][held call_1_3], tool:call_1_1=first, "
        "tool:call_1_2=second, tool:call_1_3=third");
}

TEST_CASE("the model receives the reason why a call cannot run", "[turn][tools][X31][Y9][K8]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.name = "nothing"},
          {.name = "add", .arguments = "{broken"},
          {.name = "add", .arguments = "[1]"},
          {.name = "add", .arguments = R"({"a":1})"},
          {.name = "add", .arguments = R"({"a":1,"b":"x"})"},
          {.name = "throws"}});
  const auto messages = t["a"].conversation().value();
  REQUIRE(messages.size() == 8);
  CHECK(messages[2].content() == "error: Tool 'nothing' does not exist");
  CHECK(messages[3].content() == "error: the arguments are not valid JSON; write them as one JSON object");
  CHECK(messages[4].content() == "error: the arguments are not a JSON object");
  CHECK(messages[5].content() == "error: params.b is required");
  CHECK(messages[6].content() == "error: params.b must be integer");
  CHECK(messages[7].content() == "error: the tool failed: boom");
  CHECK(messages[1].tool_calls()[1].arguments == "{}");  // what goes back to the provider is an object
  CHECK(t.seen.count("tool a") == 1);                    // only started calls are reported
  CHECK(t.seen.with("refused a").size() == 5);           // and each of the others as refused
  t.answer("a pity");
  REQUIRE(t.result->calls.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(t.result->calls[i].outcome == ToolOutcome::not_started);
    CHECK("error: " + t.result->calls[i].message == messages[2 + i].content());
  }
  CHECK(t.result->calls[5].outcome == ToolOutcome::completed);
  CHECK_FALSE(t.result->calls[5].success);
}

TEST_CASE("a tool without parameters is not started with arguments, and the model reads that it takes none",
          "[turn][tools][Y9][K8]") {
  ToolTurn t;
  std::vector<std::string> received;
  const auto note = [&](const json& arguments, const ToolContext&) {
    received.push_back(arguments.dump());
    return ToolResult::done("noted");
  };
  t.tools->add(make_tool({.name = "none"}, note));
  t.tools->add(make_tool({.name = "any", .parameters = R"({"type":"object"})"}, note));
  t.ask(t.agent());
  t.call({{.name = "none", .arguments = R"({"k":1})"},
          {.name = "none", .arguments = "{}"},
          {.name = "none"},
          {.name = "any", .arguments = R"({"k":1})"}});
  const auto messages = t["a"].conversation().value();
  REQUIRE(messages.size() == 6);
  CHECK(messages[2].content() ==
        "error: params.k is not allowed: the tool takes no arguments; call it with {}");
  for (std::size_t i = 3; i < 6; ++i) CHECK(messages[i].content() == "noted");
  CHECK(received == std::vector<std::string>{"{}", "{}", R"({"k":1})"});
}

TEST_CASE("twelve steps with tools run and a final answer completes the turn", "[turn][tools][X18][K2][I6]") {
  ToolTurn t;
  t.ask(t.agent());
  for (int i = 0; i < 12; ++i) t.call({add_call("", i, 1)});
  CHECK(t.llm->calls() == 13);
  t.llm->answer("a", "done");
  t.settle();
  CHECK(t.result->success());
  CHECK(t.result->calls.size() == 12);
}

TEST_CASE("a thirteenth step with tools fails the turn and keeps its steps and usage",
          "[turn][tools][X18][K2][K3][G15][K7][M3]") {
  ToolTurn t;
  t.ask(t.agent());
  for (int i = 0; i < 13; ++i) t.call({add_call("", i, 1)});
  CHECK(t.llm->calls() == 13);
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(t.error.code == Errc::tool_round_limit);
  CHECK(t.error.message ==
        "executed 12 consecutive tool_call turns without a non-tool response; to allow more, raise "
        "AgentSpec::limits.tool_rounds");
  CHECK(t.result->calls.size() == 12);
  CHECK(t.result->usage.total_tokens == 13 * 15);
  CHECK(is_valid_history(t["a"].conversation().value()));
  CHECK(t.state("a") == AgentState::idle);
  t.ask(t["a"], "again");
  t.llm->answer("a", "ok");
  CHECK(is_valid_history(t["a"].conversation().value()));
}

TEST_CASE("a model call that fails without words says that it failed", "[turn][K6]") {
  ToolTurn t;
  t.ask(t.agent());
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({Errc::network_error, ""}));
  t.settle();
  REQUIRE(t.result);
  CHECK_FALSE(t.result->success());
  CHECK(t.result->error.message == "LLM call failed");
}

TEST_CASE("a model call that fails after tools keeps their steps", "[turn][tools][K6]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({add_call("x", 1, 2)});
  t.llm->fail("a");
  t.settle();
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(t.result->calls.size() == 1);
  CHECK(t.result->error.message == "as the test says");
  CHECK(t.history() == "user:question!failed, assistant:[add x], tool:x=3");
}

TEST_CASE("a stop between tools reports the outcome of each call",
          "[turn][tools][G9][G8][X22][I4][I5][I9][I10]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({add_call("one", 1, 2), {.id = "two", .name = "held"}, {.id = "three", .name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  CHECK(is_valid_history(t["a"].conversation().value()));
  CHECK(t["a"].stop().took_effect());
  CHECK(t.held.calls[0].context.stop().stop_requested());
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);  // until the tool lets go
  REQUIRE(t.result->calls.size() == 3);
  CHECK(t.result->calls[0].outcome == ToolOutcome::completed);
  CHECK(t.result->calls[1].outcome == ToolOutcome::interrupted);
  CHECK(t.result->calls[2].outcome == ToolOutcome::not_started);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  const json steps = json::parse(to_json(*t.result))["steps"];
  CHECK(steps.size() == 4);
  CHECK(steps[3]["type"] == "terminated");
  CHECK(steps[3]["message"] == "Task was terminated by user");
  CHECK(t.result->error.message == "Task terminated by user");
  CHECK(t.history() ==
        "user:question!stopped, assistant:[add one][held two][held three], tool:one=3, "
        "tool:two=interrupted: it had begun when its turn ended, and its effect is unknown, "
        "tool:three=not started: its turn ended before it began");
  CHECK(t.logged("Tool execution was cancelled agent=a tool=held outcome=interrupted"));
  CHECK(t.logged("Agent execution was cancelled agent=a"));
  t.held.calls[0].done(ToolResult::failed("cancelled"));
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("discarded a 1 tool result") == 1);  // also if it failed
}

TEST_CASE("a result that comes after the stop is counted and dropped", "[turn][tools][G7][X15][F7]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t["a"].stop().took_effect());
  const auto before = t.history();
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.with("discarded") == std::vector<std::string>{"discarded a 1 tool result"});
  CHECK(t.history().find("late") == std::string::npos);
}

TEST_CASE("a tool that ignores its stop is abandoned and named", "[turn][tools][G9][X15][G7]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  std::vector<std::string> failed;
  CHECK(t["a"]
            .stop({.on_settled = [&](const StopReport& report) { failed = report.abandoned; }})
            .took_effect());
  t.settle();
  CHECK(t.seen.count("ended a 1 stopped") == 1);  // at once
  t.advance(std::chrono::seconds(6));
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.index("abandoned a tool call held") >= 0);
  CHECK(t.seen.index("abandoned a tool call held") < t.seen.index("settled a stopped abandoned"));
  CHECK(failed == std::vector<std::string>{"a"});
  t.held.calls[0].done(ToolResult::done("very late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("a tool that timed out counts as interrupted and the turn continues", "[turn][tools][G9][G15]") {
  ToolTurn t({.tool_timeout = std::chrono::seconds(30)});
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t.held.calls[0].context.deadline() == t.runtime->now() + std::chrono::seconds(30));
  t.advance(std::chrono::seconds(31));
  CHECK(t.held.calls[0].context.stop().stop_requested());
  CHECK(t.llm->calls() == 2);
  CHECK(t.history() ==
        "user:question, assistant:[held x], tool:x=error: timed out after 30 s; its effect is unknown");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x interrupted failed"});
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  t.llm->answer("a", "well");
  t.settle();
  CHECK(t.seen.count("ended a 1 completed") == 1);
  REQUIRE(t.result);
  REQUIRE(t.result->calls.size() == 1);
  CHECK(t.result->calls[0].outcome == ToolOutcome::interrupted);
  CHECK_FALSE(t.result->calls[0].success);
}

TEST_CASE("an answer may have 64 tool calls and with one more none of them runs", "[turn][tools][G15]") {
  for (const std::size_t count : {64U, 65U}) {
    CAPTURE(count);
    ToolTurn t;
    t.ask(t.agent());
    t.call(std::vector<ToolCall>(count, add_call("", 1, 1)));
    const bool few = count == 64;
    CHECK(t.seen.count("tool a") == (few ? 64U : 0U));
    CHECK(t.seen.count("ended a 1 failed") == (few ? 0U : 1U));
    CHECK(t.error.code == (few ? Errc::none : Errc::response_too_large));
    CHECK(t.state("a") == (few ? AgentState::waiting_llm : AgentState::idle));
    CHECK(t["a"].conversation().value().size() == (few ? 2U + 64U : 1U));
    CHECK(is_valid_history(t["a"].conversation().value()));
  }
}

TEST_CASE("a stop by an observer takes effect before the next call starts", "[turn][tools][G1][G9][Q3]") {
  struct Moment {
    const char* line;  // as the Recorder writes it; the stop follows it
    std::size_t runs;  // of the tool, by then
    std::vector<ToolOutcome> outcomes;
  };
  using enum ToolOutcome;
  const Moment moment = GENERATE(values<Moment>({
      {"a waiting_llm>processing", 0, {}},
      {"tool a x ", 0, {not_started, not_started}},
      {"tool-end a x ", 1, {completed, not_started}},
      {"tool a y ", 1, {completed, not_started}},
      {"a processing>waiting_llm", 2, {completed, completed}},
  }));
  CAPTURE(moment.line);
  ToolTurn t;
  std::size_t runs = 0;
  t.tools->add(make_tool({.name = "count"}, [&](const json&, const ToolContext&) {
    return ToolResult::done(std::to_string(++runs));
  }));
  const auto stop_at_moment = [&] {
    if (!t.seen.lines.empty() && t.seen.lines.back().starts_with(moment.line))
      static_cast<void>(t["a"].stop());
  };
  const auto states = t.tree->on<StateChanged>([&](const StateChanged&) { stop_at_moment(); });
  const auto events = t.tree->on_event([&](const Event&) { stop_at_moment(); });
  t.ask(t.agent());
  t.call({{.id = "x", .name = "count"}, {.id = "y", .name = "count"}});
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(runs == moment.runs);
  CHECK(t.llm->calls() == 1);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(is_valid_history(t["a"].conversation().value()));
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  REQUIRE(t.result->calls.size() == moment.outcomes.size());
  for (std::size_t i = 0; i < moment.outcomes.size(); ++i)
    CHECK(t.result->calls[i].outcome == moment.outcomes[i]);
}

TEST_CASE("a stop by an observer takes effect before an approval is asked", "[turn][tools][G1][G9]") {
  ToolTurn t;
  t.tools->add(Tool{{.name = "risky", .needs_approval = true}, t.held.start()});
  const Agent agent = t.agent();
  t.ask(agent);
  const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::processing) static_cast<void>(agent.stop());
  });
  t.call({{.id = "x", .name = "risky"}});
  CHECK(t.seen.count("asked") == 0);
  CHECK(t.held.calls.empty());
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a tool that drops its call has failed", "[turn][tools][G9]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  t.held.calls.clear();
  t.settle();
  CHECK(t.history() == "user:question, assistant:[held x], tool:x=error: the tool dropped its call");
}

TEST_CASE("only the first result of a call counts", "[turn][tools][G10]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  const ToolDone done = t.held.calls[0].done;
  done(ToolResult::done("one"));
  done(ToolResult::done("two"));
  t.settle();
  CHECK(t.history() == "user:question, assistant:[held x], tool:x=one");
}

TEST_CASE("a turn has no text if its client cancels the call after the tools", "[turn][tools][A8]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({add_call("x1", 2, 3)}, "let me see");
  REQUIRE(t.llm->calls() == 2);
  FakeClient::finish(t.llm->call(1), ChatOutcome::cancelled());
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::aborted);
  CHECK(t.result->text.empty());
  CHECK(t.result->calls.size() == 1);
}

TEST_CASE("an abort while tools run changes nothing", "[turn][tools][A13]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t["a"].abort().reason == Errc::not_waiting_llm);
  t.held.calls[0].done(ToolResult::done("one"));
  t.settle();
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("running operations are listed from before their start until their end", "[turn][tools][I1][I2]") {
  ToolTurn t;
  t.ask(t.agent());
  REQUIRE(t.tree->tasks().size() == 2);
  CHECK(t.tree->tasks()[1].kind == RunningTask::Kind::model_call);
  t.call({{.id = "x", .name = "held"}});
  const auto tasks = t.tree->tasks();
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].kind == RunningTask::Kind::turn);
  CHECK(tasks[1].id == "x");
  CHECK(tasks[1].tool == "held");
  CHECK_FALSE(tasks[1].stopping);
  CHECK(t["a"].stop().took_effect());
  t.settle();
  REQUIRE(t.tree->tasks().size() == 1);
  CHECK(t.tree->tasks()[0].stopping);
  t.held.calls.clear();
  t.settle();
  CHECK(t.tree->tasks().empty());
}

TEST_CASE("a truncated result says how many bytes were dropped", "[turn][tools][G15]") {
  ToolTurn t({.max_tool_result_bytes = 100});
  t.tools->add({{.name = "job", .mode = ToolMode::async}, t.held.start()});
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  std::string told, progress, task;
  const Subscription events = t.tree->on_event([&](const Event& event) {
    if (const auto* ended = event.get<ToolEnded>()) told = ended->result.message;
    if (const auto* made = event.get<ToolProgress>()) progress = made->text;
    if (const auto* changed = event.get<TaskChanged>()) task = changed->result.message;
  });
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "job"}});
  REQUIRE(t.held.calls.size() == 1);
  const std::string text(1000, 'x');
  const std::string cut = std::string(100, 'x') + "\n[900 bytes more were dropped]";
  t.held.calls[0].context.progress(text);
  t.held.calls[0].done(ToolResult{true, text, {}, text});
  t.settle();
  CHECK(progress == cut);
  CHECK(told == cut);
  REQUIRE(t["a"].conversation().value().size() == 4);
  CHECK(t["a"].conversation().value()[2].content() == cut);
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::done(text));
  t.settle();
  CHECK(task == cut);
  // Not within a character: then the whole of it counts as dropped.
  t.call({{.id = "z", .name = "held"}});
  REQUIRE(t.held.calls.size() == 3);
  t.held.calls[2].done(ToolResult::done(std::string(99, 'x') + "\u00e4" + std::string(9, 'x')));
  t.settle();
  CHECK(told == std::string(99, 'x') + "\n[11 bytes more were dropped]");
}

TEST_CASE("the text protocol sends calls as blocks and results as a message", "[turn][tools][J1][N4][X30]") {
  ToolTurn t;
  t.ask(
      t.agent({.system_prompt = "Be brief.", .tool_protocol = ToolProtocol::text, .limits = {.repairs = 0}}));
  const ChatRequest& first = t.llm->call(0).request;
  CHECK(first.tools.empty());
  REQUIRE(first.messages.size() == 2);
  CHECK(first.messages[0].content().find("Be brief.") == 0);
  CHECK(first.messages[0].content().find("- add: Adds two numbers.") != std::string::npos);
  t.llm->answer(
      "a",
      "I add.\n<tool_call>{\"window_id\":\"tools\",\"action_id\":\"add\",\"params\":{\"a\":2,\"b\":2}}"
      "</tool_call>");
  t.settle();
  CHECK(t.history() == "system:Be brief., user:question, assistant:I add.[add call_1_1], tool:call_1_1=4");
  const ChatRequest& second = t.llm->call(1).request;
  REQUIRE(second.messages.size() == 4);
  CHECK(second.messages[2].role == Role::assistant);
  CHECK(second.messages[2].tool_calls().empty());
  CHECK(second.messages[2].content().find("<tool_call>") != std::string::npos);
  CHECK(second.messages[3].role == Role::user);
  CHECK(second.messages[3].content().find(R"({"call_id":"call_1_1","result":"4"})") != std::string::npos);
  t.llm->answer("a", "broken <tool_call>{</tool_call>");
  t.settle();
  CHECK(t.result->success());
  CHECK(t.result->text == "broken <tool_call>{</tool_call>");
  CHECK(t.result->parse_error.find("not valid JSON") != std::string::npos);
}

TEST_CASE("a simulated answer runs its calls once without a model call and without a history entry",
          "[turn][tools][K13][B4]") {
  ToolTurn t;
  const Agent agent = t.agent();
  CHECK(agent.simulate(
      R"(<tool_call>{"window_id":"tools","action_id":"add","params":{"a":2,"b":5}}</tool_call>)"));
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(t.seen.index("a idle>processing") > 0);
  CHECK(t.seen.count("ended a 1 completed") == 1);
  REQUIRE(t.result->calls.size() == 1);
  CHECK(t.result->calls[0].message == "7");
  CHECK(t.result->calls[0].call_id == "call_1_1");
  CHECK(agent.conversation().value().empty());
}

TEST_CASE("ids that a provider repeats are made unique", "[turn][tools][G8]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({add_call("same", 1, 1), add_call("same", 1, 2)});
  t.call({add_call("same", 1, 3)});
  CHECK(is_valid_history(t["a"].conversation().value()));
  t.answer("done");
  REQUIRE(t.result->calls.size() == 3);
  REQUIRE(t.result->last_call);
  CHECK(t.result->last_call->id == t.result->calls[2].call_id);
  CHECK(t.result->last_call->id != "same");
}

TEST_CASE("a tool may stop its own agent", "[turn][tools][Q3][G1]") {
  ToolTurn t;
  t.tools->add(make_tool({.name = "suicide"}, [](const json&, const ToolContext& context) {
    static_cast<void>(context.agent().stop());
    return ToolResult::done("stopped");
  }));
  t.ask(t.agent());
  t.call({{.id = "x", .name = "suicide"}, add_call("y", 1, 1)});
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.result->calls.at(1).outcome == ToolOutcome::not_started);
  CHECK(is_valid_history(t["a"].conversation().value()));
}

TEST_CASE("a tool may delete its own agent and its tree", "[turn][tools][Q3][G1]") {
  for (const bool whole_tree : {false, true}) {
    ToolTurn t;
    t.check_at_end = false;
    t.tools->add(make_tool({.name = "delete"}, [&](const json&, const ToolContext& context) {
      if (whole_tree)
        t.tree.reset();
      else
        static_cast<void>(context.agent().terminate());
      return ToolResult::done("gone");
    }));
    const Agent agent = t.agent();
    t.ask(agent);
    t.call({{.id = "x", .name = "delete"}});
    CHECK_FALSE(agent.exists());
  }
}

TEST_CASE("data that is nested too deep fails its call", "[turn][tools][G15]") {
  ToolTurn t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  t.held.calls[0].done(ToolResult::done("deep", std::string(10'000, '[') + std::string(10'000, ']')));
  t.settle();
  CHECK(t.history().find("tool:x=error: the tool's data is no UTF-8, nested too deep") != std::string::npos);
}

TEST_CASE("a closing tag in the text is only text", "[turn][tools][J11]") {
  ToolTurn t;
  t.ask(t.agent({.tool_protocol = ToolProtocol::text}));
  t.llm->answer("a", R"(A </tool_call> B <tool_call>{"window_id":"tools","action_id":"held"}</tool_call> C)");
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  CHECK(t["a"].conversation().value().at(1).content() == "A </tool_call> B  C");
}

TEST_CASE("the timer of a tool does not outlive its tree", "[turn][tools][G13]") {
  ToolTurn t;
  t.check_at_end = false;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  CHECK(t.runtime->next_deadline().has_value());
  t.tree.reset();
  t.poll();
  CHECK_FALSE(t.runtime->next_deadline().has_value());
}

TEST_CASE("equal calls have idempotency keys of their own", "[turn][tools][G14]") {
  ToolTurn t;
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});  // of one answer
  REQUIRE(t.held.calls.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) t.held.calls[i].done(ToolResult::done("ok"));
  t.settle();
  t.call({{.id = "z", .name = "held"}});  // of the next one
  REQUIRE(t.held.calls.size() == 3);
  const auto key = [&](std::size_t call) { return t.held.calls[call].context.idempotency_key(); };
  CHECK(key(0) != key(1));
  CHECK(key(0) != key(2));
  CHECK(key(1) != key(2));
}

TEST_CASE("data may have as many bytes as a result", "[turn][tools][G15]") {
  ToolTurn t({.max_tool_result_bytes = 100});
  std::string data;
  bool success = false;
  const auto ends = t.tree->on<ToolEnded>([&](const ToolEnded& ended) {
    data = ended.result.data;
    success = ended.result.success;
  });
  t.ask(t.agent());
  for (const std::size_t length : {100U, 101U}) {
    const std::string text = '"' + std::string(length - 2, 'x') + '"';
    t.call({{.id = "x" + std::to_string(length), .name = "held"}});
    t.held.calls[t.held.calls.size() - 1].done(ToolResult::done("ok", text));
    t.settle();
    CHECK(success == (length == 100));
    CHECK(data == (length == 100 ? text : ""));
  }
}

TEST_CASE("the images of a result go to the model, and stay in the history", "[turn][tools][parts][G8]") {
  const ContentPart image{.data = "aGk=", .media_type = "image/png"};
  ToolTurn t({.max_message_bytes = 100});
  const Agent agent = t.agent();
  t.ask(agent, "look");
  t.call({{.id = "x1", .name = "held"}, {.id = "x2", .name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  ToolResult seen = ToolResult::done("one picture"), large = seen;
  seen.parts = {image};
  large.parts = {image, {.data = std::string(100, 'A'), .media_type = "image/png"}};
  t.held.calls[0].done(seen);
  t.settle();
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[1].done(large);
  t.settle();
  const std::vector<ChatMessage>& sent = t.llm->call(1).request.messages;
  REQUIRE(sent.size() == 4);
  CHECK(sent[2].items == std::vector<MessageItem>{TextItem{"one picture"}, image});
  CHECK(sent[3].parts().empty());
  CHECK(sent[3].content() ==
        "error: the parts of the result are longer together than TreeOptions::max_message_bytes");
  t.answer("done");
  CHECK(agent.conversation().value()[2].items == sent[2].items);
  REQUIRE(t.result->calls.size() == 2);
  CHECK_FALSE(t.result->calls[1].success);
}
