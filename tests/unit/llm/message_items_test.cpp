// The items of a message: their order, what reads them, and how an answer becomes them.
#include "core/message_items.hpp"

#include "support/catch.hpp"
#include "support/messages.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace agentcore;
using detail::core::items_of;

namespace {

using Items = std::vector<MessageItem>;
using Kind = AnswerPart::Kind;

const ReasoningBlock first{"anthropic_messages", R"({"n":1})", "a.test"};
const ReasoningBlock second{"anthropic_messages", R"({"n":2})", "a.test"};
const ToolCall look{"1", "look", "{}"}, listen{"2", "listen", "{}"};

AnswerPart text_part(std::size_t offset, std::size_t bytes) {
  return {.kind = Kind::text, .offset = offset, .bytes = bytes};
}
const AnswerPart reasoning_part{.kind = Kind::reasoning}, call_part{.kind = Kind::tool_call};

// Reasoning, text and calls, each in two places.
Items interleaved() {
  return {first,  TextItem{"One.", false, "msg_1", "commentary"},   look,
          second, TextItem{"Two.", false, "msg_2", "final_answer"}, listen};
}

}  // namespace

TEST_CASE("the items of one kind are read in their order", "[llm][items][G8]") {
  ChatMessage message = ChatMessage::assistant(interleaved());
  CHECK(message.content() == "One.\n\nTwo.");
  CHECK(message.tool_calls() == std::vector<ToolCall>{look, listen});
  CHECK(message.reasoning() == std::vector<ReasoningBlock>{first, second});
  CHECK(message.parts().empty());
  CHECK(message.tool_calls().size() == 2);
  CHECK(message.tool_calls()[1] == listen);
  CHECK(message.tool_calls().front() == look);
  CHECK(message.tool_calls().back() == listen);
  CHECK(std::as_const(message).tool_calls() == message.tool_calls());
  CHECK_FALSE(message.tool_calls() == std::vector<ToolCall>{look});
  CHECK_FALSE(message.tool_calls() == std::vector<ToolCall>{listen, look});
  message.tool_calls()[0].name = "see";
  CHECK(std::get<ToolCall>(message.items[2]).name == "see");
  CHECK(ChatMessage::assistant(interleaved()).tool_calls() == std::vector<ToolCall>{look, listen});
  static_assert(std::forward_iterator<ItemsOf<const ToolCall>::Iterator>);
  CHECK(ItemsOf<ToolCall>().empty());
  CHECK(std::ranges::count(message.reasoning(), second) == 1);
}

TEST_CASE("a content that is set stands at the place of the first text", "[llm][items]") {
  ChatMessage message = ChatMessage::assistant(interleaved());
  message.set_content("New.");
  CHECK(message.items == Items{first, TextItem{"New."}, look, second, listen});
  ChatMessage silent = ChatMessage::assistant(Items{first, look});
  silent.set_content("New.");
  CHECK(silent.items == Items{first, TextItem{"New."}, look});
  ChatMessage nothing;
  nothing.set_content("New.");
  CHECK(nothing.content() == "New.");
}

TEST_CASE("factories make the items of a message", "[llm][items]") {
  const ContentPart image{.url = "https://a.test/b.png"};
  CHECK(ChatMessage::user("?", {image}).items == Items{TextItem{"?"}, image});
  CHECK(ChatMessage::assistant("", {look}).items == Items{look});
  CHECK(ChatMessage::assistant("!", {look, listen}).items == Items{TextItem{"!"}, look, listen});
  CHECK(ChatMessage::tool_result("1", "").items == Items{TextItem{""}});
  CHECK(ChatMessage::tool_result("1", "").tool_call_id == "1");
  CHECK(ChatMessage::system("s").role == Role::system);
}

TEST_CASE("texts are joined with an empty line, and empty ones are none", "[llm][items]") {
  CHECK(ChatMessage::assistant(Items{TextItem{""}, TextItem{"a"}, look, TextItem{""}, TextItem{"b"}})
            .content() == "a\n\nb");
}

TEST_CASE("an answer becomes items in the order in which the model wrote them", "[llm][items][G8]") {
  const std::vector<AnswerPart> order{reasoning_part, text_part(0, 4), call_part,
                                      reasoning_part, text_part(6, 4), call_part};
  const Items items = items_of("One.\n\nTwo.", {first, second}, {look, listen}, order);
  CHECK(items == Items{first, TextItem{"One."}, look, second, TextItem{"Two."}, listen});
  AnswerPart marked = text_part(0, 4);
  marked.refusal = true;
  marked.id = "msg_1";
  marked.phase = "commentary";
  CHECK(items_of("One.", {}, {look}, {call_part, marked}) ==
        Items{look, TextItem{"One.", true, "msg_1", "commentary"}});
  CHECK(items_of("One.", {first}, {look}, {}) == Items{first, TextItem{"One."}, look});
  CHECK(items_of("", {first}, {look}, {}) == Items{first, look});
}

TEST_CASE("an order that does not fit the answer counts as none", "[llm][items]") {
  const Items usual{first, TextItem{"One.\n\nTwo."}, look};
  const auto made = [](std::vector<AnswerPart> order) {
    return items_of("One.\n\nTwo.", {first}, {look}, order);
  };
  const AnswerPart all = text_part(0, 10);
  CHECK(made({call_part, reasoning_part, all}) != usual);                  // this one fits
  CHECK(made({call_part, all}) == usual);                                  // a block too few
  CHECK(made({reasoning_part, call_part, reasoning_part, all}) == usual);  // one too many
  CHECK(made({reasoning_part, all}) == usual);
  CHECK(made({call_part, call_part, reasoning_part, all}) == usual);
  CHECK(made({call_part, reasoning_part}) == usual);                                    // no text
  CHECK(made({call_part, reasoning_part, text_part(0, 4)}) == usual);                   // a part of it
  CHECK(made({call_part, reasoning_part, text_part(0, 11)}) == usual);                  // more than it
  CHECK(made({call_part, reasoning_part, text_part(0, 4), text_part(7, 3)}) == usual);  // not all of it
  CHECK(made({call_part, reasoning_part, text_part(6, 4), text_part(0, 4)}) == usual);  // backwards
  CHECK(made({call_part, reasoning_part, text_part(2, 8)}) == usual);  // not from its beginning
  CHECK(made({call_part, reasoning_part, text_part(~std::size_t{0}, 10)}) == usual);
}

TEST_CASE("texts of an answer keep their places whatever separates them", "[llm][items][G8]") {
  AnswerPart refusal = text_part(6, 3);
  refusal.refusal = true;
  refusal.id = "msg_1";
  const auto made = [&](std::string text, std::size_t offset) {
    AnswerPart last = refusal;
    last.offset = offset;
    return items_of(std::move(text), {}, {look}, {text_part(0, 5), call_part, last});
  };
  const Items items{TextItem{"Well."}, look, TextItem{"No.", true, "msg_1"}};
  CHECK(made("Well.No.", 5) == items);
  CHECK(made("Well. No.", 6) == items);
  CHECK(made("Well.\n\nNo.", 7) == items);
  CHECK(made("Well.\n\nNo.\n", 7) == items);
  CHECK(made("Well. - No.", 8) == Items{TextItem{"Well. - No."}, look});  // something would be lost
}

TEST_CASE("a content is cut at a character, over several texts", "[llm][items]") {
  const auto cut = [](std::size_t bytes) {
    ChatMessage message = ChatMessage::assistant(Items{TextItem{"ab\xC3\xA9"}, TextItem{"cd"}});
    const bool changed = detail::core::truncate_content(message, bytes);
    return std::pair(changed, message.items);
  };
  CHECK(cut(8) == std::pair(false, Items{TextItem{"ab\xC3\xA9"}, TextItem{"cd"}}));
  CHECK(cut(7) == std::pair(true, Items{TextItem{"ab\xC3\xA9"}, TextItem{"c"}}));
  CHECK(cut(6) == std::pair(true, Items{TextItem{"ab\xC3\xA9"}}));
  CHECK(cut(5) == std::pair(true, Items{TextItem{"ab\xC3\xA9"}}));
  CHECK(cut(3) == std::pair(true, Items{TextItem{"ab"}}));
  CHECK(cut(0) == std::pair(true, Items{}));
}

TEST_CASE("the order of items, and what their texts are, is written and read", "[llm][items][G8]") {
  const auto through = [](const ChatMessage& message) {
    const std::string text = history_to_json({message});
    const auto read = history_from_json(text);
    INFO(text);
    REQUIRE(read);
    return read->at(0);
  };
  for (const Items& items :
       {interleaved(), Items{first, look, second, listen}, Items{look, first}, Items{TextItem{"a"}, first},
        Items{TextItem{"a"}, TextItem{"b"}}, Items{look, TextItem{"a"}},
        Items{first, TextItem{"a", true}, look}, Items{TextItem{"a", false, "msg_1"}},
        Items{TextItem{"a", false, "", "commentary"}}, Items{TextItem{""}, TextItem{"a"}}}) {
    const ChatMessage message = ChatMessage::assistant(items);
    CHECK(through(message) == message);
  }
  const ContentPart image{.url = "https://a.test/b.png"};
  const ChatMessage question{.items = {image, TextItem{"What is this?"}, image}};
  CHECK(through(question) == question);
  CHECK(history_to_json({ChatMessage::assistant(Items{look, TextItem{"a"}})}) ==
        R"([{"content":[{"text":"a","type":"text"}],"order":["tool_call","text"],"role":"assistant",)"
        R"("tool_calls":[{"function":{"arguments":"{}","name":"look"},"id":"1","type":"function"}]}])");
}

TEST_CASE("an order that does not name each item once is refused", "[llm][items]") {
  const auto refusal = [](const std::string& order) {
    const auto read = history_from_json(
        R"([{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"1","function":)"
        R"({"name":"f","arguments":"{}"}}],"order":)" +
        order + "}]");
    return read ? std::string() : read.error().message;
  };
  CHECK(refusal(R"(["tool_call","text"])").empty());
  for (const char* const order : {R"([])", R"(["text"])", R"(["text","text","tool_call"])", R"(["image"])",
                                  R"(["text","tool_call","reasoning"])", R"([1,2])", R"("text")", "7", "{}"})
    CHECK(refusal(order) == "message 1: order does not name each item of the message once");
}
