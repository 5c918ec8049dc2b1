// What may be sent to a model.
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/history.hpp>

using namespace agentcore;

namespace {

const ChatMessage rules = ChatMessage::system("be brief");
const ChatMessage question = ChatMessage::user("why?");
const ChatMessage broken_off = test::marked(ChatMessage::user("why?"), Interruption::aborted);
const ChatMessage answer = ChatMessage::assistant("because");

}  // namespace

TEST_CASE("a history is valid when each answer follows its question", "[llm][G8]") {
  CHECK(is_valid_history({}));
  CHECK(is_valid_history({rules}));
  CHECK(is_valid_history({rules, question, answer, question, answer}));
  CHECK(is_valid_history({question, answer, question}));
  CHECK_FALSE(is_valid_history({answer}));
  CHECK_FALSE(is_valid_history({rules, answer}));
  CHECK_FALSE(is_valid_history({question, answer, answer}));
}

TEST_CASE("the system message comes first and once", "[llm][G8]") {
  CHECK_FALSE(is_valid_history({question, rules}));
  CHECK_FALSE(is_valid_history({rules, rules, question}));
}

TEST_CASE("two questions in a row are valid only if the first was interrupted", "[llm][G8][X22]") {
  CHECK_FALSE(is_valid_history({question, question}));
  CHECK(is_valid_history({broken_off, question, answer}));
  CHECK(is_valid_history({rules, broken_off, broken_off, question}));
  CHECK_FALSE(is_valid_history({broken_off, answer}));
}

TEST_CASE("a message is made for each role", "[llm]") {
  CHECK(ChatMessage::system("be brief") == rules);
  CHECK(ChatMessage::user("why?") == question);
  CHECK(ChatMessage::assistant("because") == answer);
  ChatMessage result;
  result.role = Role::tool;
  result.set_content("42");
  result.tool_call_id = "call_1";
  CHECK(ChatMessage::tool_result("call_1", "42") == result);
  ChatMessage asks = ChatMessage::assistant("");
  asks.append(std::vector<ToolCall>{{.id = "call_1", .name = "add", .arguments = "{}"}});
  CHECK(is_valid_history({ChatMessage::system("be brief"), ChatMessage::user("6 * 7?"), asks,
                          ChatMessage::tool_result("call_1", "42"), ChatMessage::assistant("It is 42.")}));
}

TEST_CASE("names of roles and reasons are those of the protocols", "[llm]") {
  CHECK(to_string(Role::system) == "system");
  CHECK(to_string(Role::user) == "user");
  CHECK(to_string(Role::assistant) == "assistant");
  CHECK(to_string(Interruption::stopped) == "stopped");
  CHECK(to_string(FinishReason::complete) == "complete");
}

TEST_CASE("a valid history stays valid without its last message", "[llm][G8]") {
  prop("every beginning of a valid history is valid", [] {
    std::vector<ChatMessage> messages;
    for (int left = *rc::gen::inRange(0, 12); left > 0; --left) {
      const auto role = *rc::gen::element(Role::system, Role::user, Role::assistant);
      const auto interruption = *rc::gen::element(Interruption::none, Interruption::stopped);
      messages.push_back({.role = role, .items = {TextItem{"text"}}, .interruption = interruption});
      if (!is_valid_history(messages)) messages.pop_back();
    }
    for (; !messages.empty(); messages.pop_back()) RC_ASSERT(is_valid_history(messages));
  });
}
