// The texts of a summary: what a model is asked, and what is sent in place of older messages. Pure functions.
#pragma once

#include "context/cut.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::context {

// The instruction for a summary, unless the host has its own (Compaction::prompt).
extern const std::string_view summary_prompt;

// What is to be summarised: the messages that are sent now, and not any more once there is a summary.
struct ToSummarise {
  const std::vector<ChatMessage>& messages;
  const std::vector<bool>& sent;  // for each message: it is sent now
  const std::vector<bool>& kept;  // for each message: it is still sent beside the summary
  const ChatMessage* earlier;     // a message of summary_message(); null: there is none
  const Cuts& cuts;               // of texts that are too long for a request
};

struct SummaryText {
  std::string text;     // empty: nothing fits
  std::size_t end = 0;  // of the messages that are to be summarised, those before this one are in it
};

// The text that asks for a summary: the earlier summary and the messages, each as one line of JSON, so that
// no text in them can pass for another message. It has at most `room` tokens, counted line by line with
// `count`. If there is more, it has the oldest turns that fit, and the others are for a further summary; of a
// turn whose question is kept, the oldest steps. If not even the oldest one fits, its long texts are cut in
// the middle, with a note. Throws what `count` throws.
SummaryText text_to_summarise(const ToSummarise& what, std::size_t room, const TokenCounter& count);

// The message that is sent in place of what was summarised.
ChatMessage summary_message(std::string_view summary);

}  // namespace agentcore::detail::context
