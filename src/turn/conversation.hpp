// Conversation: the history of one agent, valid after every change (G8).
#pragma once

#include "context/cut.hpp"
#include "core/message_items.hpp"
#include "turn/call_ids.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {

// The system prompt of an agent: that of its spec, else the system message of the history that the agent
// began with. Windows and instructions are not part of it: tools::Protocol adds them to each request.
const std::string& system_prompt_of(const AgentSpec& spec) noexcept;

// Where a turn begins in a conversation.
struct TurnPlace {
  std::uint64_t turn = 0;    // its number
  std::size_t question = 0;  // the position of its question
  MessageId message = {};    // with which it began; none in a history of an earlier run
  std::size_t tasks = 0;     // the bytes of lines about ended tasks, which the question begins with
};

// What is not as it was when the changes were last taken.
struct ConversationChanges {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t removed_in_front = 0;  // messages; `from` is the position after that
  std::size_t from = none;           // the first message that differs, or was removed

  bool any() const noexcept { return removed_in_front != 0 || from != none; }
  void note(std::size_t message) noexcept { from = std::min(from, message); }
  void note_removed(std::size_t messages) noexcept {
    removed_in_front += messages;
    if (from != none) from -= std::min(from, messages);
  }
};

class Conversation {
 public:
  // The text of a call's result until there is a real one. It is correct at every moment: if the turn ends
  // now, it stays (G9).
  static constexpr std::string_view not_started = "not started: its turn ended before it began";
  static constexpr std::string_view interrupted =
      "interrupted: it had begun when its turn ended, and its effect is unknown";
  static constexpr std::string_view unknown =
      "unknown: the program ended before the result was stored; the call may have begun, and its effect is "
      "unknown";

  // Begins with the history of an earlier run; it must be valid. Its turns get the numbers 1, 2, ... A system
  // message is left out: it is the system prompt. A last question without an answer counts as stopped.
  void restore(std::vector<ChatMessage> history);

  // Allocates the space for further messages with at most that many images each: to write them allocates
  // nothing then.
  void make_room(std::size_t messages = 1, std::size_t parts = 0);
  // The question that begins a turn. It stays, however the turn ends (X22).
  void ask(std::string question, std::vector<ContentPart> parts, std::uint64_t turn, MessageId message);
  // Moves lines about background tasks that have ended to the beginning of the last question. Without memory
  // they stay for a later one.
  void put_before_question(std::string& ended_tasks) noexcept;
  // A message that was put into the turn of the question. No call may be without a result. Throws
  // std::bad_alloc; make_room() prevents that.
  void steer(std::string text, std::vector<ContentPart> parts);
  // The answer that ends the turn.
  void answer(std::vector<MessageItem> items);
  // An answer with tool calls, and a result `not_started` for each call, so that every call has a result.
  // Missing and duplicate ids are replaced by call_<turn>_<index> (J8). Returns the position of the first
  // result; the others follow in order.
  std::size_t act(std::vector<MessageItem> items, std::uint32_t turn);
  // `end`: how the call ends if the turn ends now; it is what the text says.
  void set_result(std::size_t place, std::string text, CallEnd end) noexcept {
    core::first_text(messages_[place]) = std::move(text);
    messages_[place].call_end = end;
    changes_.note(place);
  }
  // The same, of a result that may have more than text.
  void set_result(std::size_t place, std::vector<MessageItem> items, CallEnd end) noexcept {
    messages_[place].items = std::move(items);
    messages_[place].call_end = end;
    changes_.note(place);
  }
  // That call of that turn was interrupted, and did not end within the grace period. Does nothing if it is
  // not in the conversation any more.
  void abandon(std::uint64_t turn, std::string_view call_id) noexcept;
  // The kept part of an answer that a steered message has ended. That message follows. make_room() comes
  // first.
  void cut_off(std::string part);
  // The turn's question will get no answer. `part`: what is kept of an unfinished answer; it is lost if
  // there is no room for it, which make_room() prevents (A19).
  void interrupt(Interruption why, std::string part = {}) noexcept;

  // After load(): the turn that the conversation ends with is in progress.
  void reopen() noexcept { open_ = !turns_.empty(); }

  // Shortens the last answer, which the conversation must end with, to a part of it; one that would be blank
  // is removed. False: it is not longer, and nothing was changed.
  bool shorten_answer(std::size_t bytes) noexcept;
  // Moves the turn at that place, and everything after it, to the end of `removed`, and the lines about ended
  // tasks of these turns to the beginning of `ended_tasks`. The turn in progress must have ended. Allocates
  // nothing if both have room: `ended_tasks` for tasks_since() more bytes.
  void take_back(const TurnPlace& from, std::vector<ChatMessage>& removed, std::string& ended_tasks);
  std::size_t tasks_since(std::uint64_t turn) const noexcept;
  // The text of a question, without lines about ended tasks.
  std::string_view text_of(const TurnPlace& place) const noexcept;
  // The part of a text that came from tools: of a result all of it, of a question the lines about ended
  // tasks. Empty for any other message.
  std::string_view text_of_tools(std::size_t message) const noexcept;
  // A copy of the first `turns` turns, which must have ended.
  Conversation first_turns(std::size_t turns) const;

  // Removes these messages: whole turns that have ended.
  void remove(std::size_t begin, std::size_t end) noexcept;

  // For the store, which takes them.
  ConversationChanges& changes() noexcept { return changes_; }
  // Becomes what a store has kept; no turn is in progress.
  void load(std::vector<ChatMessage> messages, std::vector<TurnPlace> turns) noexcept;

  const std::vector<ChatMessage>& messages() const noexcept { return messages_; }
  // The turns whose questions are in the conversation, oldest first.
  const std::vector<TurnPlace>& turns() const noexcept { return turns_; }
  // True if the last turn is in progress.
  bool is_open() const noexcept { return open_; }
  // True if the conversation ends with an answer, or with a part of one.
  bool ends_with_answer() const noexcept;
  // The system prompt, if any, the summary, if any, and the messages marked in `sent`; those beyond its end
  // are included. None before `first` is marked. Texts with a cut are cut there.
  std::vector<ChatMessage> rendered(const std::string& system_prompt, const std::vector<bool>& sent = {},
                                    const ChatMessage* summary = nullptr, std::size_t first = 0,
                                    const context::Cuts& cuts = {}) const;

 private:
  ChatMessage made(Role role, std::string text, std::vector<ContentPart> parts = {});

  std::vector<ChatMessage> messages_;
  std::vector<std::vector<MessageItem>> room_;  // empty, with capacity: the items of messages to come
  CallIds call_ids_;                            // of messages_
  std::vector<TurnPlace> turns_;
  bool open_ = false;  // the last turn has no answer yet
  ConversationChanges changes_;
};

// The `count` messages of rendered(system_prompt) before `end`; without `end`: the last ones.
ConversationPage page_of(const Conversation& conversation, const std::string& system_prompt,
                         std::size_t count, std::optional<std::size_t> end);

// The lines about ended tasks with which the question of that turn begins.
std::string_view tasks_of(const ChatMessage& question, const TurnPlace& place) noexcept;

}  // namespace agentcore::detail::turn
