// Histories as JSON: written, and read from anywhere.
#include "support/catch.hpp"
#include "support/messages.hpp"

#include <agentcore/history.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;

namespace {

using History = std::vector<ChatMessage>;

History a_day_at_sea() {
  History history{ChatMessage::system("Be brief."),
                  test::marked(ChatMessage::user("Blue?"), Interruption::aborted)};
  history.push_back(ChatMessage::user("Look."));
  history.back().pinned = true;
  history.push_back(ChatMessage::assistant(""));
  history.back().append(
      std::vector<ToolCall>{{"c1", "look", R"({"at":"sea"})", ""}, {"c2", "log__add", "{}", "log"}});
  history.push_back(ChatMessage::tool_result({}, "blue"));
  history.back().tool_call_id = "c1";
  history.push_back(ChatMessage::tool_result({}, "noted"));
  history.back().tool_call_id = "c2";
  history.push_back(ChatMessage::assistant("Yes, \"caf\xC3\xA9\" blue."));
  return history;
}

History read(std::string_view json) {
  const auto history = history_from_json(json);
  INFO((history ? std::string() : history.error().message));
  REQUIRE(history);
  return *history;
}

std::string refusal(std::string_view json) {
  const auto history = history_from_json(json);
  if (history) return "(none)";
  CHECK(history.error().code == Errc::invalid_history);
  return history.error().message;
}

}  // namespace

TEST_CASE("a history is written as a request's messages", "[llm][G8]") {
  CHECK(history_to_json({}) == "[]");
  CHECK(history_to_json(a_day_at_sea()) ==
        R"([{"content":"Be brief.","role":"system"},)"
        R"({"content":"Blue?","interruption":"aborted","role":"user"},)"
        R"({"content":"Look.","pinned":true,"role":"user"},)"
        R"({"content":"","role":"assistant","tool_calls":[)"
        R"({"function":{"arguments":"{\"at\":\"sea\"}","name":"look"},"id":"c1","type":"function"},)"
        R"({"function":{"arguments":"{}","name":"log__add"},"id":"c2","type":"function"}]},)"
        R"({"content":"blue","role":"tool","tool_call_id":"c1"},)"
        R"({"content":"noted","role":"tool","tool_call_id":"c2"},)"
        R"({"content":"Yes, \"café\" blue.","role":"assistant"}])");
}

TEST_CASE("a history that was written is read again", "[llm][G8]") {
  CHECK(read(history_to_json(a_day_at_sea())) == a_day_at_sea());
  // Ids are written as they are, however long.
  History long_ids = {ChatMessage::user("?"), ChatMessage::assistant(""),
                      ChatMessage::tool_result({}, "blue")};
  long_ids[1].append(std::vector<ToolCall>{{std::string(100, 'x'), "look", "{}"}});
  long_ids[2].tool_call_id = std::string(100, 'x');
  CHECK(read(history_to_json(long_ids)) == long_ids);
}

TEST_CASE("every mark of an interruption is written and read", "[llm][G8]") {
  for (const Interruption mark :
       {Interruption::none, Interruption::aborted, Interruption::stopped, Interruption::failed,
        Interruption::interrupted, Interruption::steered, Interruption::truncated}) {
    for (const Role role : {Role::user, Role::assistant}) {
      const ChatMessage message{.role = role, .items = {TextItem{"text"}}, .interruption = mark};
      CHECK(read(history_to_json({message})) == History{message});
    }
  }
}

TEST_CASE("every field of a message is written and read", "[llm][G8]") {
  const ChatMessage full{.role = Role::assistant,
                         .items = {TextItem{"text", true, "msg_1", "commentary"},
                                   ReasoningBlock{"openai_chat", "{}", "api.example.com", "m", "0a", "1b"},
                                   ToolCall{"c1", "notes__add", "{}", "my notes", "add it"},
                                   ContentPart{.url = "https://a/b.png", .detail = "low"},
                                   ContentPart{.data = "aGk=",
                                               .media_type = "application/pdf",
                                               .kind = ContentPart::Kind::document,
                                               .name = "a.pdf"}},
                         .interruption = Interruption::failed,
                         .tool_call_id = "c0",
                         .call_end = CallEnd{ToolOutcome::completed, true},
                         .steered = true,
                         .pinned = true,
                         .summary = true};
  CHECK(read(history_to_json({full})) == History{full});
  // With a new member in one of these types this does not compile: write and read it, and set it above.
  const auto& [role, items, interruption, tool_call_id, call_end, steered, pinned, summary] = full;
  const ChatMessage unset;
  CHECK(role != unset.role);
  CHECK(interruption != unset.interruption);
  CHECK(tool_call_id != unset.tool_call_id);
  CHECK(call_end != unset.call_end);
  CHECK(steered != unset.steered);
  CHECK(pinned != unset.pinned);
  CHECK(summary != unset.summary);
  REQUIRE(items.size() == 5);
  const auto& [words, refusal, item, phase] = std::get<TextItem>(items[0]);
  CHECK(refusal);
  for (const std::string& text : {words, item, phase}) CHECK_FALSE(text.empty());
  const auto& [id, name, arguments, window_id, action_id] = full.tool_calls().front();
  for (const std::string& text : {id, name, arguments, window_id, action_id}) CHECK_FALSE(text.empty());
  const auto& [url, no_data, no_type, detail, kind, no_name] = full.parts()[0];
  const auto& [no_url, data, media_type, no_detail, other_kind, name_of_part] = full.parts()[1];
  CHECK(kind != other_kind);
  CHECK(no_name.empty());
  CHECK_FALSE(name_of_part.empty());
  for (const std::string& text : {url, detail, data, media_type}) CHECK_FALSE(text.empty());
  for (const std::string& text : {no_data, no_type, no_url, no_detail}) CHECK(text.empty());
  const auto& [dialect, block, server, model, account, prefix] = full.reasoning().front();
  for (const std::string& text : {dialect, block, server, model, account, prefix}) CHECK_FALSE(text.empty());
}

TEST_CASE("a message of any role is written and read even if it is invalid", "[llm][G8]") {
  for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool}) {
    ChatMessage message{.role = role, .items = {TextItem{"text"}}, .interruption = Interruption::stopped};
    message.append(std::vector<ToolCall>{{"c1", "a__b", "{}", ""}});  // of no window, whatever its name
    message.tool_call_id = "c0";
    message.append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
    test::put_reasoning(message, {{"openai_chat", "{}"}});
    CHECK(read(history_to_json({message})) == History{message});
  }
}

TEST_CASE("histories of format 1 and of later formats are read", "[llm][G8]") {
  CHECK(read(R"([{"role":"user","content":"?"},{"role":"assistant","content":"!"}])") ==
        History{ChatMessage::user("?"), ChatMessage::assistant("!")});
  CHECK(read(R"([{"role":"user","content":"?","interruption":null,"pinned":false,"mood":7}])") ==
        History{ChatMessage::user("?")});
  const auto with = [](const std::string& field) {
    return refusal(R"([{"role":"user","content":"?",)" + field + "}]");
  };
  CHECK(with(R"("interruption":"none")") == "(none)");
  CHECK(with(R"("interruption":"paused")") ==
        "message 1: interruption is not none, aborted, stopped, failed, interrupted, steered or truncated");
  CHECK(with(R"("interruption":1)") == "message 1: interruption is not a string");
  CHECK(with(R"("pinned":"yes")") == "message 1: pinned is neither true nor false");
  CHECK(with(R"("tool_calls":[{"function":{},"window_id":1}])") ==
        "message 1: tool call 1: window_id is not a string");
}

TEST_CASE("a history records the server of its reasoning", "[llm][G8][reasoning]") {
  History history{ChatMessage::user("?"), ChatMessage::assistant("!")};
  test::put_reasoning(history[1], {{"openai_chat", "{}", "api.example.com"}, {"openai_chat", "{}"}});
  const std::string json = history_to_json(history);
  CHECK(json.find(R"([{"data":"{}","dialect":"openai_chat","server":"api.example.com"},)"
                  R"({"data":"{}","dialect":"openai_chat"}])") != std::string::npos);
  CHECK(read(json) == history);
  const auto of = [](const std::string& block) {
    return refusal(R"([{"role":"assistant","reasoning_blocks":[)" + block + "]}]");
  };
  CHECK(of(R"({"server":null})") == "(none)");
  CHECK(of(R"({"server":7})") == "message 1: reasoning block 1: server is not a string");
}

TEST_CASE("broken UTF-8 is replaced in a written history", "[llm][G8]") {
  CHECK(read(history_to_json({ChatMessage::user("a\xFF")})) == History{ChatMessage::user("a\xEF\xBF\xBD")});
}

TEST_CASE("histories from elsewhere are read", "[llm][G8]") {
  CHECK(read(R"([{"role":"developer","content":"d","name":"n"},{"role":"user","content":
      [{"type":"text","text":"a"},{"type":"text","text":"b"}]}])") ==
        History{ChatMessage::system("d"), ChatMessage::user("ab")});
  CHECK(read(R"([{"role":"assistant"},{"role":"assistant","content":null,"tool_calls":null},
      {"role":"tool","content":null,"tool_call_id":null},{"role":"user","content":[]}])") ==
        History{ChatMessage::assistant(""), ChatMessage::assistant(""), ChatMessage::tool_result({}, ""),
                ChatMessage::user("")});
  const History called = read(R"([{"role":"assistant","tool_calls":[{"function":{}},
      {"id":"1","type":"function","index":0,"function":{"name":"f","arguments":{"a":[1]}}}]}])");
  CHECK(called.at(0).tool_calls() == std::vector<ToolCall>{{}, {"1", "f", R"({"a":[1]})", ""}});
}

TEST_CASE("the name of a call gives its window", "[llm][G8]") {
  const auto window = [](const std::string& name) {
    return read(R"([{"role":"assistant","tool_calls":[{"function":{"name":")" + name + R"("}}]}])")
        .at(0)
        .tool_calls()[0]
        .window_id;
  };
  CHECK(window("notes__add") == "notes");
  CHECK(window("notes__add__more") == "notes");
  CHECK(window("a___b") == "a");
  CHECK(window("notes_add").empty());
  CHECK(window("__add").empty());
  CHECK(window("notes__").empty());
  CHECK(window("__").empty());
  CHECK(window("").empty());
}

TEST_CASE("invalid history JSON is refused with its place", "[llm][G8]") {
  CHECK(refusal("") == "the text is not valid JSON at byte 1");
  CHECK(refusal("[{]") == "the text is not valid JSON at byte 3");
  CHECK(refusal("[1e999]") == "the text is not valid JSON: a number is out of range");
  CHECK(refusal("{}") == "the text is not a JSON array of messages");
  CHECK(refusal("[7]") == "message 1: is not an object");
  CHECK(refusal(R"([{"role":"user","content":""},{"role":"user","content":""},{}])") ==
        "message 3: role is missing");
  CHECK(refusal(R"([{"role":7}])") == "message 1: role is not a string");
  CHECK(refusal(R"([{"role":"function","content":""}])") ==
        "message 1: role is not system, developer, user, assistant or tool");
  CHECK(refusal(R"([{"role":"user"}])") == "message 1: content is missing");
  CHECK(refusal(R"([{"role":"user","content":{}}])") == "message 1: content is not a string");
  CHECK(refusal(R"([{"role":"user","content":[{"type":"image_url"}]}])") ==
        "message 1: image_url is not an object");
  CHECK(refusal(R"([{"role":"user","content":[{"type":"audio"}]}])") ==
        "message 1: content has a part that is none of text, image_url, file and input_audio");
  CHECK(refusal(R"([{"role":"tool","content":"","tool_call_id":1}])") ==
        "message 1: tool_call_id is not a string");
}

TEST_CASE("an invalid tool call is refused with its place", "[llm][G8]") {
  const auto of = [](const std::string& calls) {
    return refusal(R"([{"role":"assistant","content":"","tool_calls":)" + calls + "}]");
  };
  CHECK(of("{}") == "message 1: tool_calls is not an array");
  CHECK(of("[1]") == "message 1: tool call 1: is not an object");
  CHECK(of(R"([{"function":{}},{}])") == "message 1: tool call 2: function is missing");
  CHECK(of(R"([{"function":{"name":1}}])") == "message 1: tool call 1: name is not a string");
  CHECK(of(R"([{"function":{"arguments":[]}}])") == "message 1: tool call 1: arguments is not a string");
  CHECK(of(R"([{"id":{},"function":{}}])") == "message 1: tool call 1: id is not a string");
}

TEST_CASE("a history is read to a depth of 64", "[llm][G8][G15]") {
  const auto nested = [](std::size_t depth) {
    return R"([{"role":"user","content":"","x":)" + std::string(depth - 2, '[') +
           std::string(depth - 2, ']') + "}]";
  };
  CHECK(read(nested(64)).size() == 1);
  CHECK(refusal(nested(65)) == "the text is nested deeper than 64 levels");
  CHECK(refusal(std::string(1'000'000, '[')) == "the text is nested deeper than 64 levels");
}
