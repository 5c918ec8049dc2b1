#include "llm/http/error_class.hpp"

#include "llm/http/error_words.hpp"
#include "llm/http/rate_headers.hpp"

#include <algorithm>

namespace agentcore::detail::llm {
namespace {

// True for a status that says nothing of the failure: the answer began well, or the request is bad, as many
// servers say of anything.
bool is_open(int status) noexcept {
  return status == 400 || (status >= 200 && status <= 299);
}

// True for a status of a refusal with a meaning of its own, which no code may overrule.
bool is_definite_refusal(int status) noexcept {
  constexpr int definite[] = {401, 403, 405, 407, 415, 422};
  return status < 400 || std::ranges::find(definite, status) != std::end(definite);
}

ErrorKind kind_of_status(int status) noexcept {
  switch (status) {
    case 402:
      return ErrorKind::account_exhausted;
    case 404:
      return ErrorKind::not_found;
    case 413:
      return ErrorKind::context_full;
    case 429:
      return ErrorKind::rate_limited;
    case 503:
    case 529:
      return ErrorKind::overloaded;
    default:
      return is_retryable_status(static_cast<unsigned>(status)) ? ErrorKind::passing : ErrorKind::refused;
  }
}

bool is_retryable(ErrorKind kind) noexcept {
  return kind == ErrorKind::passing || kind == ErrorKind::overloaded || kind == ErrorKind::rate_limited ||
         kind == ErrorKind::model_busy;
}

bool is_model_specific(ErrorKind kind) noexcept {
  return kind == ErrorKind::model_busy || kind == ErrorKind::model_unknown ||
         kind == ErrorKind::context_full || kind == ErrorKind::account_exhausted;
}

// The most specific meaning of the codes; `refused`: none is known.
ErrorKind kind_of_codes(const ApiError& error) {
  ErrorKind kind = ErrorKind::refused;
  for (const std::string& code : error.codes)
    kind = std::max(kind, kind_of_code(code).value_or(ErrorKind::refused));
  return kind;
}

ErrorKind kind_of_words(const ErrorWords& words) {
  if (words.rate_limited()) return ErrorKind::rate_limited;
  if (words.overloaded()) return ErrorKind::overloaded;
  if (words.context_full()) return ErrorKind::context_full;
  return words.model_unknown() ? ErrorKind::model_unknown : ErrorKind::refused;
}

ErrorKind kind_of_not_found(const ErrorWords& words) {
  return words.about_model() ? ErrorKind::model_unknown : ErrorKind::refused;
}

// The meaning of an answer whose status says nothing, and has none in its body. A code that blames the server
// in general does not overrule 400: gateways send one with whatever they were refused.
ErrorKind kind_of_open(int status, ErrorKind codes, const ErrorWords& words) {
  if (codes == ErrorKind::not_found) return kind_of_not_found(words);
  if (codes > ErrorKind::passing || (codes == ErrorKind::passing && status != 400)) return codes;
  return kind_of_words(words);
}

ErrorKind kind_of_refusal(int status, ErrorKind codes, const ErrorWords& words) {
  if (!is_definite_refusal(status)) return is_retryable(codes) ? codes : ErrorKind::refused;
  if (status == 422 && words.context_full()) return ErrorKind::context_full;
  if ((status == 403 || status == 422) && words.model_unknown()) return ErrorKind::model_unknown;
  return ErrorKind::refused;
}

ErrorKind kind_of(int status, const ApiError& error, const ErrorWords& words, bool has_hint) {
  if (error.known && is_open(status)) return *error.known;
  const ErrorKind codes = kind_of_codes(error);
  const bool is_quota_per_time = codes == ErrorKind::account_exhausted && words.quota_per_time();
  if (codes >= ErrorKind::model_unknown && !is_quota_per_time) return codes;
  const int said = is_open(status) && error.status != 0 ? error.status : status;
  if (!has_hint && said < 500 && words.account_exhausted()) return ErrorKind::account_exhausted;
  if (is_open(said)) return is_quota_per_time ? ErrorKind::rate_limited : kind_of_open(said, codes, words);
  const ErrorKind kind = kind_of_status(said);
  if (kind == ErrorKind::not_found) return kind_of_not_found(words);
  if (kind == ErrorKind::refused) return kind_of_refusal(said, codes, words);
  return is_retryable(kind) && codes == ErrorKind::model_busy ? codes : kind;
}

std::chrono::milliseconds delay_in(const ApiError& error, const ErrorWords& words) {
  if (const auto delay = parse_duration(error.retry_delay); delay && delay->count() > 0)
    return std::chrono::ceil<std::chrono::milliseconds>(*delay);
  return words.retry_after();
}

}  // namespace

ErrorClass classify(int status, const ApiError& error, const RetryHeaders& headers) {
  const ErrorWords words(error);
  const std::chrono::milliseconds said = delay_in(error, words);
  ErrorClass made;
  made.kind = kind_of(status, error, words, headers.retry_after.count() > 0 || said.count() > 0);
  made.retryable = is_retryable(made.kind);
  made.model_specific = is_model_specific(made.kind);
  if (headers.should_retry && (made.retryable || !made.model_specific)) {
    made.model_specific = made.model_specific || (made.retryable && !*headers.should_retry);
    made.retryable = *headers.should_retry;
  }
  made.retry_after = headers.retry_after;
  if (made.retry_after.count() <= 0 && is_retryable(made.kind)) made.retry_after = said;
  return made;
}

}  // namespace agentcore::detail::llm
