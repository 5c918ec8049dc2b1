// ApiError: what a provider says of a failure, as facts. What follows from it: classify() in
// llm/http/error_class.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// True for an HTTP status after which the same request may succeed: 408, 409, 429 and 500 to 599 (X19).
constexpr bool is_retryable_status(std::uint64_t status) noexcept {
  return status == 408 || status == 409 || status == 429 || (status >= 500 && status < 600);
}

// What a failure means, from the least specific meaning to the most specific one.
enum class ErrorKind : std::uint8_t {
  refused,        // the request is refused, or nothing known says why it failed: sent again, it fails again
  passing,        // the server, or something before it, has failed
  overloaded,     // too many requests of others
  rate_limited,   // too many requests of this account
  model_busy,     // this model is overloaded; another one may answer
  not_found,      // a path or a model; never the result of classify()
  model_unknown,  // this model does not exist, or not for this account
  context_full,   // the request is too long for this model
  account_exhausted,  // the account has no credit left
};

inline constexpr std::size_t max_error_codes = 8;        // of one error; further ones are ignored
inline constexpr std::size_t max_error_code_bytes = 64;  // a longer one is ignored

// A provider's error object. The texts are valid UTF-8, as the provider wrote them.
struct ApiError {
  std::string message = {};
  std::vector<std::string> codes = {};  // each of its codes, types and status words
  int status = 0;                       // an HTTP status among them, as a number or a text; 0: none
  std::string retry_delay = {};         // "34.07s", of Google's RetryInfo
  // Of a gateway (OpenRouter): the error of the provider behind it, unchanged, and that provider's name.
  std::string raw = {};
  std::string provider = {};
  // Set where the reader knows the meaning without codes: the answer ended with a failure.
  std::optional<ErrorKind> known = {};
};

// Adds a code, a type or a status to the facts. A number from 100 to 599 is an HTTP status; "" and "error"
// say nothing.
void note_code(std::string_view code, ApiError& error);

}  // namespace agentcore::detail::llm
