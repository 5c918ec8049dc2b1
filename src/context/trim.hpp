// Trimming: which messages and windows a model is still sent. Pure functions; agentcore/context.hpp says what
// they are for.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>

#include <cstddef>
#include <vector>

namespace agentcore::context {

// What a message costs besides its texts: its role and what surrounds it.
inline constexpr std::size_t tokens_around_message = 4;

// What a message costs: its text, the names and arguments of its tool calls, and what is around them. Counted
// once for every message and kept, since messages do not change. Throws only what `count` throws.
std::size_t message_tokens(const ChatMessage& message, const TokenCounter& count);

// A window as trimming sees it.
struct WindowCost {
  std::size_t tokens = 0;
  std::size_t opened_at = 0;  // how many messages there were when it was opened
  bool important = false;     // goes only when nothing else does
  bool pinned = false;        // never goes
  bool shown = true;          // false: trimmed before, or not sent for another reason; stays so
};

struct Trimmed {
  std::vector<bool> keep_message;  // one for each message
  std::vector<bool> keep_window;   // one for each window
  std::size_t tokens_before = 0;   // of all that was sent: fixed, messages and windows
  std::size_t tokens_after = 0;
};

// Decides what to send. `messages` is a valid history, and what is kept of it is one again, too; of any other
// history some part is kept. `tokens` holds what each message costs. `sent` says which messages are still
// sent; those beyond its end are. What is not sent any more stays away. `fixed_tokens` is what is always
// sent: tool descriptions, and the system prompt, unless that is the first message.
//
// Nothing goes while no more than max_tokens are sent. Otherwise, down to target_tokens:
//   1. Oldest first, turns before the last one and windows that are not important. A turn goes as a whole,
//      and only if min_conversation_tokens are left of the conversation (all messages but the system's); if
//      not, no later turn goes in its place.
//   2. Important windows, oldest first.
// Only if more than max_tokens are left even then:
//   3. The finished steps of the last turn, oldest first and under the same condition. A step is an answer
//   that
//      called tools, with the results; the last one stays.
//   4. Turns, then steps, below min_conversation_tokens, but no further than to max_tokens: a call that is
//      too long would fail.
// A turn is a question and all that follows it; one with a pinned message stays, with all its steps. When
// more than max_tokens are left at the end, nothing else may go.
//
// Takes time linear in the messages, and sorts the windows. Doing it again changes nothing.
Trimmed trim(const std::vector<ChatMessage>& messages, const std::vector<std::size_t>& tokens,
             const std::vector<bool>& sent, const std::vector<WindowCost>& windows, std::size_t fixed_tokens,
             const ContextOptions& options);

}  // namespace agentcore::context
