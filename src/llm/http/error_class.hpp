// The classification of failures: what follows from the status, the codes and the words of an error.
#pragma once

#include "llm/dialects/api_error.hpp"

#include <chrono>
#include <optional>

namespace agentcore::detail::llm {

// What the head of a failed answer says beside its status.
struct RetryHeaders {
  std::chrono::milliseconds retry_after{0};  // 0: not said
  std::optional<bool> should_retry = {};     // x-should-retry
};

struct ErrorClass {
  ErrorKind kind = ErrorKind::refused;
  bool retryable = false;                    // see ChatError
  bool model_specific = false;               // see ChatError
  std::chrono::milliseconds retry_after{0};  // from the header, the error object, or the message
};

// The only place that decides what a failure means, in all dialects: for the status of an answer, for errors
// in a stream, and for errors in a body with a good status. `status`: of HTTP. `error`: an error without
// facts if the answer has none. The order:
//
// 1. A code that names an exhausted account, a full context or an unknown model: it is more precise than any
//    status.
// 2. The HTTP status. Where it says nothing, because it is good or 400: the status in the body.
// 3. Where they say nothing, other codes; where it is neither good nor 400, and has no meaning of its own,
//    codes, too.
// 4. Where it is good or 400, the words of the message.
//
// Beyond that, words tell only where a refused request may go: 403, 404, 422. And a message about balance or
// credit, of a status below 500, without a hint when to try again, means an exhausted account: a rate limit
// that is called a quota has that hint.
//
// x-should-retry comes after all of it, and decides about retryable alone. `true` does not make a full
// context, an unknown model or an exhausted account retryable. After `false` a passing failure is
// model_specific: the server does not want the request again, another one may.
ErrorClass classify(int status, const ApiError& error, const RetryHeaders& headers = {});

}  // namespace agentcore::detail::llm
