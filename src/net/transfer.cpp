#include "net/transfer.hpp"

#include "net/coding.hpp"
#include "net/curl_transport.hpp"
#include "net/cut.hpp"

#include <utility>

namespace agentcore::net {

namespace {

// Of all heads together, interim answers included: a server may send those without an end. libcurl's own
// limits (100 KiB of one line, and in later versions 300 KiB of all) lie behind it.
constexpr std::size_t max_head_bytes = 128 << 10;

}  // namespace

Transfer::Transfer(CurlTransport& transport, std::uint64_t number, HttpRequest request,
                   std::shared_ptr<Cut> own_cut, std::unique_ptr<HttpHandler> own_handler)
    : id(number),
      cut(std::move(own_cut)),
      handler(std::move(own_handler)),
      deadlines({request.connect_timeout, request.first_byte_timeout, request.stall_timeout,
                 request.total_timeout, request.deadline},
                transport.engine().now()),
      transport_(transport),
      limit_(request.max_response_bytes) {
  opening_ = std::make_unique<Opening>(std::move(request));
}

Transfer::~Transfer() {
  if (easy != nullptr) curl_easy_cleanup(easy);
}

Transfer* Transfer::of(CURL* handle) noexcept {
  char* self = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return reinterpret_cast<Transfer*>(self);
}

bool Transfer::is_over() const noexcept {
  return cut->is_cut() || handler == nullptr || transport_.closed();
}

bool Transfer::fail(Failure failure) noexcept {
  failure_ = failure;
  return false;
}

void Transfer::go_deaf() noexcept {
  fail(Failure::unwatched);
}

// Counts bytes of the answer, and says whether they may reach the handler.
bool Transfer::admit(std::size_t bytes) noexcept {
  if (is_over() || failure_ != Failure::none) return false;
  received_ += bytes;
  return received_ <= limit_ || fail(Failure::too_large);
}

bool Transfer::take_head(std::string_view line) {
  if (!admit(line.size())) return false;
  if (opening_ == nullptr || status_ != 0) return true;
  if (may_share_ && line.starts_with("HTTP/1.")) claim_socket();
  opening_->head_bytes += line.size();
  if (opening_->head_bytes > max_head_bytes) return fail(Failure::head_too_large);
  return !opening_->head.read(line) || begin_answer(*opening_);
}

bool Transfer::begin_answer(Opening& opening) {
  const HttpHead& head = opening.head.head();
  status_ = head.status;
  if (!is_coded_as_offered(head)) return fail(Failure::unknown_coding);
  if (opening.head.has_absurd_length()) return fail(Failure::absurd_length);
  opening.redirect = redirect_of(opening.request, head);
  if (is_redirected()) return true;
  redirect_refusal_ = refusal_of(opening.redirect);
  const bool fine = transport_.engine().guarded("an HTTP handler", [&] { handler->on_head(head); });
  return fine || fail(Failure::receiver_threw);
}

bool Transfer::take_body(std::string_view bytes) {
  if (!admit(bytes.size())) return false;
  if (deadlines.data_received(transport_.engine().now())) transport_.arm(*this);
  if (is_redirected()) return true;
  if (opening_ != nullptr) forget_opening();
  bool goes_on = false;
  const bool fine =
      transport_.engine().guarded("an HTTP handler", [&] { goes_on = handler->on_body(bytes); });
  if (!fine) return fail(Failure::receiver_threw);
  return goes_on || fail(Failure::refused);
}

// A stream may last for hours, its request need not. It stays while libcurl still sends it: a server may
// answer before it has read everything.
void Transfer::forget_opening() {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  if (sent < static_cast<curl_off_t>(opening_->request.body.size())) return;
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, nullptr);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  opening_.reset();
}

// Its connection may speak HTTP/2: whoever comes next may join it.
void Transfer::leave_socket() {
  for (const int descriptor : cut->guard().claimed())
    if (descriptor >= 0) transport_.sockets().share(descriptor);
}

// It does not.
void Transfer::claim_socket() {
  may_share_ = false;
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor);
  if (descriptor != CURL_SOCKET_BAD) transport_.sockets().claim(descriptor, cut, {this, handler.get()});
}

void Transfer::follow() {
  curl_easy_cleanup(std::exchange(easy, nullptr));
  HttpRequest request = std::move(opening_->request);
  request.url = std::move(opening_->redirect.url);
  --request.max_redirects;
  opening_ = std::make_unique<Opening>(std::move(request));
  status_ = 0;
}

}  // namespace agentcore::net
