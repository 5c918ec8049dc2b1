// Consecutive messages of the role user, as a history has them after an answer was stopped.
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/dialects/wire_format.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/provider.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;
using test::answer;
using test::result;
using test::two_pictures;

namespace {

std::string sent(const detail::llm::WireFormat& format, std::vector<ChatMessage> messages,
                 JoinUserMessages join = JoinUserMessages::unsent) {
  ChatRequest request;
  request.messages = std::move(messages);
  request.stream = false;
  return format.body(request, {.model = "m", .join_user_messages = join});
}
json chat(std::vector<ChatMessage> messages, JoinUserMessages join = JoinUserMessages::unsent) {
  return json::parse(sent(detail::llm::openai_chat(), std::move(messages), join)).at("messages");
}
json anthropic(std::vector<ChatMessage> messages, JoinUserMessages join = JoinUserMessages::unsent) {
  return json::parse(sent(detail::llm::anthropic_messages(), std::move(messages), join)).at("messages");
}
json responses(std::vector<ChatMessage> messages, JoinUserMessages join = JoinUserMessages::unsent) {
  return json::parse(sent(detail::llm::openai_responses(), std::move(messages), join)).at("input");
}

const std::vector<ChatMessage> two = {test::marked(ChatMessage::user("One \"1\""), Interruption::stopped),
                                      ChatMessage::user("Two")};

ChatMessage with_pictures(std::string text) {
  ChatMessage message = ChatMessage::user(std::move(text));
  message.append(std::vector<ContentPart>(two_pictures()));
  return message;
}

}  // namespace

TEST_CASE("two user messages in a row are sent as one", "[llm]") {
  CHECK(chat(two) == json::parse(R"([{"role":"user","content":"One \"1\"\n\nTwo"}])"));
  CHECK(anthropic(two) == json::parse(R"([{"role":"user","content":[{"type":"text","text":"One \"1\""},
                                                                    {"type":"text","text":"Two"}]}])"));
  CHECK(responses(two) == json::parse(R"([{"type":"message","role":"user","content":[
      {"type":"input_text","text":"One \"1\""},{"type":"input_text","text":"Two"}]}])"));
}

TEST_CASE("an earlier request stays a byte prefix of the next", "[llm]") {
  std::vector<ChatMessage> history = {ChatMessage::system("S"), ChatMessage::user("A"), answer("B"),
                                      ChatMessage::user("C \xC3\xBC")};
  for (const auto* format :
       {&detail::llm::openai_chat(), &detail::llm::anthropic_messages(), &detail::llm::openai_responses()}) {
    const std::string before = sent(*format, history);
    std::vector<ChatMessage> longer = history;
    longer.push_back(ChatMessage::user("D"));
    longer.push_back(ChatMessage::user("E"));
    const std::string after = sent(*format, longer);
    const auto end = before.find("C \xC3\xBC") + 4;  // of the last text
    REQUIRE(end > 4);
    CHECK(after.substr(0, end) == before.substr(0, end));
    const bool is_apart = after.find("\"D\"") != std::string::npos;  // in a part of its own
    CHECK(is_apart == (format != &detail::llm::openai_chat()));
  }
}

TEST_CASE("messages with images are joined as parts in their order", "[llm][openai]") {
  const json content = chat(
      {ChatMessage::user("A"), with_pictures("B"), with_pictures(""), ChatMessage::user("C")})[0]["content"];
  REQUIRE(content.size() == 7);
  CHECK(content[0] == json{{"type", "text"}, {"text", "A"}});
  CHECK(content[1] == json{{"type", "text"}, {"text", "B"}});
  CHECK(content[2]["type"] == "image_url");
  CHECK(content[5]["type"] == "image_url");
  CHECK(content[6] == json{{"type", "text"}, {"text", "C"}});
}

TEST_CASE("only adjacent user messages are joined and empty ones are dropped", "[llm]") {
  CHECK(chat({ChatMessage::user("A"), answer("B"), ChatMessage::user("C")}).size() == 3);
  CHECK(chat({ChatMessage::user("A"), ChatMessage::system("S"), ChatMessage::user("C")}).size() == 3);
  CHECK(chat({ChatMessage::user(""), ChatMessage::user("A"), ChatMessage::user(""),
              ChatMessage::user("B")})[0]["content"] == "A\n\nB");
  CHECK(chat({}).empty());
  CHECK(responses({ChatMessage::user("A"), answer("B"), ChatMessage::user("C"), ChatMessage::user("D")})
            .size() == 3);
}

TEST_CASE("an option sends user messages unjoined", "[llm]") {
  CHECK(HttpLlmOptions{}.join_user_messages == JoinUserMessages::unsent);
  CHECK(provider_options("openai").value().join_user_messages == JoinUserMessages::unsent);
  CHECK(chat(two, JoinUserMessages::never).size() == 2);
  CHECK(anthropic(two, JoinUserMessages::never).size() == 2);
  CHECK(responses(two, JoinUserMessages::never).size() == 2);
  // Tool results belong to the user role, and stay with the next message.
  CHECK(anthropic({ChatMessage::user("A"), answer("", {{"a", "look", "{}"}}), result("a", "x"),
                   ChatMessage::user("B")},
                  JoinUserMessages::never)
            .size() == 3);
}
