// Turns whose model writes its tool calls into the text.
#include "support/drive/tool_turn.hpp"

#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const std::string add_block =
    R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"add","params":{"a":2,"b":2}}]}</tool_call>)";
const std::string broken_block = "<tool_call>{\"calls\":[</tool_call>";

struct TextTurn : ToolTurn {
  explicit TextTurn(AgentSpec spec = {}) {
    spec.tool_protocol = ToolProtocol::text;
    ask(agent(std::move(spec)));
  }
  // The deltas reported so far, joined.
  std::string shown() const {
    std::string all;
    for (const std::string& line : seen.with("delta a 1 ")) all += line.substr(10);
    return all;
  }
  const ChatRequest& request(std::size_t call) {
    REQUIRE(llm->calls() > call);
    return llm->call(call).request;
  }
};

}  // namespace

TEST_CASE("the blocks of an answer are not shown to people", "[turn][tools][X30]") {
  TextTurn t;
  for (const char* piece : {"I add. <", "tool", "_call>{\"calls\":[{\"window_id\":\"tools\",\"action_id\"",
                            ":\"add\",\"params\":{\"a\":2,\"b\":2}}]}</tool", "_call> Done.\n"}) {
    t.llm->delta("a", piece);
    t.settle();
    CHECK(t.shown().find("tool") == std::string::npos);
  }
  CHECK(t.shown() == "I add.  Done.\n");
  t.llm->answer("a", "");
  t.settle();
  CHECK(t.history() == "user:question, assistant:I add.  Done.[add call_1_1], tool:call_1_1=4");
  t.answer("4 <tool_boxes");
  CHECK(t.shown() == "I add.  Done.\n4 <tool_boxes");
  CHECK(t.result->text == "4 <tool_boxes");
}

TEST_CASE("nothing of a block with an end tag in a string is shown to people", "[turn][tools][X30]") {
  TextTurn t;
  json heard;
  t.tools->add(make_tool({.name = "note", .parameters = R"({"type":"object"})"},
                         [&](const json& arguments, const ToolContext&) {
                           heard = arguments;
                           return ToolResult::done("noted");
                         }));
  const std::string block =
      R"(<tool_call>```json)"
      "\n"
      R"({"window_id":"tools","action_id":"note","params":{"text":"a </tool_call> secret"}})"
      "\n```</tool_call>";
  for (const char c : "I look. " + block + " Done.") t.llm->delta("a", std::string(1, c));
  t.llm->answer("a", "");
  t.settle();
  CHECK(t.shown() == "I look.  Done.");
  CHECK(heard == json{{"text", "a </tool_call> secret"}});
  CHECK(t.history().find("I look.  Done.[note") != std::string::npos);
  t.answer("done");
  CHECK(t.result->text == "done");
}

TEST_CASE("the end of an answer delivers text that only began like a block", "[turn][tools][X30]") {
  TextTurn t;
  t.llm->delta("a", "see <tool_");
  t.settle();
  CHECK(t.shown() == "see ");
  t.answer("");
  CHECK(t.shown() == "see <tool_");
  CHECK(t.result->text == "see <tool_");
  CHECK(t.seen.index("delta a 1 <tool_") < t.seen.index("a waiting_llm>processing"));
  CHECK(t.seen.index("delta a 1 <tool_") < t.seen.index("ended a 1 completed"));
}

TEST_CASE("an observer of the last delta may end the turn", "[turn][tools][G1]") {
  for (const std::string verb : {"interrupt", "stop", "terminate", "destroy"}) {
    CAPTURE(verb);
    TextTurn t;
    t.check_at_end = verb != "destroy";
    t.llm->delta("a", "see <tool_");
    t.settle();
    const Subscription verbs = t.tree->on_event([&](const Event& event) {
      if (!event.get<DeltaReceived>()) return;
      if (verb == "interrupt") CHECK(t["a"].interrupt().took_effect());
      if (verb == "stop") CHECK(t["a"].stop().took_effect());
      if (verb == "terminate") CHECK(t["a"].terminate().accepted());
      if (verb == "destroy") t.tree.reset();
    });
    t.llm->answer("a", "");
    t.settle();
    if (!t.tree) continue;
    CHECK(t.seen.count("ended a 1 completed") == 0);
    CHECK(t.seen.count("ended a 1 " + std::string(verb == "interrupt" ? "interrupted" : "stopped")) == 1);
  }
}

TEST_CASE("with native function calls every delta is delivered at once", "[turn][tools]") {
  ToolTurn t;
  t.ask(t.agent());
  t.llm->delta("a", "<tool_call>");
  t.settle();
  CHECK(t.seen.count("delta a 1 <tool_call>") == 1);
}

TEST_CASE("tool calls by name and arguments are executed", "[turn][tools][J1]") {
  TextTurn t;
  t.answer(
      "<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}</tool_call>\n"
      "<tool_call>{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":3,\\\"b\\\":4}\"}</tool_call>");
  CHECK(t.history() ==
        "user:question, assistant:[add call_1_1][add call_1_2], tool:call_1_1=3, tool:call_1_2=7");
  CHECK(t.shown().find("tool_call") == std::string::npos);
}

TEST_CASE("the action of a window can be called by its native name", "[turn][tools][J1][Y9]") {
  TextTurn t;
  Window window{.id = "doc"};
  window.actions.push_back(
      make_tool({.name = "go"}, [](const auto&, const ToolContext&) { return ToolResult::done("gone"); }));
  t.tools->open(std::move(window));
  t.answer(
      R"(<tool_call>[{"name":"doc__go"},{"name":"gone__go"},{"window_id":"doc","name":"go"}]</tool_call>)");
  CHECK(t.history() ==
        "user:question, assistant:[doc__go call_1_1][gone__go call_1_2][doc__go call_1_3], "
        "tool:call_1_1=gone, tool:call_1_2=error: Window 'gone' does not exist, tool:call_1_3=gone");
}

TEST_CASE("a call that cannot be parsed is returned to the model once", "[turn][tools][X30][G8]") {
  TextTurn t;
  t.answer("I try. " + broken_block);
  CHECK(t.seen.count("ended a 1 completed") == 0);
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(t.history() == "user:question");
  const auto& messages = t.request(1).messages;
  REQUIRE(messages.size() == 4);
  CHECK(messages[2].role == Role::assistant);
  CHECK(messages[2].content() == "I try. " + broken_block);
  CHECK(messages[3].role == Role::user);
  CHECK(messages[3].content().find("it is not valid JSON") != std::string::npos);
  CHECK(is_valid_history(messages));
  t.answer("Again. " + add_block);
  CHECK(t.history() == "user:question, assistant:Again.[add call_1_1], tool:call_1_1=4");
  CHECK(t.request(2).messages.size() == 4);  // nothing of the answer that could not be read
  t.answer("4");
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->parse_error == "");
  CHECK(t.shown() == "I try. Again. 4");
  CHECK(is_valid_history(t["a"].conversation().value()));
}

TEST_CASE("a second answer that cannot be parsed ends the turn", "[turn][tools][X30]") {
  TextTurn t;
  t.answer(broken_block);
  t.answer("Sorry. " + broken_block);
  REQUIRE(t.result);
  CHECK(t.llm->calls() == 2);
  CHECK(t.result->success());
  CHECK(t.result->text == "Sorry. " + broken_block);
  CHECK(t.result->parse_error.find("not valid JSON") != std::string::npos);
  CHECK(t.shown() == "Sorry. ");
  CHECK(t.history() == "user:question, assistant:Sorry. " + broken_block);
}

TEST_CASE("the model is asked for one repair per turn", "[turn][tools][X30]") {
  TextTurn t;
  t.answer(broken_block);
  t.answer(add_block);
  t.answer(broken_block);
  CHECK(t.llm->calls() == 3);
  REQUIRE(t.result);
  CHECK(t.result->parse_error != "");
  t.ask(t["a"], "next");
  t.answer(broken_block);
  CHECK(t.llm->calls() == 5);
  t.answer("words");
  CHECK(t.result->parse_error == "");
}

TEST_CASE("a repair counts as an answer with tool calls", "[turn][tools][X18][X30]") {
  {
    TextTurn t({.limits = {.tool_rounds = 1}});
    t.answer(broken_block);
    t.answer(add_block);
    CHECK(t.error.code == Errc::tool_round_limit);
    CHECK(t.llm->calls() == 2);
  }
  TextTurn t({.limits = {.tool_rounds = 1}});
  t.answer(add_block);
  t.answer(broken_block);  // no room for another answer with calls
  CHECK(t.llm->calls() == 2);
  REQUIRE(t.result);
  CHECK(t.result->parse_error != "");
}

TEST_CASE("the repair can be disabled", "[turn][tools][X30]") {
  TextTurn t({.limits = {.repairs = 0}});
  t.answer(broken_block);
  CHECK(t.llm->calls() == 1);
  REQUIRE(t.result);
  CHECK(t.result->text == broken_block);
  CHECK(t.result->parse_error != "");
}

TEST_CASE("a turn that ends during a repair has no raw block as its answer", "[turn][tools][X30][G8]") {
  for (const bool stopped : {true, false}) {
    TextTurn t;
    t.answer(broken_block);
    if (stopped)
      CHECK(t["a"].stop().took_effect());
    else
      t.llm->fail("a");
    t.settle();
    REQUIRE(t.result);
    CHECK_FALSE(t.result->success());
    CHECK(t.result->text == "");
    CHECK(t.history() == std::string("user:question!") + (stopped ? "stopped" : "failed"));
  }
}

TEST_CASE("a repair counts against the budget and is refused by it", "[turn][tools][X30][G15]") {
  TextTurn t({.model = {.max_tokens = 10}, .limits = {.budget = {.tokens = 700}}});
  t.llm->delta("a", broken_block);
  const auto call = t.llm->find("a");
  REQUIRE(call);
  FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete, {680, 10, 690}));
  t.settle();
  CHECK(t.llm->calls() == 1);
  CHECK(t.state("a") == AgentState::stopped);

  TextTurn paid({.model = {.max_tokens = 10}, .limits = {.budget = {.tokens = 10'000}}});
  for (const std::string& text : {broken_block, std::string("words")}) {
    paid.llm->delta("a", text);
    const auto open = paid.llm->find("a");
    REQUIRE(open);
    FakeClient::finish(*open, ChatOutcome::completed(FinishReason::complete, {100, 10, 110}));
    paid.settle();
  }
  CHECK(paid["a"].spent().value().tokens == 220);
}

TEST_CASE("a turn that was stopped between its tools leaves a valid history", "[turn][tools][G8]") {
  TextTurn t;
  t.answer(add_block);
  t.answer(R"(<tool_call>{"name":"held"}</tool_call>)");
  CHECK(t["a"].stop().took_effect());
  t.held.calls.clear();
  t.settle();
  CHECK(t["a"].resume().took_effect());
  t.settle();
  t.ask(t["a"], "next");
  const auto& messages = t.request(2).messages;
  CHECK(is_valid_history(messages));
  REQUIRE(messages.size() == 7);  // instructions, question, two calls with their results, question
  CHECK(messages[1].interruption == Interruption::none);
  CHECK(messages[5].interruption == Interruption::stopped);
}

TEST_CASE("the launcher is named to the model if it exists", "[turn][tools][N4]") {
  TextTurn without;
  CHECK(without.request(0).messages.at(0).content().find("launcher") == std::string::npos);
  CHECK(without.request(0).tail.empty());
  ToolTurn with;
  with.tools->open({.id = "doc"});
  with.ask(with.agent({.tool_protocol = ToolProtocol::text}));
  CHECK(with.llm->call(0).request.tail.find("The window `launcher` is always there") != std::string::npos);
}

TEST_CASE("arguments of an imported history that are not JSON are sent as text", "[turn][tools][G8]") {
  for (const std::string& arguments : {std::string("{broken"), std::string(100'000, '[')}) {
    ChatMessage act = ChatMessage::assistant("");
    act.append(std::vector<ToolCall>{{"x", "add", arguments}});
    ChatMessage result = ChatMessage::tool_result({}, "error: the arguments are not valid JSON");
    result.tool_call_id = "x";
    TextTurn t({.context = {.max_tokens = no_limit},
                .history = {ChatMessage::user("before"), act, result, ChatMessage::assistant("sorry")}});
    const auto& messages = t.request(0).messages;
    REQUIRE(messages.size() > 2);
    CHECK(messages[2].content().find("\"invalid_params\":\"" + arguments.substr(0, 7)) != std::string::npos);
    CHECK(messages[2].content().find("discarded") == std::string::npos);
  }
}
