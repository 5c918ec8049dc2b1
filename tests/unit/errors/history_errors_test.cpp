// Errors of histories: AgentSpec::history, history_from_json(), and the changes of repair_history().
#include "support/drive/tree_fixture.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/history.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Messages = std::vector<ChatMessage>;

ChatMessage question(Interruption mark = Interruption::none) {
  ChatMessage message = ChatMessage::user("question");
  message.interruption = mark;
  return message;
}
ChatMessage answer() {
  return ChatMessage::assistant("answer");
}
ChatMessage calling(std::string id, std::string name = "look") {
  ChatMessage message = ChatMessage::assistant("");
  message.items.emplace_back(ToolCall{.id = std::move(id), .name = std::move(name)});
  return message;
}
ChatMessage result_of(std::string id) {
  ChatMessage message = ChatMessage::tool_result({}, "result");
  message.tool_call_id = std::move(id);
  return message;
}

// A message of that role with fields that it must not have.
ChatMessage stray(ChatMessage message, void (*change)(ChatMessage&)) {
  change(message);
  return message;
}

void add_calls_to(ChatMessage& message) {
  message.items.emplace_back(ToolCall{.id = "1", .name = "look"});
}
void add_call_id_to(ChatMessage& message) {
  message.tool_call_id = "1";
}
void add_mark_to(ChatMessage& message) {
  message.interruption = Interruption::aborted;
}
void add_reasoning_to(ChatMessage& message) {
  message.append(std::vector<ReasoningBlock>{{.dialect = "openai_chat", .data = "{}"}});
}
void add_steer_to(ChatMessage& message) {
  message.steered = true;
}
void add_image_to(ChatMessage& message) {
  message.append(std::vector<ContentPart>{{.url = "https://a.test/b.png"}});
}

// `problem`: what AgentSpec::history is refused with. `change`: the first change of repair_history().
struct HistoryTable {
  TreeFixture t;
  ErrorRows rows;

  void add(Messages history, const std::string& problem, std::string change) {
    const Result<Agent> made = t.tree->create({.history = history});
    REQUIRE_FALSE(made);
    rows.push_back({problem, made.error(), Errc::invalid_history,
                    "AgentSpec::history: " + problem + "; repair_history() makes a valid history of it"});
    const RepairedHistory repaired = repair_history(history);
    rows.push_back({problem,
                    {Errc::none, repaired.changes.empty() ? "no change" : repaired.changes.front()},
                    Errc::none,
                    std::move(change)});
  }

  void add_stray_fields() {
    add({stray(question(), add_calls_to)}, "message 1 (user) has tool calls, which only an answer may have",
        "message 1 has tool calls, which only an answer may have: dropped");
    add({stray(question(), add_call_id_to)}, "message 1 (user) names a tool call, which only a result may do",
        "message 1 names a tool call, which only a result may do: dropped");
    add({question(), stray(calling("1"), add_mark_to), result_of("1")},
        "message 2 (assistant) is marked as interrupted, which only a question and an answer without tool "
        "calls "
        "may be",
        "message 2 is marked as interrupted, which only a question and an answer without tool calls may be: "
        "unmarked");
    add({question(Interruption::steered), answer()},
        "message 1 (user) is a question with a mark that only an answer may have",
        "message 1 is a question with a mark that only an answer may have: unmarked");
    add({question(Interruption::aborted), stray(stray(answer(), add_mark_to), add_reasoning_to)},
        "message 2 (assistant) has reasoning, which a part of an answer may not have, because it belongs to "
        "the "
        "whole",
        "message 2 has reasoning, which a part of an answer may not have, because it belongs to the whole: "
        "dropped");
    add({question(), stray(answer(), add_image_to)},
        "message 2 (assistant) has images, documents or sounds, which only a question and a result may have",
        "message 2 has images, documents or sounds, which only a question and a result may have: dropped");
    add({question(), stray(answer(), add_steer_to)},
        "message 2 (assistant) is marked as steered, which only a user message may be",
        "message 2 is marked as steered, which only a user message may be: unmarked");
    add({stray(question(), add_steer_to)},
        "message 1 (user) is marked as steered, but no turn is open before it",
        "message 1 is marked as steered, but no turn is open before it: unmarked");
    add({question(), stray(question(Interruption::stopped), add_steer_to)},
        "message 2 (user) is marked as interrupted and as steered; mark the question instead",
        "message 2 is marked as interrupted and as steered; mark the question instead: unmarked");
    add({question(), answer(), ChatMessage::system("s")},
        "message 3 (system) is a system message that is not the first",
        "message 3 is a system message that is not the first: dropped");
  }
  void add_orders() {
    add({question(), question()},
        "message 2 (user) comes before the answer to the question before it, which is not marked as "
        "interrupted",
        "message 2 comes before the answer to a question: that counts as stopped");
    add({answer()}, "message 1 (assistant) answers no question", "message 1 answers no question: dropped");
    add({question(), answer(), answer()}, "message 3 (assistant) follows another answer",
        "message 3 follows another answer: joined with it");
    add({question(Interruption::aborted), answer()},
        "message 2 (assistant) answers a question that is marked as interrupted",
        "message 2 answers a question that was marked as interrupted: unmarked");
  }
  void add_parts() {
    add({question(), stray(answer(), add_mark_to)},
        "message 2 (assistant) is a part of an answer that ends its turn, but the question is not marked as "
        "interrupted",
        "message 2 comes before the answer to a question: that counts as stopped");
    add({question(Interruption::aborted), stray(answer(), add_mark_to), answer()},
        "message 3 (assistant) follows a part of an answer that was interrupted",
        "message 3 follows another answer: joined with it");
  }
  void add_calls() {
    add({question(), calling("")}, "message 2 (assistant) has a tool call without an id",
        "message 2 has a call whose id is missing or taken: renamed");
    add({question(), calling("1", "")}, "message 2 (assistant) has a tool call without a name",
        "message 2 has a call without a name: dropped");
    add({question(), calling("1"), result_of("1"), calling("1")},
        "message 4 (assistant) has a tool call whose id '1' is taken",
        "message 4 has a call whose id is missing or taken: renamed");
    add({question(), calling("1")}, "message 2 (assistant) has no result of its tool call '1'",
        "message 2 comes before the result of call 1: that counts as cancelled");
    add({question(), calling("1"), answer()},
        "message 3 (assistant) comes before the result of tool call '1'",
        "message 3 comes before the result of call 1: that counts as cancelled");
    add({question(), result_of("1")}, "message 2 (tool) is the result of no open tool call: '1'",
        "message 2 is the result of no call: dropped");
  }
};

void add_json(ErrorRows& rows, const std::string& json, std::string text) {
  rows.push_back(
      {json.substr(0, 100), history_from_json(json).error(), Errc::invalid_history, std::move(text)});
}

void add_json_texts(ErrorRows& rows) {
  add_json(rows, "", "the text is not valid JSON at byte 1");
  add_json(rows, "[1e999]", "the text is not valid JSON: a number is out of range");
  add_json(rows, std::string(100, '['), "the text is nested deeper than 64 levels");
  add_json(rows, "{}", "the text is not a JSON array of messages");
  add_json(rows, "[1]", "message 1: is not an object");
  add_json(rows, R"([{"content":"x"}])", "message 1: role is missing");
  add_json(rows, R"([{"role":"cat","content":"x"}])",
           "message 1: role is not system, developer, user, assistant or tool");
  add_json(rows, R"([{"role":"user"}])", "message 1: content is missing");
  add_json(rows, R"([{"role":"user","content":1}])", "message 1: content is not a string");
  add_json(rows, R"([{"role":"user","content":[{"type":"audio"}]}])",
           "message 1: content has a part that is none of text, image_url, file and input_audio");
  add_json(rows, R"([{"role":"user","content":[{"type":"image_url"}]}])",
           "message 1: image_url is not an object");
  add_json(
      rows, R"([{"role":"user","content":"","interruption":"x"}])",
      "message 1: interruption is not none, aborted, stopped, failed, interrupted, steered or truncated");
  add_json(rows, R"([{"role":"user","content":"","pinned":1}])",
           "message 1: pinned is neither true nor false");
}

void add_json_lists(ErrorRows& rows) {
  add_json(rows, R"([{"role":"assistant","tool_calls":1}])", "message 1: tool_calls is not an array");
  add_json(rows, R"([{"role":"assistant","tool_calls":[1]}])", "message 1: tool call 1: is not an object");
  add_json(rows, R"([{"role":"assistant","tool_calls":[{}]}])",
           "message 1: tool call 1: function is missing");
  add_json(rows, R"([{"role":"assistant","reasoning_blocks":1}])",
           "message 1: reasoning_blocks is not an array");
  add_json(rows, R"([{"role":"assistant","reasoning_blocks":[1]}])",
           "message 1: reasoning block 1: is not an object");
}

}  // namespace

ErrorRows test::history_errors() {
  HistoryTable table;
  table.add_stray_fields();
  table.add_orders();
  table.add_parts();
  table.add_calls();
  add_json_texts(table.rows);
  add_json_lists(table.rows);
  return table.rows;
}

TEST_CASE("every error of a history and every change of a repair has its text", "[errors][history]") {
  check(history_errors());
}
