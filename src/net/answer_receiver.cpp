#include "net/answer_receiver.hpp"

#include "net/coding.hpp"

#include <utility>

namespace agentcore::detail::net {

namespace {

// Limit of all heads of an answer together, interim answers included: a server may send interim answers
// without an end. libcurl's own limits (100 KiB for one line, and in later versions 300 KiB for all) are
// larger.
constexpr std::size_t max_head_bytes = 128 << 10;

}  // namespace

bool AnswerReceiver::fail(Failure failure) noexcept {
  failure_ = failure;
  return false;
}

// Counts bytes of the answer. True when they may be passed to the handler.
bool AnswerReceiver::admit(std::size_t bytes) noexcept {
  if (failure_ != Failure::none) return false;
  received_ += bytes;
  return received_ <= max_bytes_ || fail(Failure::too_large);
}

bool AnswerReceiver::take_head(std::string_view line, const HttpRequest* request) {
  if (!admit(line.size())) return false;
  if (head_ == nullptr || status_ != 0) return true;
  head_->bytes += line.size();
  if (head_->bytes > max_head_bytes) return fail(Failure::head_too_large);
  return !head_->reader.read(line) || begin(*request);
}

bool AnswerReceiver::begin(const HttpRequest& request) {
  const HttpHead& head = head_->reader.head();
  status_ = head.status;
  if (!is_coded_as_offered(head)) return fail(Failure::unknown_coding);
  if (head_->reader.has_absurd_length()) return fail(Failure::absurd_length);
  head_->redirect = redirect_of(request, head);
  if (is_redirected()) return true;
  redirect_refusal_ = refusal_of(head_->redirect);
  handler_.on_head(head);
  return true;
}

bool AnswerReceiver::take_body(std::string_view bytes) {
  if (!admit(bytes.size())) return false;
  if (is_redirected()) return true;
  return handler_.on_body(bytes) || fail(Failure::handler_refused);
}

std::string AnswerReceiver::follow() {
  std::string url = std::move(head_->redirect.url);
  head_ = std::make_unique<Head>();
  status_ = 0;
  return url;
}

}  // namespace agentcore::detail::net
