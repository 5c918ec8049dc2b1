// The words with which servers say why an answer ended.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <optional>
#include <string_view>

namespace agentcore::detail::llm {

// What such a word says. The case of its letters is ignored: proxies before Google's models send upper case.
struct AnswerEnd {
  FinishReason reason;            // `other`: the word is not known
  std::optional<ApiError> error;  // set: the answer failed, and is no answer
};

AnswerEnd answer_end_of(std::string_view word);

}  // namespace agentcore::detail::llm
