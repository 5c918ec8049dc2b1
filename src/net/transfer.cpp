#include "net/transfer.hpp"

#include "net/curl_error.hpp"
#include "net/curl_transport.hpp"
#include "net/cut.hpp"

#include <utility>

namespace agentcore::net {

Transfer::Transfer(CurlTransport& transport, std::uint64_t number, HttpRequest request,
                   std::shared_ptr<Cut> own_cut, std::unique_ptr<HttpHandler> own_handler)
    : id(number),
      cut(std::move(own_cut)),
      handler(std::move(own_handler)),
      deadlines(request.connect_timeout, request.first_byte_timeout, request.stall_timeout),
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

// Counts bytes of the answer, and says whether they may reach the handler.
bool Transfer::admit(std::size_t bytes) noexcept {
  if (is_over() || failure_ != Errc::none) return false;
  received_ += bytes;
  return received_ <= limit_ ||
         fail(Errc::response_too_large, "the answer is larger than max_response_bytes");
}

bool Transfer::take_head(std::string_view line) {
  if (!admit(line.size())) return false;
  if (opening_ == nullptr || status_ != 0 || !opening_->head.read(line)) return true;
  status_ = opening_->head.status();
  const bool fine =
      transport_.engine().guarded("an HTTP handler", [this] { handler->on_head(opening_->head.head()); });
  return fine || fail(Errc::callback_failed, "the receiver of the answer threw");
}

bool Transfer::take_body(std::string_view bytes) {
  if (!admit(bytes.size())) return false;
  if (deadlines.data_received(transport_.engine().now())) transport_.arm(*this);
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

HttpEnd Transfer::describe(CURLcode result) const {
  if (cut->is_cut()) return {Errc::cancelled, "the transfer was stopped", status_};
  if (failure_ != Errc::none) return {failure_, failure_text_, status_};
  if (result == CURLE_OK) {
    if (status_ != 0) return {Errc::none, {}, status_};
    return {Errc::invalid_response, "the answer had no HTTP head, from " + peer(), 0};
  }
  std::string message = std::string(curl_easy_strerror(result)) + ", talking to " + peer();
  if (opening_ != nullptr && detail_is_safe(result) && opening_->error[0] != '\0')
    message += std::string(": ") + opening_->error.data();
  Errc code = to_errc(result);
  // What libcurl calls an unsupported protocol is the address before, and the answer after the request was
  // sent.
  if (code == Errc::invalid_config && !deadlines.is_connecting()) code = Errc::invalid_response;
  return {code, std::move(message), status_};
}

HttpEnd Transfer::describe_timeout() const {
  if (cut->is_cut()) return describe(CURLE_OK);
  const Errc code = deadlines.code();
  const char* const what = code == Errc::connect_timeout      ? "no connection in time to "
                           : code == Errc::first_byte_timeout ? "no answer in time from "
                                                              : "the answer fell silent, from ";
  return {code, what + peer(), status_};
}

std::string Transfer::peer() const {
  const char* url = nullptr;
  if (easy != nullptr) curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  std::string text = host_and_port(url);
  return text.empty() ? "the server" : text;
}

}  // namespace agentcore::net
