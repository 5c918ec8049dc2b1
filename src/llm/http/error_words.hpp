// The words in which providers report failures: codes, and phrases in messages.
#pragma once

#include "llm/dialects/api_error.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// What a code, a type or a status word means: "rate_limit_exceeded", "RESOURCE_EXHAUSTED",
// "ThrottlingException", "1113". The case of its letters and its separators are ignored. Empty: not known.
std::optional<ErrorKind> kind_of_code(std::string_view code);

// The beginning of a message, in lower case, in which phrases are looked for. Each of these functions returns
// true if the message has one of its phrases.
class ErrorWords {
 public:
  explicit ErrorWords(const ApiError& error);

  bool account_exhausted() const;  // no balance, no credit; also where a rate limit is called a quota
  bool quota_per_time() const;     // a rate limit that has the code of an exhausted account (DashScope)
  bool rate_limited() const;
  bool overloaded() const;
  bool context_full() const;
  bool model_unknown() const;
  bool about_model() const;  // enough where the status is 404
  // "Please try again in 1.2s", "Please retry after 20 seconds"; 0: not said.
  std::chrono::milliseconds retry_after() const;

 private:
  template <std::size_t N>
  bool has_one_of(const std::string_view (&phrases)[N]) const;

  std::string text_;
};

}  // namespace agentcore::detail::llm
