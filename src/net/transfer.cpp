#include "net/transfer.hpp"

#include "net/coding.hpp"
#include "net/curl_error.hpp"
#include "net/curl_transport.hpp"
#include "net/cut.hpp"

#include <utility>

namespace agentcore::net {

namespace {

// Of all heads together, interim answers included: a server may send those without an end. libcurl's own
// limits (100 KiB of one line, and in later versions 300 KiB of all) lie behind it.
constexpr std::size_t max_head_bytes = 128 << 10;

std::string timeout_text(Errc code) {
  switch (code) {
    case Errc::connect_timeout:
      return "no connection in time to ";
    case Errc::first_byte_timeout:
      return "no answer in time from ";
    case Errc::total_timeout:
      return "no whole answer in the time of one call, from ";
    case Errc::deadline_exceeded:
      return "no whole answer before the caller's deadline, from ";
    default:
      return "the answer fell silent, from ";
  }
}

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

bool Transfer::fail(Errc code, const char* why) noexcept {
  failure_ = code;
  failure_text_ = why;
  return false;
}

void Transfer::go_deaf() noexcept {
  deaf_ = true;
  fail(Errc::network_error,
       "the system refuses to watch the socket: it has too little memory, or fs.epoll.max_user_watches is "
       "used up");
}

// Counts bytes of the answer, and says whether they may reach the handler.
bool Transfer::admit(std::size_t bytes) noexcept {
  if (is_over() || failure_ != Errc::none) return false;
  received_ += bytes;
  return received_ <= limit_ ||
         fail(Errc::response_too_large, "the answer is larger than max_response_bytes");
}

bool Transfer::take_head(std::string_view line) {
  if (!admit(line.size())) return false;
  if (opening_ == nullptr || status_ != 0) return true;
  if (may_share_ && line.starts_with("HTTP/1.")) claim_socket();
  opening_->head_bytes += line.size();
  if (opening_->head_bytes > max_head_bytes)
    return fail(Errc::response_too_large, "the head of the answer is larger than 128 KiB");
  return !opening_->head.read(line) || begin_answer(*opening_);
}

bool Transfer::begin_answer(Opening& opening) {
  const HttpHead& head = opening.head.head();
  status_ = head.status;
  if (!is_coded_as_offered(head))
    return fail(Errc::invalid_response, "the answer is coded in a way that was not offered");
  if (opening.head.has_absurd_length())
    return fail(Errc::invalid_response, "the answer announces a length beyond all numbers");
  opening.redirect = redirect_of(opening.request, head);
  if (is_redirected()) return true;
  redirect_refusal_ = opening.redirect.refusal;
  const bool fine = transport_.engine().guarded("an HTTP handler", [&] { handler->on_head(head); });
  return fine || fail(Errc::callback_failed, "the receiver of the answer threw");
}

bool Transfer::take_body(std::string_view bytes) {
  if (!admit(bytes.size())) return false;
  if (deadlines.data_received(transport_.engine().now())) transport_.arm(*this);
  if (is_redirected()) return true;
  if (opening_ != nullptr) forget_opening();
  bool goes_on = false;
  const bool fine =
      transport_.engine().guarded("an HTTP handler", [&] { goes_on = handler->on_body(bytes); });
  if (!fine) return fail(Errc::callback_failed, "the receiver of the answer threw");
  return goes_on || fail(Errc::invalid_response, "the answer was refused by its receiver");
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

HttpEnd Transfer::describe(CURLcode result) const {
  HttpEnd end = reason_of(result);
  end.request_sent = !deadlines.is_connecting();
  return end;
}

HttpEnd Transfer::reason_of(CURLcode result) const {
  if (cut->is_cut()) return {Errc::cancelled, "the transfer was stopped", status_};
  if (failure_ != Errc::none) return {failure_, failure_text_, status_};
  if (result == CURLE_OK) {
    if (status_ != 0) return {Errc::none, std::string(redirect_refusal_), status_};
    return {Errc::invalid_response, "the answer had no HTTP head, from " + peer(), 0};
  }
  long tunnel = 0;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &tunnel);
  if (tunnel >= 300 && deadlines.is_connecting()) return describe_refused_tunnel(tunnel);
  std::string message = std::string(curl_easy_strerror(result)) + ", talking to " + peer();
  if (opening_ != nullptr && opening_->error[0] != '\0' && detail_is_safe(result, opening_->error.data()))
    message += std::string(": ") + opening_->error.data();
  Errc code = to_errc(result);
  // What libcurl calls an unsupported protocol is the address before, and the answer after the request was
  // sent. And a header line beyond its limit is a lack of memory to it, before 8.6.
  if (code == Errc::invalid_config && !deadlines.is_connecting()) code = Errc::invalid_response;
  if (opening_ != nullptr && is_cut_handshake(result, opening_->error.data())) code = Errc::network_error;
  if (result == CURLE_OUT_OF_MEMORY && !deadlines.is_connecting()) code = Errc::response_too_large;
  return {code, std::move(message), status_};
}

// 407: the proxy wants credentials, or others. What else a proxy says may pass.
HttpEnd Transfer::describe_refused_tunnel(long status) const {
  return {status == 407 ? Errc::invalid_config : Errc::network_error,
          "the proxy refused the way to " + peer() + " with HTTP " + std::to_string(status), 0};
}

HttpEnd Transfer::describe_timeout() const {
  if (cut->is_cut()) return describe(CURLE_OK);
  const Errc code = deadlines.code();
  return {code, timeout_text(code) + peer(), status_, !deadlines.is_connecting()};
}

std::string Transfer::peer() const {
  const char* url = nullptr;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  std::string text = host_and_port(url);
  return text.empty() ? "the server" : text;
}

}  // namespace agentcore::net
