// What a provider can cache of a request: the place of the tail, marks, the key, and what is not joined.
#include "llm/dialects/wire_format.hpp"
#include "llm/http/config.hpp"
#include "support/catch.hpp"
#include "support/wire/golden.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/http_llm_client.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using detail::llm::BodyDefaults;
using detail::llm::WireFormat;
using nlohmann::json;
using test::answer;
using test::maximal_request;
using test::result;
using test::two_pictures;

namespace {

constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"})";

const WireFormat& chat = detail::llm::openai_chat();
const WireFormat& responses = detail::llm::openai_responses();
const WireFormat& anthropic = detail::llm::anthropic_messages();

ChatRequest request_of(std::vector<ChatMessage> messages, std::string tail = {}) {
  ChatRequest request;
  request.messages = std::move(messages);
  request.tail = std::move(tail);
  request.stream = false;
  return request;
}

std::string body_of(const WireFormat& format, const ChatRequest& request,
                    JoinUserMessages join = JoinUserMessages::unsent, bool marks = true) {
  return format.body(
      request, {.model = "m", .join_user_messages = join, .prompt_caching = marks, .sends_cache_key = true});
}

json list_of(const WireFormat& format, const ChatRequest& request,
             JoinUserMessages join = JoinUserMessages::unsent) {
  const json body = json::parse(body_of(format, request, join, false));
  return body.at(format.dialect() == Dialect::openai_responses ? "input" : "messages");
}

std::size_t marks_in(std::string_view body) {
  std::size_t count = 0;
  for (auto at = body.find(mark); at != body.npos; at = body.find(mark, at + 1)) ++count;
  return count;
}

std::vector<ChatMessage> with_results() {
  return {ChatMessage::user("Q"), answer("", {{"a", "look", "{}"}}), result("a", "seen")};
}

// A whole request with all that can be marked.
ChatRequest cached_request() {
  ChatRequest request = maximal_request({ChatMessage::system("Be brief."), ChatMessage::user("Q"),
                                         answer("", {{"call1", "weather", "{}"}, {"call2", "clock", "{}"}}),
                                         result("call1", "12 C"), result("call2", "noon")});
  request.tail = "# Windows that are open now\n\n## Window doc\nDear \"Sir\"\n";
  request.sent_before = {2};
  request.cache_key = "agent-1";
  return request;
}

}  // namespace

TEST_CASE("the tail is the last part of a last user message or a user message behind it", "[llm]") {
  const ChatRequest request = request_of({ChatMessage::user("Q")}, "T");
  CHECK(list_of(chat, request) ==
        json::parse(R"([{"role":"user","content":"Q"},{"role":"user","content":"T"}])"));
  CHECK(list_of(responses, request) == json::parse(R"([{"type":"message","role":"user","content":[
      {"type":"input_text","text":"Q"},{"type":"input_text","text":"T"}]}])"));
  CHECK(list_of(anthropic, request) == json::parse(R"([{"role":"user","content":[
      {"type":"text","text":"Q"},{"type":"text","text":"T"}]}])"));
}

TEST_CASE("the tail after a tool result is a user message or a block behind the result", "[llm]") {
  const ChatRequest request = request_of(with_results(), "T");
  CHECK(list_of(chat, request).at(3) == json::parse(R"({"role":"user","content":"T"})"));
  CHECK(list_of(responses, request).at(3) ==
        json::parse(R"({"type":"message","role":"user","content":[{"type":"input_text","text":"T"}]})"));
  const json last = list_of(anthropic, request).at(2);
  CHECK(last.at("content").at(0).at("type") == "tool_result");
  CHECK(last.at("content").at(1) == json::parse(R"({"type":"text","text":"T"})"));
}

TEST_CASE("for strict chat templates the tail is a paragraph of the last message", "[llm]") {
  const auto always = JoinUserMessages::always;
  CHECK(list_of(chat, request_of({ChatMessage::user("Q")}, "T"), always) ==
        json::parse(R"([{"role":"user","content":"Q\n\nT"}])"));
  CHECK(list_of(chat, request_of(with_results(), "T"), always).at(2).at("content") == "seen\n\nT");
  CHECK(list_of(responses, request_of(with_results(), "T"), always).at(2).at("output") == "seen\n\nT");
  CHECK(list_of(chat, request_of({ChatMessage::user("Q"), answer("A")}, "T"), always).size() == 3);
}

TEST_CASE("the tail stands behind images and alone without messages", "[llm]") {
  ChatMessage question = ChatMessage::user("Q");
  question.append(std::vector<ContentPart>(two_pictures()));
  for (const WireFormat* format : {&chat, &responses, &anthropic}) {
    const json content = list_of(*format, request_of({question}, "T")).at(0).at("content");
    REQUIRE(content.size() == 4);
    CHECK(content.at(3).at("text") == "T");
    CHECK(list_of(*format, request_of({}, "T")).size() == 1);
    CHECK(list_of(*format, request_of({})).empty());
    CHECK(list_of(*format, request_of({ChatMessage::user("Q"), answer("A")}, "T")).size() == 3);
  }
}

TEST_CASE("a message that ended an earlier request is not joined with the next", "[llm]") {
  ChatRequest request = request_of({ChatMessage::user("A"), ChatMessage::user("B"), ChatMessage::user("C")});
  request.sent_before = {1};
  for (const WireFormat* format : {&chat, &responses, &anthropic}) {
    CHECK(list_of(*format, request).size() == 2);  // B and C were never sent
    CHECK(list_of(*format, request, JoinUserMessages::always).size() == 1);
    CHECK(list_of(*format, request, JoinUserMessages::never).size() == 3);
  }
  // An answer without text is not written, and what stands before it stays apart from what follows.
  ChatRequest empty_answer = request_of({ChatMessage::user("A"), answer(" "), ChatMessage::user("C")});
  empty_answer.sent_before = {1};
  CHECK(list_of(anthropic, empty_answer).size() == 2);
  // A steered message behind results that were sent.
  std::vector<ChatMessage> steered = with_results();
  steered.push_back(ChatMessage::user("S"));
  ChatRequest next = request_of(steered);
  next.sent_before = {3};
  CHECK(list_of(anthropic, next).size() == 4);
}

TEST_CASE("the stable part is not joined with what stands behind it", "[llm]") {
  ChatRequest request = request_of({ChatMessage::user("A"), ChatMessage::user("B")});
  request.stable_messages = 1;
  for (const WireFormat* format : {&chat, &responses, &anthropic})
    CHECK(list_of(*format, request).size() == 2);
}

TEST_CASE("Anthropic requests have marks on tools, system and the ends of two stable parts",
          "[llm][anthropic]") {
  const std::string body = body_of(anthropic, cached_request());
  CHECK(marks_in(body) == 4);
  const json sent = json::parse(body);
  CHECK(sent.at("tools").back().contains("cache_control"));
  CHECK_FALSE(sent.at("tools").front().contains("cache_control"));
  CHECK(sent.at("system").at(0).contains("cache_control"));
  const json& messages = sent.at("messages");
  CHECK(messages.at(0).at("content").at(0).contains("cache_control"));  // the end of the request before
  const json& last = messages.at(2).at("content");
  REQUIRE(last.size() == 3);
  CHECK_FALSE(last.at(0).contains("cache_control"));
  CHECK(last.at(1).contains("cache_control"));
  CHECK_FALSE(last.at(2).contains("cache_control"));  // the tail
}

TEST_CASE("Anthropic requests have at most four marks and none without an end", "[llm][anthropic]") {
  ChatRequest request = cached_request();
  request.sent_before = {1, 2, 3, 4};
  CHECK(marks_in(body_of(anthropic, request)) == 4);
  CHECK(marks_in(body_of(anthropic, request_of({ChatMessage::user("Q")}))) == 1);
  CHECK(marks_in(body_of(anthropic, request_of({ChatMessage::user(" ")}))) == 0);
  CHECK(marks_in(body_of(anthropic, request_of({}, "T"))) == 0);
  CHECK(marks_in(body_of(anthropic, cached_request(), JoinUserMessages::unsent, false)) == 0);
  CHECK(marks_in(body_of(chat, cached_request())) == 0);
  CHECK(marks_in(body_of(responses, cached_request())) == 0);
}

TEST_CASE("a refused answer and its correction are not marked", "[llm][anthropic]") {
  ChatRequest request = request_of({ChatMessage::user("Q"), answer("no"), ChatMessage::user("JSON, please")});
  request.stable_messages = 1;
  const json messages = json::parse(body_of(anthropic, request)).at("messages");
  CHECK(messages.at(0).at("content").at(0).contains("cache_control"));
  CHECK(marks_in(messages.dump()) == 1);
}

TEST_CASE("reasoning is never marked", "[llm][anthropic]") {
  const ReasoningBlock thinking{"anthropic_messages",
                                R"({"type":"thinking","thinking":"Hm.","signature":"Eq=="})"};
  const std::vector<ChatMessage> messages = {ChatMessage::user("Q"), answer("A", {}, {thinking})};
  const json content =
      json::parse(body_of(anthropic, request_of(messages))).at("messages").at(1).at("content");
  CHECK_FALSE(content.at(0).contains("cache_control"));
  CHECK(content.at(1).contains("cache_control"));
  // Reasoning without an answer is not written at all.
  const auto alone = request_of({ChatMessage::user("Q"), answer("", {}, {thinking})});
  CHECK(marks_in(body_of(anthropic, alone)) == 1);
}

TEST_CASE("the cache key is sent in the dialects of OpenAI to servers that know it", "[llm][openai]") {
  ChatRequest request = request_of({ChatMessage::user("Q")});
  request.cache_key = "agent-1";
  for (const WireFormat* format : {&chat, &responses}) {
    CHECK(json::parse(body_of(*format, request)).at("prompt_cache_key") == "agent-1");
    CHECK_FALSE(json::parse(format->body(request, {.model = "m"})).contains("prompt_cache_key"));
    CHECK_FALSE(json::parse(body_of(*format, request_of({}))).contains("prompt_cache_key"));
  }
  CHECK_FALSE(json::parse(body_of(anthropic, request)).contains("prompt_cache_key"));
}

TEST_CASE("a cache key of more than 64 bytes is refused", "[llm]") {
  ChatRequest request = request_of({ChatMessage::user("Q")});
  request.cache_key = std::string(64, 'k');
  CHECK_FALSE(detail::llm::check_request(request, "m"));
  request.cache_key += 'k';
  REQUIRE(detail::llm::check_request(request, "m"));
  CHECK(detail::llm::check_request(request, "m")->code == Errc::invalid_config);
}

TEST_CASE("golden: requests with a tail, a key and marks", "[llm][golden][O2]") {
  for (const WireFormat* format : {&chat, &responses, &anthropic}) {
    const std::string name = std::string(to_string(format->dialect())) + "/cached_request.json";
    INFO(name);
    CHECK(body_of(*format, cached_request()) + "\n" == test::read_golden(name));
  }
}
