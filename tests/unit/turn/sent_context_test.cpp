// What a model is sent follows the changes of the history.
#include "support/catch.hpp"
#include "turn/turn_data.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

// Turns whose questions are at these positions.
Conversation turns_at(std::vector<std::size_t> questions, std::size_t messages) {
  std::vector<ChatMessage> history;
  for (std::size_t i = 0; i < messages; ++i)
    history.push_back(std::ranges::find(questions, i) != questions.end() ? ChatMessage::user("question")
                                                                         : ChatMessage::assistant("answer"));
  Conversation conversation;
  conversation.restore(std::move(history));
  return conversation;
}

// The text of the summary that is sent; "none" without one.
std::string summary_of(const SentContext& sent) {
  return sent.summary() ? sent.summary()->content() : "none";
}

}  // namespace

TEST_CASE("a shorter history keeps what was left out of it", "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4};
  sent.messages = {false, true, true, true};
  sent.windows = {{1, {4, false}}, {2, {1, true}}};
  sent.request_ends = {1, 2, 3, 4};
  sent.keep_first(2, turns_at({1}, 2));
  CHECK(sent.tokens == std::vector<std::size_t>{1, 2});
  CHECK(sent.messages == std::vector<bool>{false, true});
  CHECK((sent.windows[1].opened_at == 2 && !sent.windows[1].shown));
  CHECK(sent.windows[2].opened_at == 1);
  CHECK(sent.request_ends == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a shorter history whose last question was left out is sent in full",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4, 5};
  sent.messages = {true, false, false, true, true};
  sent.request_ends = {3, 5};
  sent.keep_first(3, turns_at({1}, 3));
  CHECK(sent.tokens == std::vector<std::size_t>{1, 2, 3});
  CHECK(sent.messages == std::vector<bool>{true, true, true});
  CHECK(sent.request_ends.empty());
}

TEST_CASE("a history that is taken back has the newest summary that covers no lost message",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.messages = {false, false, true, true, true, true, true};
  sent.summarise(ChatMessage::user("first"), 5);  // of 0 and 1
  sent.messages = {false, false, false, true, false, true, true};
  sent.request_ends = {3, 6};
  sent.summarise(ChatMessage::user("second"), 7);  // of 2 and 4, too
  CHECK(sent.request_ends.empty());                // no earlier request begins as the next one
  CHECK(summary_of(sent) == "second");
  CHECK(sent.summary_tokens() == 7);
  SECTION("it covers no lost message") {
    sent.keep_first(6, turns_at({0, 3, 5}, 6));
    CHECK(summary_of(sent) == "second");
    CHECK(sent.messages == std::vector<bool>{false, false, false, true, false, true});
  }
  SECTION("the second covers a lost message") {
    sent.keep_first(4, turns_at({0, 3}, 4));
    CHECK(summary_of(sent) == "first");
    CHECK(sent.messages == std::vector<bool>{false, false, true, true});
  }
  SECTION("the second covers the last question") {
    sent.keep_first(6, turns_at({0, 4}, 6));
    CHECK(summary_of(sent) == "first");
    CHECK(sent.messages == std::vector<bool>{false, false, true, true, true, true});
  }
  SECTION("both cover lost messages") {
    sent.keep_first(1, turns_at({0}, 1));
    CHECK(summary_of(sent) == "none");
    CHECK(sent.summary_tokens() == 0);
    CHECK(sent.messages == std::vector<bool>{true});
  }
  SECTION("the only summary that covers removed messages stays, although it covers the last question") {
    sent.remove(0, 1);
    sent.keep_first(1, turns_at({0}, 1));
    CHECK(summary_of(sent) == "first");
    CHECK(sent.messages == std::vector<bool>{false});
  }
}

TEST_CASE("the part of a history of which nothing is sent is known as it changes", "[turn][context]") {
  SentContext sent;
  CHECK(sent.unsent == 0);
  sent.decide({false, false, true, false, true});
  CHECK(sent.unsent == 2);
  sent.decide({false, false, false, false, true});
  CHECK(sent.unsent == 4);
  sent.request_ends = {5};
  SECTION("a shorter history") {
    sent.keep_first(2, turns_at({}, 2));
    CHECK(sent.unsent == 2);
  }
  SECTION("a history that is sent in full again") {
    sent.keep_first(5, turns_at({0, 2}, 5));  // its last question was left out
    CHECK(sent.messages == std::vector<bool>(5, true));
    CHECK(sent.unsent == 0);
  }
  SECTION("messages that are removed") {
    sent.remove(1, 3);
    CHECK(sent.unsent == 2);
    sent.remove(0, 9);
    CHECK(sent.unsent == 0);
  }
  SECTION("nothing is sent, and then a message is new") {
    sent.decide({false, false, false, false, false});
    CHECK(sent.unsent == 5);
    sent.decide({false, false, false, false, false, true});
    CHECK(sent.unsent == 5);
  }
}

TEST_CASE("the positions of what is sent move when older messages are removed",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.tokens = {1, 2, 3, 4};
  sent.messages = {true, false, false, true};
  sent.summarise(ChatMessage::user("summary"), 7);
  sent.windows = {{1, {0, true}}, {2, {2, true}}, {3, {4, true}}};
  sent.request_ends = {1, 3, 4};
  sent.remove(1, 3);
  CHECK(sent.tokens == std::vector<std::size_t>{1, 4});
  CHECK(sent.messages == std::vector<bool>{true, true});
  CHECK(sent.summaries.back().end == 1);
  CHECK(sent.windows[1].opened_at == 0);
  CHECK(sent.windows[2].opened_at == 1);
  CHECK(sent.windows[3].opened_at == 2);
  CHECK(sent.request_ends == std::vector<std::size_t>{1, 1, 2});
  sent.remove(1, 9);  // beyond what was counted
  CHECK(sent.tokens.size() == 1);
}

TEST_CASE("cuts stay with their messages", "[turn][context][compaction]") {
  SentContext sent;
  sent.messages.assign(8, true);
  sent.tokens.assign(8, 1);
  sent.cuts = {{1, {1, 2}}, {3, {3, 4}}, {6, {6, 7}}};
  sent.cuts_told = 2;
  SECTION("when messages are removed") {
    sent.remove(2, 4);
    REQUIRE(sent.cuts.size() == 2);
    CHECK((sent.cuts[0].message == 1 && sent.cuts[0].cut == agentcore::detail::context::Cut{1, 2}));
    CHECK((sent.cuts[1].message == 4 && sent.cuts[1].cut == agentcore::detail::context::Cut{6, 7}));
    CHECK(sent.cuts_told == 1);
  }
  SECTION("when the history becomes shorter") {
    sent.keep_first(2, turns_at({0}, 2));
    REQUIRE(sent.cuts.size() == 1);
    CHECK(sent.cuts[0].message == 1);
    CHECK(sent.cuts_told == 1);
  }
}

TEST_CASE("what is left out for now is kept for good and given up by a decision",
          "[turn][context][compaction]") {
  SentContext sent;
  sent.decide({true, true, true, true});
  sent.request_ends = {2};
  sent.decide_for_now({false, false, true, true});
  CHECK(sent.now() == std::vector<bool>{false, false, true, true});
  CHECK(sent.messages == std::vector<bool>{true, true, true, true});
  CHECK(sent.unsent == 0);
  CHECK_FALSE(sent.request_ends.empty());
  sent.decide({true, true, true, true, true});
  CHECK(sent.now().size() == 5);
  CHECK(sent.now() == sent.messages);
  CHECK(sent.request_ends.empty());  // no earlier request begins as the next one
}
