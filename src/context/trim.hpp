// Trimming: decides which messages and windows are still sent to a model. Pure functions; see
// agentcore/context.hpp.
#pragma once

#include "context/token_count.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>

#include <cstddef>
#include <vector>

namespace agentcore::detail::context {

// The properties of a window that trimming needs.
struct WindowCost {
  std::size_t tokens = 0;
  std::size_t opened_at = 0;  // number of messages when it was opened
  bool important = false;     // trimmed only when nothing else is left to trim
  bool pinned = false;        // never trimmed
  bool shown = true;          // false: trimmed before, or not sent for another reason; final
};

struct Trimmed {
  std::vector<bool> keep_message;  // one for each message
  std::vector<bool> keep_window;   // one for each window
  std::size_t tokens_before = 0;   // of all that was sent: fixed, messages and windows
  std::size_t tokens_after = 0;
};

// The position behind the turn that begins at `begin`.
std::size_t turn_end(const std::vector<ChatMessage>& messages, std::size_t begin) noexcept;

// Decides what to send. `messages` is a valid history, and so are the kept messages; of an invalid history
// some part is kept. `tokens` holds the cost of each message. `sent` has the messages that are still sent;
// those beyond its end are sent, too. A message or window that was trimmed is never sent again.
// `fixed_tokens` are always sent: tool descriptions, and the system prompt, unless that is the first message.
// None of the messages before `first` is sent; the message there is one of the oldest turn of which some are.
//
// Nothing is trimmed while no more than max_tokens are sent. Otherwise, down to target_tokens:
//   1. Oldest first, turns before the last one and windows that are not important. A turn is trimmed as a
//      whole, and only if min_conversation_tokens are left of the conversation (all messages but the
//      system's); if not, no later turn is trimmed in its place.
//   2. Important windows, oldest first.
// Only if more than max_tokens are left even then:
//   3. The finished steps of the last turn, oldest first and under the same condition. A step is an answer
//      that called tools, with the results; the last one stays.
//   4. Turns, then steps, below min_conversation_tokens, but no further than to max_tokens: a call that is
//      too long would fail.
// A turn is a question and all that follows it; one with a pinned message stays, with all its steps. When
// more than max_tokens are left at the end, nothing else may be trimmed.
//
// Takes time linear in the messages from `first` on, and sorts the windows. A second run changes nothing.
Trimmed trim(const std::vector<ChatMessage>& messages, const std::vector<std::size_t>& tokens,
             const std::vector<bool>& sent, const std::vector<WindowCost>& windows, std::size_t fixed_tokens,
             const ContextOptions& options, std::size_t first = 0);

}  // namespace agentcore::detail::context
