// CallIds: whether a history has a call, while the history grows, shrinks and grows again.
#include "turn/call_ids.hpp"

#include "support/catch.hpp"
#include "turn/conversation.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

constexpr std::size_t long_history = 200;  // messages

// Results of the calls "<prefix>0", "<prefix>1", ...
std::vector<ChatMessage> results(const std::string& prefix, std::size_t count) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i < count; ++i)
    messages.push_back(ChatMessage::tool_result(prefix + std::to_string(i), "done"));
  return messages;
}

}  // namespace

TEST_CASE("the calls of a short and of a long history are found", "[turn][tools][call_ids][J8]") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{65}, long_history}) {
    INFO(count);
    const std::vector<ChatMessage> messages = results("a", count);
    CallIds ids;
    CHECK(ids.contain("a0", messages));
    CHECK(ids.contain("a" + std::to_string(count - 1), messages));
    CHECK_FALSE(ids.contain("a" + std::to_string(count), messages));
    CHECK_FALSE(ids.contain("", messages));
  }
}

TEST_CASE("calls that a history has lost are not found, and those that are new are",
          "[turn][tools][call_ids][J8]") {
  std::vector<ChatMessage> messages = results("a", long_history);
  CallIds ids;
  CHECK(ids.contain("a150", messages));
  messages.resize(100);
  ids.forget_from(100);
  CHECK(ids.contain("a99", messages));
  CHECK_FALSE(ids.contain("a150", messages));
  for (ChatMessage& message : results("b", 50)) messages.push_back(std::move(message));
  CHECK(ids.contain("b0", messages));
  CHECK(ids.contain("b49", messages));
  CHECK_FALSE(ids.contain("a150", messages));
  CHECK_FALSE(ids.contain("b50", messages));
  messages.erase(messages.begin(), messages.begin() + 20);
  ids.forget_from(0);
  CHECK_FALSE(ids.contain("a19", messages));
  CHECK(ids.contain("a20", messages));
}

TEST_CASE("an id that a long conversation has is replaced, and is free again when its turn is taken back",
          "[turn][tools][call_ids][J8]") {
  std::vector<ChatMessage> history;
  for (std::size_t i = 0; i < long_history / 2; ++i) {
    history.push_back(ChatMessage::user("question"));
    history.push_back(ChatMessage::assistant("answer"));
  }
  Conversation conversation;
  conversation.restore(std::move(history));
  const auto calls_again = [&](std::uint32_t turn) {
    conversation.ask("and now?", {}, turn, {});
    const std::size_t place =
        conversation.act(ChatMessage::assistant("", {{.id = "call", .name = "tool"}}).items, turn);
    conversation.answer({TextItem{"done"}});
    return conversation.messages()[place].tool_call_id;
  };
  CHECK(calls_again(101) == "call");
  CHECK(calls_again(102) == "call_102_1");
  std::vector<ChatMessage> removed;
  std::string tasks;
  const TurnPlace first = conversation.turns()[100];
  conversation.take_back(first, removed, tasks);
  CHECK(calls_again(101) == "call");
}

TEST_CASE("the calls of a turn that follows one that was taken back are found",
          "[turn][tools][call_ids][J8]") {
  std::vector<ChatMessage> history;
  for (std::size_t i = 0; i < long_history / 2; ++i) {
    history.push_back(ChatMessage::user("question"));
    history.push_back(ChatMessage::assistant("answer"));
  }
  for (const int rounds : {1, 2, 3}) {  // of the turn that is taken back
    CAPTURE(rounds);
    Conversation conversation;
    conversation.restore(history);
    conversation.ask("first", {}, 101, {});
    for (int i = 0; i < rounds; ++i)
      conversation.act(ChatMessage::assistant("", {{.id = "old", .name = "tool"}}).items, 101);
    conversation.answer({TextItem{"done"}});
    std::vector<ChatMessage> removed;
    std::string tasks;
    conversation.take_back(conversation.turns().back(), removed, tasks);
    conversation.ask("second", {}, 101, {});
    CHECK(conversation.messages()
              .at(conversation.act(ChatMessage::assistant("", {{.id = "new", .name = "tool"}}).items, 101))
              .tool_call_id == "new");
    CHECK(conversation.messages()
              .at(conversation.act(ChatMessage::assistant("", {{.id = "new", .name = "tool"}}).items, 101))
              .tool_call_id == "call_101_1");
  }
}
