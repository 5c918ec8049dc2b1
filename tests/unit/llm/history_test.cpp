// Histories with tool calls: what is valid, and what is made of the rest.
#include "llm/history_problem.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;

namespace {

using History = std::vector<ChatMessage>;

ChatMessage question(Interruption mark = Interruption::none) {
  return test::marked(ChatMessage::user("why?"), mark);
}
ChatMessage answer(std::string text = "because") {
  return ChatMessage::assistant(std::move(text));
}
ChatMessage part(Interruption mark, std::string text = "bec") {
  return test::marked(ChatMessage::assistant(std::move(text)), mark);
}
ChatMessage calling(std::vector<std::string> ids) {
  ChatMessage message = ChatMessage::assistant("");
  for (std::string& id : ids) message.items.emplace_back(ToolCall{std::move(id), "look", "{}"});
  return message;
}
ChatMessage result(std::string id, std::string text = "done") {
  ChatMessage message = ChatMessage::tool_result({}, std::move(text));
  message.tool_call_id = std::move(id);
  return message;
}

// Repaired, valid, and nothing left to repair.
History repaired(const History& history, std::size_t changes) {
  const RepairedHistory once = repair_history(history);
  CHECK(once.changes.size() == changes);
  CHECK(is_valid_history(once.messages));
  const RepairedHistory twice = repair_history(once.messages);
  CHECK(twice.messages == once.messages);
  CHECK(twice.changes.empty());
  return once.messages;
}

}  // namespace

TEST_CASE("every call has exactly one result before the next message", "[llm][G8]") {
  CHECK(is_valid_history({question(), calling({"1", "2"}), result("1"), result("2"), answer()}));
  CHECK(is_valid_history(
      {question(), calling({"1", "2"}), result("2"), result("1"), calling({"3"}), result("3")}));
  CHECK_FALSE(is_valid_history({question(), calling({"1"})}));
  CHECK_FALSE(is_valid_history({question(), calling({"1", "2"}), result("1"), answer()}));
  CHECK_FALSE(is_valid_history({question(), calling({"1"}), result("1"), result("1"), answer()}));
  CHECK_FALSE(is_valid_history({question(), calling({"1"}), result("2")}));
  CHECK_FALSE(is_valid_history({question(), result("1"), answer()}));
}

TEST_CASE("call ids are present and unique in the whole history", "[llm][G8]") {
  CHECK_FALSE(is_valid_history({question(), calling({""}), result("")}));
  CHECK_FALSE(is_valid_history({question(), calling({"1", "1"}), result("1"), result("1")}));
  CHECK_FALSE(is_valid_history(
      {question(), calling({"1"}), result("1"), answer(), question(), calling({"1"}), result("1")}));
}

TEST_CASE("an interrupted turn may have steps but no final answer", "[llm][G8][X22]") {
  const ChatMessage stopped = question(Interruption::stopped);
  CHECK(is_valid_history({stopped, calling({"1"}), result("1"), question(), answer()}));
  CHECK_FALSE(is_valid_history({stopped, calling({"1"}), result("1"), answer()}));
  CHECK_FALSE(is_valid_history({question(), calling({"1"}), result("1"), question()}));
}

TEST_CASE("a summary comes before the first question and needs no answer", "[llm][compaction][G8]") {
  using detail::llm::history_problem;
  ChatMessage summary = question(), marked = summary, of_model = answer();
  summary.summary = marked.summary = of_model.summary = true;
  marked.interruption = Interruption::stopped;
  const ChatMessage rules = ChatMessage::system("be brief");
  CHECK(is_valid_history({summary, question(), answer()}));
  CHECK(is_valid_history({rules, summary, summary, question(), calling({"1"}), result("1"), answer()}));
  CHECK_FALSE(is_valid_history({summary, answer()}));
  CHECK(
      history_problem({question(), answer(), summary}) ==
      "message 3 (user) is marked as a summary, which only a user message before the first question may be");
  CHECK(history_problem({marked}) ==
        "message 1 (user) is marked as a summary, and as interrupted or steered");
  CHECK(repaired({rules, summary, question(), answer()}, 0) == History{rules, summary, question(), answer()});
  CHECK(repaired({question(), answer(), summary}, 2) ==
        History{question(), answer(), question(Interruption::stopped)});
  CHECK(repaired({marked, question(), answer()}, 1) ==
        History{question(Interruption::stopped), question(), answer()});
  CHECK(repaired({question(), of_model}, 1) == History{question(), answer()});
}

TEST_CASE("only answers have calls and only results have call ids", "[llm][G8]") {
  ChatMessage asking = question();
  asking.items.emplace_back(ToolCall{"1", "look", "{}"});
  CHECK_FALSE(is_valid_history({asking}));
  ChatMessage naming = question();
  naming.tool_call_id = "1";
  CHECK_FALSE(is_valid_history({naming}));
  CHECK(repaired({asking, answer()}, 1) == History{question(), answer()});
  CHECK(repaired({naming, answer()}, 1) == History{question(), answer()});
}

TEST_CASE("only questions have images", "[llm][G8]") {
  ChatMessage picture = answer(), asking = question();
  picture.append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
  asking.append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
  CHECK(is_valid_history({asking, answer()}));
  CHECK_FALSE(is_valid_history({question(), picture}));
  CHECK(repaired({question(), picture}, 1) == History{question(), answer()});
  CHECK(repaired({asking, answer()}, 0) == History{asking, answer()});
}

TEST_CASE("a part of an answer ends an interrupted turn", "[llm][partial][G8]") {
  const ChatMessage stopped = question(Interruption::stopped);
  for (const Interruption mark : {Interruption::aborted, Interruption::stopped, Interruption::failed,
                                  Interruption::interrupted, Interruption::steered}) {
    const ChatMessage cut = part(mark);
    CHECK(cut.is_partial());
    for (const History& valid : std::vector<History>{{stopped, cut},
                                                     {stopped, cut, question(), answer()},
                                                     {stopped, calling({"1"}), result("1"), cut}}) {
      CHECK(is_valid_history(valid));
      if (valid.back().is_partial()) CHECK(repaired(valid, 0) == valid);
    }
    for (const History& wrong : std::vector<History>{{cut},
                                                     {question(), cut},
                                                     {question(), cut, question()},
                                                     {stopped, cut, cut},
                                                     {stopped, cut, answer()},
                                                     {question(), answer(), cut},
                                                     {stopped, calling({"1"}), cut},
                                                     {stopped, cut, calling({"1"}), result("1")}})
      CHECK_FALSE(is_valid_history(wrong));
    CHECK(repaired({question(), cut}, 1) == History{stopped, cut});
    CHECK(repaired({stopped, part(mark, "a"), part(mark, "b")}, 1) == History{stopped, part(mark, "a\n\nb")});
    CHECK(repaired({stopped, part(mark, "a"), answer("b")}, 2) == History{question(), answer("a\n\nb")});
  }
}

TEST_CASE("a part of an answer that was steered comes before a steered message",
          "[llm][partial][steer][G8]") {
  ChatMessage steered = question();
  steered.steered = true;
  const ChatMessage cut = part(Interruption::steered), stopped = question(Interruption::stopped);
  const History whole{question(), cut, steered, answer()};
  CHECK(is_valid_history(whole));
  CHECK(repaired(whole, 0) == whole);
  CHECK(is_valid_history({stopped, cut, steered, part(Interruption::stopped)}));
  CHECK(is_valid_history({question(), cut, steered}));
  const ChatMessage other = part(Interruption::failed);
  CHECK_FALSE(is_valid_history({question(), other, steered, answer()}));
  CHECK(repaired({question(), other, steered, answer()}, 1) == whole);
}

TEST_CASE("a truncated answer is a final one", "[llm][partial][G8]") {
  const ChatMessage cut = part(Interruption::truncated);
  const History whole{question(), cut, question(), cut};
  CHECK_FALSE(cut.is_partial());
  CHECK(is_valid_history(whole));
  CHECK(repaired(whole, 0) == whole);
  CHECK_FALSE(is_valid_history({question(Interruption::stopped), cut}));
}

TEST_CASE("the marks of answers are not those of questions, and go without calls and reasoning",
          "[llm][partial][G8]") {
  const ChatMessage stopped = question(Interruption::stopped);
  for (const Interruption mark : {Interruption::steered, Interruption::truncated}) {
    CHECK_FALSE(is_valid_history({question(mark)}));
    CHECK(repaired({question(mark)}, 2) == History{stopped});
    CHECK(repaired({question(mark), answer()}, 1) == History{question(), answer()});
  }
  ChatMessage acting = calling({"1"}), thinking = part(Interruption::failed);
  acting.interruption = Interruption::failed;
  test::put_reasoning(thinking, {{"anthropic_messages", "{}", ""}});
  CHECK_FALSE(is_valid_history({question(), acting, result("1"), answer()}));
  CHECK(repaired({question(), acting, result("1"), answer()}, 1) ==
        History{question(), calling({"1"}), result("1"), answer()});
  CHECK_FALSE(is_valid_history({stopped, thinking}));
  CHECK(repaired({stopped, thinking}, 1) == History{stopped, part(Interruption::failed)});
}

TEST_CASE("the first invalid message is named with its mistake", "[llm][G8]") {
  using detail::llm::history_problem;
  const ChatMessage rules = ChatMessage::system("be brief"), stopped = question(Interruption::stopped);
  ChatMessage nameless = calling({"1"}), asking = question(), naming = question(), mark = answer(),
              picture = answer();
  nameless.tool_calls()[0].name.clear();
  asking.append(std::vector<ToolCall>{{"1", "look", "{}"}});
  naming.tool_call_id = "1";
  mark.interruption = Interruption::failed;
  picture.append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
  CHECK(history_problem({}).empty());
  CHECK(history_problem({rules, stopped, question(), calling({"1"}), result("1"), answer()}).empty());
  const std::vector<std::pair<History, std::string>> wrong = {
      {{question(), rules}, "message 2 (system) is a system message that is not the first"},
      {{rules, answer()}, "message 2 (assistant) answers no question"},
      {{question(), answer(), answer()}, "message 3 (assistant) follows another answer"},
      {{stopped, answer()}, "message 2 (assistant) answers a question that is marked as interrupted"},
      {{question(), question()},
       "message 2 (user) comes before the answer to the question before it, which is not marked as "
       "interrupted"},
      {{question(), calling({"1", "2"}), result("1"), question()},
       "message 4 (user) comes before the result of tool call '2'"},
      {{question(), calling({"1"}), answer()},
       "message 3 (assistant) comes before the result of tool call '1'"},
      {{question(), calling({"1"}), result("1"), calling({"2", "3"}), result("2")},
       "message 4 (assistant) has no result of its tool call '3'"},
      {{question(), result("1")}, "message 2 (tool) is the result of no open tool call: '1'"},
      {{question(), calling({""})}, "message 2 (assistant) has a tool call without an id"},
      {{question(), nameless}, "message 2 (assistant) has a tool call without a name"},
      {{question(), calling({"1", "1"})}, "message 2 (assistant) has a tool call whose id '1' is taken"},
      {{asking}, "message 1 (user) has tool calls, which only an answer may have"},
      {{naming}, "message 1 (user) names a tool call, which only a result may do"},
      {{question(), mark},
       "message 2 (assistant) is a part of an answer that ends its turn, but the question is not marked as "
       "interrupted"},
      {{question(), picture},
       "message 2 (assistant) has images, documents or sounds, which only a question and a result may have"},
  };
  for (const auto& [history, problem] : wrong) CHECK(history_problem(history) == problem);
}

TEST_CASE("a valid history with its last answer stays as it is", "[llm][G8]") {
  const History history{ChatMessage::system("be brief"),
                        question(Interruption::aborted),
                        question(),
                        calling({"1"}),
                        result("1"),
                        answer()};
  CHECK(repaired(history, 0) == history);
  CHECK(repaired({}, 0).empty());
}

TEST_CASE("repair marks an interrupted turn and cancels its calls", "[llm][G8][X22]") {
  const ChatMessage stopped = question(Interruption::stopped);
  CHECK(repaired({question()}, 1) == History{stopped});
  CHECK(repaired({question(), question(), answer()}, 1) == History{stopped, question(), answer()});
  CHECK(repaired({question(), calling({"1", "2"}), result("2")}, 2) ==
        History{stopped, calling({"1", "2"}), result("2"), result("1", "cancelled")});
  CHECK(repaired({question(), calling({"1"}), answer()}, 1) ==
        History{question(), calling({"1"}), result("1", "cancelled"), answer()});
}

TEST_CASE("repair drops invalid messages and keeps the rest", "[llm][G8]") {
  CHECK(repaired({answer("hello"), question(), answer()}, 1) == History{question(), answer()});
  CHECK(repaired({question(), result("1"), answer()}, 1) == History{question(), answer()});
  CHECK(repaired({question(), answer(), ChatMessage::system("late")}, 1) == History{question(), answer()});
  CHECK(repaired({question(), answer("a"), answer("b")}, 1) == History{question(), answer("a\n\nb")});
  CHECK(repaired({question(Interruption::stopped), answer()}, 1) == History{question(), answer()});
}

TEST_CASE("repair replaces a missing or duplicate call id also in its result", "[llm][G8]") {
  CHECK(repaired(
            {question(), calling({"1"}), result("1"), calling({"1", ""}), result("1"), result(""), answer()},
            2) == History{question(), calling({"1"}), result("1"), calling({"call_r1", "call_r2"}),
                          result("call_r1"), result("call_r2"), answer()});
}

TEST_CASE("repair keeps pinned marks and the windows of calls", "[llm][G8]") {
  ChatMessage asking = question(), acting = calling({""}), done = result(""), more = answer("b");
  acting.tool_calls()[0].window_id = "notes";
  for (ChatMessage* message : {&asking, &acting, &done, &more}) message->pinned = true;
  const History history = repaired({asking, acting, done, answer("a"), more}, 2);
  REQUIRE(history.size() == 4);
  for (const ChatMessage& message : history) CHECK(message.pinned);
  CHECK(history[1].tool_calls()[0].window_id == "notes");
}

TEST_CASE("repair keeps the reasoning that led to calls", "[llm][G8][reasoning]") {
  ChatMessage words = answer(), calls = calling({"a"});
  test::put_reasoning(words, {{"openai_chat", "{}"}});
  test::put_reasoning(calls, {{"openai_chat", R"({"reasoning_content":"Hm"})", "api.example.com"}});
  const History history = repaired({question(), words, calls, result("a"), answer()}, 1);
  REQUIRE(history.size() == 4);
  CHECK(history[1].tool_calls() == calls.tool_calls());
  CHECK(history[1].reasoning() == calls.reasoning());
  CHECK(repaired({question(), words, answer()}, 1)[1].reasoning() == words.reasoning());
}

TEST_CASE("any history can be repaired", "[llm][G8]") {
  prop("the repaired one is valid, keeps all questions, and repairing it again changes nothing", [] {
    History history;
    for (int left = *rc::gen::inRange(0, 14); left > 0; --left) {
      ChatMessage message;
      message.role = *rc::gen::element(Role::system, Role::user, Role::assistant, Role::assistant, Role::tool,
                                       Role::tool);
      message.set_content(*rc::gen::element<std::string>("", "a", "b"));
      message.interruption = *rc::gen::element(Interruption::none, Interruption::none, Interruption::aborted);
      for (int calls = *rc::gen::inRange(0, 3); calls > 0; --calls)
        message.items.emplace_back(ToolCall{*rc::gen::element<std::string>("", "1", "2", "call_r1"),
                                            *rc::gen::element<std::string>("", "look", "look"), "{"});
      message.tool_call_id = *rc::gen::element<std::string>("", "1", "2", "call_r1");
      history.push_back(message);
    }
    const RepairedHistory once = repair_history(history);
    RC_ASSERT(is_valid_history(once.messages));
    const auto is_question = [](const ChatMessage& message) { return message.role == Role::user; };
    RC_ASSERT(std::ranges::count_if(once.messages, is_question) ==
              std::ranges::count_if(history, is_question));
    RC_ASSERT(once.changes.empty() == (once.messages == history));
    const RepairedHistory twice = repair_history(once.messages);
    RC_ASSERT(twice.messages == once.messages);
    RC_ASSERT(twice.changes.empty());
  });
}
