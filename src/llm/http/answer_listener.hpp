// AnswerListener: receives the text of an answer, piece by piece.
#pragma once

#include <string_view>

namespace agentcore::detail::llm {

// `text` is valid UTF-8, not empty, and valid during the call. Both functions may run code of the host, which
// may stop the call or destroy its client. They return false when the call is over: the rest of the answer is
// not needed.
class AnswerListener {
 public:
  virtual bool on_text(std::string_view text) = 0;
  virtual bool on_reasoning_text(std::string_view text) = 0;

 protected:
  ~AnswerListener() = default;
};

}  // namespace agentcore::detail::llm
