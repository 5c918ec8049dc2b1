// Turns whose answers are checked against a response format.
#include "llm/dialects/wire_format.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/observe/strict_history.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string age_schema =
    R"({"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]})";
const std::string valid_age = R"({"age":7})";
const std::string no_age = R"({"aeg":7})";
const std::string unreadable_block = "<tool_call>{\"calls\":[</tool_call>";
const std::string block_of_add =
    R"(<tool_call>{"calls":[{"window_id":"tools","action_id":"add","params":{"a":2,"b":2}}]}</tool_call>)";

ResponseFormat age_format() {
  return {.kind = ResponseFormat::Kind::json_schema, .schema = age_schema};
}

// The agent "a", whose answers must match age_schema, unless `spec` has another format. It has been asked.
struct ValidTurn : ToolTurn {
  explicit ValidTurn(AgentSpec spec = {}, bool with_tools = false) {
    if (spec.model.response_format == ResponseFormat()) spec.model.response_format = age_format();
    ask(with_tools ? agent(std::move(spec)) : root("a", std::move(spec)));
  }
  const std::vector<ChatMessage>& messages(std::size_t call) {
    REQUIRE(llm->calls() > call);
    return llm->call(call).request.messages;
  }
  void finish_with(std::string_view text, FinishReason reason) {
    llm->delta("a", text);
    FakeClient::finish(*llm->find("a"), ChatOutcome::completed(reason));
    settle();
  }
  // Each request so far is one that a provider takes, and so is the history now.
  bool histories_are_valid() {
    for (std::size_t i = 0; i < llm->calls(); ++i)
      if (!is_valid_history(messages(i)) || !refusal(messages(i)).empty()) return false;
    const auto now = (*this)["a"].conversation().value();
    return is_valid_history(now) && refusal(now).empty();
  }
};

}  // namespace

TEST_CASE("an answer that matches completes the turn", "[turn][X52]") {
  ValidTurn t;
  t.answer(valid_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->text == valid_age);
  CHECK(t.llm->calls() == 1);
  CHECK(t.seen.with("refused-answer").empty());
  CHECK(t.history() == "user:question, assistant:" + valid_age);
}

TEST_CASE("an answer in a code fence completes the turn with the JSON alone", "[turn][X52]") {
  ValidTurn t;
  const std::string fenced = "```json\n" + std::string(valid_age) + "\n```";
  t.answer(fenced);
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->text == valid_age);
  CHECK(t.llm->calls() == 1);
  CHECK(t.history() == "user:question, assistant:" + fenced);  // as the model said it
}

TEST_CASE("an answer that does not match is returned to the model with the reason", "[turn][X52][G8]") {
  ValidTurn t({.system_prompt = "Be brief."});
  t.answer(no_age);
  CHECK_FALSE(t.result);
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(t.history() == "system:Be brief., user:question");
  CHECK(t.seen.with("refused-answer") ==
        std::vector<std::string>{"refused-answer a 1 answer.age is required"});
  CHECK(t.seen.index("delta a 1 " + no_age) < t.seen.index("refused-answer a 1 answer.age is required"));
  const auto& messages = t.messages(1);
  REQUIRE(messages.size() == 4);
  CHECK(messages[2] == ChatMessage::assistant(no_age));
  CHECK(messages[3].role == Role::user);
  CHECK(messages[3].content().find("answer.age is required") != std::string::npos);
  CHECK(t.llm->call(1).request.response_format == age_format());
  t.answer(valid_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->text == valid_age);
  CHECK(t.history() == "system:Be brief., user:question, assistant:" + valid_age);
  CHECK(t.histories_are_valid());
  t.ask(t["a"], "next");
  CHECK(t.messages(2).size() == 4);  // system, question, answer, question: nothing of the refused answer
}

TEST_CASE("a turn whose answers never match fails with invalid_answer", "[turn][X52][G8]") {
  ValidTurn t;
  t.answer("first");
  t.answer(no_age);
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::failed);
  CHECK(t.error.code == Errc::invalid_answer);
  CHECK(t.error.message ==
        "the answer does not match AgentSpec::model.response_format: answer.age is required");
  CHECK(t.result->text == no_age);
  CHECK(t.result->finish_reason == FinishReason::complete);
  CHECK(t.llm->calls() == 2);
  CHECK(t.seen.with("refused-answer").size() == 1);
  CHECK(t.history() == "user:question!failed");
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.histories_are_valid());
  t.ask(t["a"], "next");
  t.answer(valid_age);
  CHECK(t.result->success());
  CHECK(t.history() == "user:question!failed, user:next, assistant:" + valid_age);
}

TEST_CASE("max_repairs limits how often the model is asked again in a turn", "[turn][X52]") {
  for (const std::uint16_t limit : std::vector<std::uint16_t>{0, 1, 3}) {
    CAPTURE(limit);
    ValidTurn failing({.limits = {.repairs = limit}});
    for (int i = 0; i <= limit; ++i) {
      CHECK_FALSE(failing.result);
      failing.answer("{\"n\":" + std::to_string(i) + "}");
    }
    REQUIRE(failing.result);
    CHECK(failing.error.code == Errc::invalid_answer);
    CHECK(failing.result->text == "{\"n\":" + std::to_string(limit) + "}");
    CHECK(failing.llm->calls() == 1U + limit);
    CHECK(failing.histories_are_valid());
    // Only the last refused answer is sent.
    if (limit > 1) {
      CHECK(failing.messages(limit).size() == 3);
      CHECK(failing.messages(limit)[1].content() == "{\"n\":" + std::to_string(limit - 1) + "}");
    }
    failing.ask(failing["a"], "next");  // the limit is one of each turn
    for (int i = 0; i < limit; ++i) failing.answer(no_age);
    failing.answer(valid_age);
    CHECK(failing.result->success());
  }
}

TEST_CASE("each request for another answer is counted and charged", "[turn][X52][G15]") {
  ValidTurn t({.model = {.max_tokens = 10}, .limits = {.budget = {.tokens = 10'000}}});
  for (const std::string& text : {no_age, valid_age}) {
    t.llm->delta("a", text);
    FakeClient::finish(*t.llm->find("a"), ChatOutcome::completed(FinishReason::complete, {100, 10, 110}));
    t.settle();
  }
  REQUIRE(t.result);
  CHECK(t.result->usage.total_tokens == 220);
  CHECK(t["a"].spent().value().tokens == 220);

  ValidTurn poor({.model = {.max_tokens = 10}, .limits = {.budget = {.tokens = 700}}});
  poor.llm->delta("a", no_age);
  FakeClient::finish(*poor.llm->find("a"), ChatOutcome::completed(FinishReason::complete, {680, 30, 710}));
  poor.settle();
  CHECK(poor.llm->calls() == 1);
  CHECK(poor.state("a") == AgentState::stopped);
  CHECK(poor.seen.with("refused-answer").empty());
  CHECK(poor.history() == "user:question!stopped");
}

TEST_CASE("a refused answer counts when the context is trimmed", "[turn][X52]") {
  ValidTurn t({.context = {.max_tokens = 400, .target_tokens = 300, .min_conversation_tokens = 0}});
  t.answer(valid_age);
  t.ask(t["a"], "next");
  CHECK(t.messages(1).size() == 3);
  const std::string long_answer(2000, 'x');
  t.answer(long_answer);
  REQUIRE(t.messages(2).size() == 3);  // the first turn is trimmed, the question of this one is not
  CHECK(t.messages(2)[0].content() == "next");
  CHECK(t.messages(2)[1].content() == long_answer);
  t.answer(valid_age);
  CHECK(t.result->success());
  CHECK(t.histories_are_valid());
}

TEST_CASE("a format that is not validated accepts any text", "[turn][X52]") {
  ResponseFormat format = age_format();
  format.validate = false;
  ValidTurn t({.model = {.response_format = format}});
  t.answer("seven");
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->text == "seven");
}

TEST_CASE("an answer that must be a JSON object is checked without a schema", "[turn][X52]") {
  ValidTurn t({.model = {.response_format = {.kind = ResponseFormat::Kind::json_object}}});
  t.answer("[]");
  CHECK(t.messages(1).back().content().find("the answer is not a JSON object") != std::string::npos);
  t.answer(no_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
}

TEST_CASE("an empty answer is returned to the model", "[turn][X52]") {
  ValidTurn t;
  t.answer("");
  REQUIRE(t.messages(1).size() == 3);
  CHECK(t.messages(1)[1] == ChatMessage::assistant(""));
  CHECK(t.messages(1)[2].content().find("the answer is empty") != std::string::npos);
}

TEST_CASE("only the answer that ends a turn is checked", "[turn][tools][X52]") {
  ValidTurn t({}, true);
  t.call({add_call("x", 2, 2)}, "I add.");
  CHECK(t.seen.with("refused-answer").empty());
  t.answer("four");
  CHECK(t.seen.with("refused-answer").size() == 1);
  t.call({add_call("y", 3, 4)});  // to the request for another answer
  t.answer(valid_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.result->calls.size() == 2);
  CHECK(t.history() ==
        "user:question, assistant:I add.[add x], tool:x=4, assistant:[add y], tool:y=7, assistant:" +
            valid_age);
  CHECK(t.histories_are_valid());
}

TEST_CASE("a refused answer is no answer with tool calls", "[turn][tools][X18][X52]") {
  ValidTurn t({.limits = {.tool_rounds = 1}}, true);
  t.answer("four");
  t.call({add_call("x", 2, 2)});
  t.answer(valid_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
}

TEST_CASE("tool calls that cannot be read and answers that do not match share one limit",
          "[turn][tools][X30][X52]") {
  {
    ValidTurn t({.tool_protocol = ToolProtocol::text}, true);
    t.answer(unreadable_block);
    REQUIRE(t.seen.with("refused-answer").size() == 1);
    t.answer("words");  // the limit is used up
    REQUIRE(t.result);
    CHECK(t.error.code == Errc::invalid_answer);
    CHECK(t.result->text == "words");
    CHECK(t.result->parse_error == "");
  }
  {
    ValidTurn t({.tool_protocol = ToolProtocol::text}, true);
    t.answer("words");
    t.answer(unreadable_block);
    REQUIRE(t.result);
    CHECK(t.llm->calls() == 2);
    CHECK(t.error.code == Errc::invalid_answer);
    CHECK(t.result->text == unreadable_block);
    CHECK(t.result->parse_error.find("not valid JSON") != std::string::npos);
    CHECK(t.history() == "user:question!failed");
  }
  ValidTurn t({.tool_protocol = ToolProtocol::text, .limits = {.repairs = 2}}, true);
  t.answer(unreadable_block);
  t.answer(block_of_add);
  t.answer("words");
  t.answer(valid_age);
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.llm->calls() == 4);
  CHECK(t.histories_are_valid());
}

TEST_CASE("an answer that the model or a filter ended is not asked for again", "[turn][X52]") {
  for (const auto& [end, words] : {std::pair{FinishReason::refusal, "; it is a refusal of the model"},
                                   std::pair{FinishReason::content_filter, "; a content filter ended it"}}) {
    ValidTurn t;
    t.finish_with("I cannot", end);
    REQUIRE(t.result);
    CHECK(t.llm->calls() == 1);
    CHECK(t.error.code == Errc::invalid_answer);
    CHECK(t.error.message.ends_with(words));
    CHECK(t.result->finish_reason == end);
    CHECK(t.result->text == "I cannot");
  }
  ValidTurn t;
  t.finish_with("{\"age\":", FinishReason::length);
  CHECK(t.messages(1).back().content().find("; it was cut off at a token limit.") != std::string::npos);
}

TEST_CASE("a turn that ends while the model is asked again has no answer", "[turn][X52][G8]") {
  for (const std::string end : {"stop", "abort", "fail"}) {
    CAPTURE(end);
    ValidTurn t;
    t.answer(no_age);
    if (end == "stop") CHECK(t["a"].stop().took_effect());
    if (end == "abort") CHECK(t["a"].abort().took_effect());
    if (end == "fail") t.llm->fail("a");
    t.settle();
    REQUIRE(t.result);
    CHECK_FALSE(t.result->success());
    CHECK(t.result->text == "");
    CHECK(t.history() == "user:question!" + std::string(to_string(t.result->outcome)));
  }
}

TEST_CASE("an observer of a refused answer may end the turn", "[turn][X52][G1]") {
  for (const std::string verb : {"stop", "terminate", "destroy"}) {
    CAPTURE(verb);
    ValidTurn t;
    t.check_at_end = verb != "destroy";
    const Subscription refusals = t.tree->on<ModelCallEnded>([&](const ModelCallEnded& refused) {
      CHECK(refused.call == 1);
      if (verb == "stop") CHECK(t["a"].stop().took_effect());
      if (verb == "terminate") CHECK(t["a"].terminate().accepted());
      if (verb == "destroy") t.tree.reset();
    });
    t.llm->answer("a", no_age);
    t.settle();
    CHECK(t.llm->calls() == 1);
    if (t.tree) CHECK(t.seen.count("ended a 1 stopped") == 1);
  }
}

TEST_CASE("a simulated answer is not checked", "[turn][X52]") {
  ToolTurn t;
  AgentSpec spec;
  spec.model.response_format = age_format();
  const Agent agent = t.agent(spec);
  CHECK(agent.simulate("words").accepted());
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->success());
  CHECK(t.llm->calls() == 0);
}

TEST_CASE("a change of the agent keeps the check of its answers", "[turn][X52]") {
  ValidTurn t;
  t.answer(valid_age);
  CHECK(t["a"].set_model("other").has_value());
  t.ask(t["a"], "next");
  t.answer("words");
  CHECK(t.seen.with("refused-answer").size() == 1);
}

TEST_CASE("agents that share a spec are checked alike", "[turn][X52]") {
  TreeFixture t;
  auto spec = std::make_shared<AgentSpec>();
  spec->model.response_format = age_format();
  for (int i = 0; i < 2; ++i) {
    const Agent agent = t.tree->create(spec).value();
    t.ask(agent);
    t.llm->answer(agent.id(), "words");
    t.settle();
  }
  CHECK(t.llm->calls() == 4);
}

TEST_CASE("a refused answer and its correction are a request in each dialect", "[turn][llm][X52]") {
  for (const std::string& text : {no_age, std::string()}) {
    ValidTurn t({.system_prompt = "Be brief."});
    t.answer(text);
    REQUIRE(t.llm->calls() == 2);
    const ChatRequest& request = t.llm->call(1).request;
    for (const auto dialect :
         {&detail::llm::openai_chat, &detail::llm::openai_responses, &detail::llm::anthropic_messages}) {
      const auto body = nlohmann::json::parse(dialect().body(request, {.model = "m"}));
      const auto& list = body.contains("messages") ? body["messages"] : body["input"];
      REQUIRE(list.size() >= 1);
      CHECK(list.back()["role"] == "user");
      CHECK(list.back().dump().find("Your last answer was not accepted") != std::string::npos);
      CHECK(body.dump().find("validate") == std::string::npos);
      CHECK(body.dump().find("\"age\"") != std::string::npos);  // the schema
      if (text.empty()) continue;
      REQUIRE(list.size() >= 3);
      CHECK(list[list.size() - 2]["role"] == "assistant");
      CHECK(list[list.size() - 2].dump().find("aeg") != std::string::npos);
    }
  }
}
