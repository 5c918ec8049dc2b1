// SentContext: the part of an agent's history and windows that a model is still sent.
#pragma once

#include "turn/conversation.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {

// A window in the context of the agent.
struct SeenWindow {
  std::size_t opened_at = 0;  // number of messages when it was first found
  bool shown = true;          // false: trimmed
};

struct Summary {
  ChatMessage message;
  std::size_t tokens = 0;
  std::size_t end = 0;  // it stands for messages before this one
};

// Positions are those of the history.
struct SentContext {
  std::vector<std::size_t> tokens;  // of each message, as far as counted
  context::Cuts cuts;               // of those that are too long for a request
  std::size_t cuts_told = 0;        // of these, from the first
  std::vector<bool> messages;       // as far as decided; the others are sent
  // What is sent while a summary is missing, because none could be made: less than `messages`. As far as
  // decided; empty: what `messages` says. It is given up when all of it is offered to a summary again.
  std::vector<bool> for_now;
  // No message before this position is sent; it may be less than it could be. So a request takes no time for
  // the part of a long history that was trimmed.
  std::size_t unsent = 0;
  std::map<std::uint64_t, SeenWindow> windows;  // by number
  // The ends of the stable parts of earlier requests, rising: of the last request, and of the others those
  // that a user message follows.
  std::vector<std::size_t> request_ends;
  // The newest one is sent, before the messages. Each includes the one before it, for the case that the
  // history is taken back to before its end.
  std::vector<Summary> summaries;
  bool lost_messages = false;  // remove() was called

  // The messages of the next request, as far as decided.
  const std::vector<bool>& now() const noexcept { return for_now.empty() ? messages : for_now; }
  const ChatMessage* summary() const noexcept {
    return summaries.empty() ? nullptr : &summaries.back().message;
  }
  std::size_t summary_tokens() const noexcept { return summaries.empty() ? 0 : summaries.back().tokens; }

  // These messages are sent from now on, and those beyond the end. What was not sent before is not sent now.
  void decide(std::vector<bool> sent) noexcept;
  // These messages are sent until a summary stands for the others, or decide() is called.
  void decide_for_now(std::vector<bool> sent) noexcept { for_now = std::move(sent); }
  // The history has lost all messages but the first `count`, which are those of `left`; the last of them may
  // have changed, too. Summaries that cover a lost message are dropped. What no summary covers any more is
  // sent again, and so is everything behind the last summary, if the last question was left out without one.
  void keep_first(std::size_t count, const Conversation& left) noexcept;
  // The history has lost these messages, none of which was sent.
  void remove(std::size_t begin, std::size_t end) noexcept;
  // Makes room for one more summary: summarise() then allocates nothing.
  void make_room();
  // `text` is sent from now on for the messages that are not sent. No earlier request begins as the next one.
  void summarise(ChatMessage text, std::size_t cost) noexcept;

 private:
  bool has_unsent(std::size_t begin, std::size_t end) const noexcept;
};

}  // namespace agentcore::detail::turn
