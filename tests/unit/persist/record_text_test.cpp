// What is written by hand is the JSON that a JSON library reads and would write.
#include "core/json_text.hpp"
#include "llm/history_json.hpp"
#include "persist/agent_record.hpp"
#include "persist/history_record.hpp"
#include "persist/mail_record.hpp"
#include "persist/parsed_record.hpp"
#include "persist/tree_record.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

#include <agentcore/chat.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail;
using agentcore::detail::core::JsonObjectText;
using nlohmann::json;

namespace {

std::string every_byte(int first, int end) {
  std::string text;
  for (int byte = first; byte < end; ++byte) text += static_cast<char>(byte);
  return text;
}

std::string with_text(std::string_view value) {
  JsonObjectText text;
  text.add("text", value);
  return text.take();
}

json history_json(const ChatMessage& message, const turn::TurnPlace* place = nullptr) {
  return json::parse(persist::to_json(message, place));
}

}  // namespace

TEST_CASE("a record without members is an empty object", "[persist][G14]") {
  CHECK(JsonObjectText().take() == "{}");
}

TEST_CASE("numbers and flags of a record are exact", "[persist][G14]") {
  JsonObjectText text;
  text.add("largest", std::numeric_limits<std::uint64_t>::max());
  text.add("least", std::numeric_limits<std::int64_t>::min());
  text.add("yes", true);
  text.add("no", false);
  text.put("usual", 7, 7);
  text.put("unusual", 8, 7);
  text.put("none", std::optional<int>());
  text.put("some", std::optional<int>(0));
  CHECK(text.take() ==
        R"({"largest":18446744073709551615,"least":-9223372036854775808,"yes":true,"no":false,)"
        R"("unusual":8,"some":0})");
}

TEST_CASE("texts of a record are read as they were written", "[persist][G14]") {
  for (const std::string& value :
       {std::string(), every_byte(0, 128), std::string("\\\"\n\\"), std::string("a\0b", 3),
        std::string("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80 \xE2\x80\xA8"), std::string(300, 'a') + '"'})
    CHECK(json::parse(with_text(value)).at("text").get<std::string>() == value);
}

TEST_CASE("a record is an object that is nested at most 64 levels", "[persist][restore][corrupt]") {
  const auto nested = [](std::size_t levels) {
    std::string text;
    for (std::size_t i = 0; i < levels; ++i) text += R"({"a":)";
    return text + "1" + std::string(levels, '}');
  };
  CHECK((*persist::ParsedRecord(nested(64))).is_object());
  CHECK_THROWS_AS(persist::ParsedRecord(nested(65)), json::exception);
  for (const char* const text : {"[]", "1", "null", "\"a\"", "", "{", "{}{}"})
    CHECK_THROWS_AS(persist::ParsedRecord(text), json::exception);
  // The last of two members of one name counts, whatever the first one was.
  CHECK(*persist::ParsedRecord(R"({"a":[1,{"b":2}],"a":{"c":3}})") == json{{"a", {{"c", 3}}}});
}

TEST_CASE("broken UTF-8 in a record is replaced as the JSON library does", "[persist][G14]") {
  for (const std::string& value :
       {every_byte(120, 256), std::string("\xC3"), std::string("\"\xED\xA0\x80\n")})
    CHECK(json::parse(with_text(value)).at("text") ==
          json::parse(json(value).dump(-1, ' ', false, json::error_handler_t::replace)));
}

TEST_CASE("a message of a history has one form, however it is written", "[persist][G14]") {
  ChatMessage marked = ChatMessage::user("what?\n");
  marked.interruption = Interruption::failed;
  marked.pinned = marked.steered = marked.summary = true;
  ChatMessage odd = ChatMessage::assistant("yes");
  odd.tool_call_id = "call \"1\"";
  ChatMessage calling = ChatMessage::assistant("");
  calling.append(std::vector<ToolCall>{{.id = "1", .name = "look"}});
  ChatMessage with_image = ChatMessage::user("see");
  with_image.append(std::vector<ContentPart>{{.url = "https://example.org/a.png"}});
  with_image.items.emplace_back(ContentPart{.data = "aGk=", .media_type = "image/png", .detail = "low"});
  ChatMessage only_image = with_image;
  only_image.set_content("");
  ChatMessage thinking = ChatMessage::assistant("hm");
  test::put_reasoning(thinking, {{"openai_chat", R"({"a":1})"}, {"responses", "x", "https://example.org"}});
  calling.items.emplace_back(ToolCall{.id = "2", .name = "page__open", .arguments = "{\"a\":1}"});
  calling.tool_calls().back().window_id = "page";
  calling.items.emplace_back(ToolCall{.id = "3", .name = "page__open"});
  calling.tool_calls().back().action_id = "open";
  const ContentPart document{
      .data = "aGk=", .media_type = "application/pdf", .kind = ContentPart::Kind::document, .name = "a.pdf"};
  const ContentPart sound{.data = "aGk=", .media_type = "audio/wav", .kind = ContentPart::Kind::audio};
  const ChatMessage with_all = ChatMessage::user("see", {document, sound, {.url = "https://example.org/a"}});
  const ChatMessage result = ChatMessage::tool_result("call", "two", {document, {.data = "aGk="}});
  ChatMessage in_order = ChatMessage::assistant(std::vector<MessageItem>{
      TextItem{"a", true, "msg_1", "commentary"}, ToolCall{.id = "4", .name = "look"},
      ReasoningBlock{"responses", "{}", "s", "m", "1", "2"}, TextItem{""}, TextItem{"b\"\n"}});
  const ChatMessage calls_first = ChatMessage::assistant(
      std::vector<MessageItem>{ToolCall{.id = "5", .name = "look"}, ReasoningBlock{"responses", "{}", "s"}});
  for (const ChatMessage& message :
       {with_all, result, in_order, calls_first, only_image, thinking, ChatMessage::system("s"),
        ChatMessage::user(""), ChatMessage::assistant("a"), ChatMessage::tool_result("", "none"),
        ChatMessage::tool_result("call", "r"), marked, odd, calling, with_image}) {
    json wanted = llm::message_to_json(message);
    CHECK(history_json(message) == wanted);
    const turn::TurnPlace place{.turn = 3, .question = 0, .message = MessageId{9}, .tasks = 4};
    wanted["turn"] = 3;
    wanted["message_id"] = 9;
    wanted["tasks"] = 4;
    CHECK(history_json(message, &place) == wanted);
  }
}

TEST_CASE("an agent's record is read as it was written", "[persist][G14]") {
  persist::AgentRecord record;
  record.node = 77;
  record.spec = 5;
  record.name = "a \"name\"";
  record.history = {{1, 0, 2}, {8, 3, 1}};
  record.turn.emplace();
  record.turn->number = 6;
  record.turn->message = MessageId{12};
  record.turn->asked = true;
  record.turn->usage.prompt_tokens = 7;
  record.turn->cost = 0.5;
  record.turn->calls = {{.outcome = ToolOutcome::completed, .success = true, .by_host = true},
                        {.state = turn::Call::State::storing, .may_begin = true},
                        {.state = turn::Call::State::waiting, .ends_turn = true, .readable = false}};
  record.turn->questions = {{"call \"2\"", true, 9}};
  record.turn->deadline = {WallTime(std::chrono::hours(24 * 365 * 50)), std::chrono::hours(3)};
  record.turn->deadline_of_message = true;
  record.tasks = {{"task_1", "long \"job\""}};
  record.origin = 3;
  record.gate = core::Gate::stop_self;
  record.cause = StopCause::parent;
  record.paused = true;
  record.own.emplace();
  record.own->budget.tokens = 100;
  record.own->spent.cost = 0.25;
  const json object = json::parse(to_json(record));
  CHECK(object.at("history") == json::parse("[[1,0,2],[8,3,1]]"));
  const persist::AgentRecord read = persist::read_agent(object.dump());
  CHECK(read.node == 77);
  CHECK(read.name == record.name);
  REQUIRE(read.turn);
  CHECK(read.turn->number == 6);
  CHECK(read.turn->message.value == 12);
  CHECK(read.turn->asked);
  CHECK(read.turn->usage == record.turn->usage);
  CHECK(read.turn->cost == record.turn->cost);
  CHECK(read.turn->calls == record.turn->calls);
  CHECK(read.turn->questions == record.turn->questions);
  CHECK(read.turn->deadline == record.turn->deadline);
  CHECK(read.turn->deadline_of_message);
  REQUIRE(read.tasks.size() == 1);
  CHECK(read.tasks[0].tool == "long \"job\"");
  CHECK(read.origin == 3);
  CHECK(read.gate == core::Gate::stop_self);
  CHECK(read.cause == StopCause::parent);
  CHECK(read.paused);
  REQUIRE(read.own);
  CHECK(read.own->budget.tokens == 100);
  CHECK(read.own->spent.cost == 0.25);
}

TEST_CASE("a message that waits is read as it was written", "[persist][G14]") {
  persist::MailRecord record{MessageId{4}, {.text = "one\ntwo"}, {}};
  record.message.sender = "me";
  record.message.parts = {{.data = "aGk=", .media_type = "image/png"}, {.url = "https://example.org/b.png"}};
  const persist::MailRecord read = persist::read_mail(to_json(record));
  CHECK(read.id.value == 4);
  CHECK(read.message.text == "one\ntwo");
  CHECK(read.message.sender == "me");
  REQUIRE(read.message.parts.size() == 2);
  CHECK(read.message.parts[0].data == "aGk=");
  CHECK(read.message.parts[1].url == "https://example.org/b.png");
}

TEST_CASE("the record of a tree is read as it was written", "[persist][G14]") {
  const persist::TreeRecord record{.next_key = 2,
                                   .next_spec = 3,
                                   .next_segment = 4,
                                   .generation = 5,
                                   .sequence = 6,
                                   .questions = 7,
                                   .grants = 8,
                                   .identity = "0123456789abcdef0123456789abcdef",
                                   .stopped = true,
                                   .paused = true};
  CHECK(persist::read_tree(to_json(record)) == record);
}
