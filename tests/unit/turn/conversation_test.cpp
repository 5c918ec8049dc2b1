// What a store is told of a conversation's changes: with that alone it has the same messages.
#include "turn/conversation.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

// Takes the changes as a store does.
struct Stored {
  void take(Conversation& conversation) {
    const ConversationChanges changes = std::exchange(conversation.changes(), {});
    const std::size_t removed = std::min(changes.removed_in_front, messages.size());
    messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(removed));
    if (changes.from == ConversationChanges::none) return;
    messages.resize(std::min(changes.from, messages.size()));
    for (std::size_t i = messages.size(); i < conversation.messages().size(); ++i)
      messages.push_back(conversation.messages()[i]);
  }
  std::vector<ChatMessage> messages;
};

// A conversation that changes at random, as those of agents do.
struct Walk {
  explicit Walk(std::uint32_t seed) : random(seed) {}

  std::size_t below(std::size_t count) { return random() % count; }
  std::string text() { return "text " + std::to_string(++texts); }
  // A turn that has ended, or the end of the last one: a position in the messages.
  std::size_t border() {
    const auto& turns = conversation.turns();
    const std::size_t at = below(turns.size() + 1);
    return at == turns.size() ? conversation.messages().size() : turns[at].question;
  }
  void step() {
    conversation.make_room(4);
    conversation.is_open() ? step_in_turn() : step_between_turns();
  }
  void step_in_turn() {
    switch (below(6)) {
      case 0:
        return conversation.steer(text(), {});
      case 1:
        result = conversation.act(ChatMessage::assistant(text(), {{.id = {}, .name = "tool"}}).items, ++turn);
        return;
      case 2:
        if (result) conversation.set_result(*result, text(), {ToolOutcome::completed, below(2) == 0});
        return;
      case 3:
        conversation.cut_off(text());
        return conversation.steer(text(), {});
      case 4:
        return conversation.answer({TextItem{text()}});
      default: {
        const std::array all{Interruption::aborted, Interruption::interrupted, Interruption::stopped};
        return conversation.interrupt(all[below(all.size())], below(2) == 0 ? text() : std::string());
      }
    }
  }
  void step_between_turns() {
    result.reset();
    const std::size_t what = below(6);
    if (what == 0 && !conversation.turns().empty()) {
      std::vector<ChatMessage> removed;
      const std::vector<TurnPlace>& turns = conversation.turns();
      return conversation.take_back(turns[turns.size() - 1 - below(std::min<std::size_t>(turns.size(), 3))],
                                    removed, tasks);
    }
    if (what == 1 && conversation.ends_with_answer() && !conversation.turns().empty()) {
      static_cast<void>(conversation.shorten_answer(below(8)));
      return;
    }
    if (what == 2 && !conversation.turns().empty()) {
      const std::size_t one = border(), other = border();
      return conversation.remove(std::min(one, other), std::max(one, other));
    }
    if (what == 3) tasks += "{}\n";
    conversation.ask(text(), {}, ++turn, {});
    conversation.put_before_question(tasks);
  }

  std::mt19937 random;
  Conversation conversation;
  std::string tasks;
  std::optional<std::size_t> result;  // the position of the result of the last call
  std::uint32_t turn = 0;
  int texts = 0;
};

}  // namespace

TEST_CASE("a store that takes the changes of a conversation, however rarely, has its messages",
          "[turn][persist][G14]") {
  for (const std::uint32_t seldom : {1U, 2U, 5U}) {
    CAPTURE(seldom);
    Walk walk(seldom);
    Stored stored;
    for (int step = 0; step < 3000; ++step) {
      CAPTURE(step);
      walk.step();
      if (walk.below(seldom) != 0) continue;
      stored.take(walk.conversation);
      REQUIRE(stored.messages == walk.conversation.messages());
    }
  }
}

TEST_CASE("a store that has stored a question is told of the mark that its turn gets",
          "[turn][persist][G8][G14]") {
  Conversation conversation;
  Stored stored;
  conversation.make_room(4);
  conversation.ask("question", {}, 1, {});
  stored.take(conversation);
  SECTION("the turn has no answer") {
    conversation.interrupt(Interruption::aborted);
  }
  SECTION("its answer was shortened to nothing") {
    conversation.answer({TextItem{"words"}});
    stored.take(conversation);
    REQUIRE(conversation.shorten_answer(0));
  }
  stored.take(conversation);
  REQUIRE(stored.messages.size() == 1);
  CHECK(stored.messages[0].interruption == conversation.messages()[0].interruption);
  CHECK(stored.messages[0].interruption != Interruption::none);
}

TEST_CASE("a change that is not stored yet moves with its message when older ones are removed",
          "[turn][persist][G14]") {
  Conversation conversation;
  Stored stored;
  conversation.make_room(8);
  for (std::uint32_t turn = 1; turn <= 3; ++turn) {
    conversation.ask("question", {}, turn, {});
    conversation.answer({TextItem{"a long answer"}});
  }
  stored.take(conversation);
  REQUIRE(conversation.shorten_answer(6));
  conversation.remove(0, 4);
  CHECK(conversation.changes().removed_in_front == 4);
  CHECK(conversation.changes().from == 0);  // the last question, whose mark may change
  stored.take(conversation);
  CHECK(stored.messages == conversation.messages());
}
