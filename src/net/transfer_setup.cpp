// How a Transfer sets its easy handle up, and what libcurl calls on it.
#include "core/wipe.hpp"
#include "net/ascii.hpp"
#include "net/coding.hpp"
#include "net/curl_transport.hpp"
#include "net/cut.hpp"
#include "net/proxy.hpp"
#include "net/transfer.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace agentcore::net {

namespace {

// Small, because a thousand streams have one each, and a streamed chunk is a few hundred bytes; not smaller,
// because a loop that fell behind reads several chunks at once with it.
constexpr long receive_buffer = 2048;
constexpr long upload_buffer = 16384;  // libcurl's minimum

// "Never": only our own deadlines decide, and 0 would mean libcurl's default of five minutes.
constexpr long no_connect_timeout = 0x7fffffff;

constexpr long keep_alive_idle = 60;      // seconds
constexpr long keep_alive_interval = 15;  // seconds; nine unanswered probes end a connection

// Sets options until one is refused, and remembers that.
class Options {
 public:
  explicit Options(CURL* easy) noexcept : easy_(easy) {}

  template <typename Value>
  Options& set(CURLoption option, Value value) noexcept {
    if (result_ == CURLE_OK) result_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  CURLcode result() const noexcept { return result_; }

 private:
  CURL* easy_;
  CURLcode result_ = CURLE_OK;
};

curl_slist* make_list(const std::vector<std::string>& lines) {
  // Expect: a server's "100 Continue" would cost a round trip, or a second of waiting for it.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const std::string& line : lines)
    if (curl_slist* const longer = curl_slist_append(list, line.c_str())) list = longer;
  return list;
}

bool is_https(std::string_view url) {
  constexpr std::string_view scheme = "https:";
  return lower(url.substr(0, scheme.size())) == scheme;
}

}  // namespace

CURLcode Transfer::prepare(bool fresh) {
  easy = curl_easy_init();
  if (easy == nullptr) return CURLE_OUT_OF_MEMORY;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(this));
  may_share_ = transport_.http2() && is_https(opening_->request.url);
  // One that serves others just now can be joined.
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh && !may_share_ ? 1L : 0L);
  CURLcode result = set_callbacks(*opening_);
  if (result == CURLE_OK) result = set_request(*opening_);
  if (result == CURLE_OK) result = set_peer(*opening_);
  const std::string& proxy = opening_->request.proxy;
  if (result == CURLE_OK && !proxy.empty() && proxy != "none" && !is_proxy_address(proxy)) {
    fail(Failure::bad_proxy);
    result = CURLE_BAD_FUNCTION_ARGUMENT;
  }
  return result;
}

void Transfer::Opening::wipe_headers() noexcept {
  for (const curl_slist* line = headers; line != nullptr; line = line->next)
    core::wipe(line->data, std::strlen(line->data));
  curl_slist_free_all(headers);
  for (std::string& line : request.headers) core::wipe(line);
}

CURLcode Transfer::set_request(Opening& opening) {
  opening.headers = make_list(opening.request.headers);
  const std::string& body = opening.request.body;
  return Options(easy)
      .set(CURLOPT_URL, opening.request.url.c_str())
      .set(CURLOPT_PROTOCOLS_STR, "http,https")
      .set(CURLOPT_HTTP_VERSION, may_share_ ? long{CURL_HTTP_VERSION_2TLS} : long{CURL_HTTP_VERSION_1_1})
      .set(CURLOPT_FOLLOWLOCATION, 0L)  // it would take headers along; see Redirect
      .set(CURLOPT_HTTPHEADER, opening.headers)
      .set(CURLOPT_ACCEPT_ENCODING, opening.request.compressed ? compressed_codings : plain_coding)
      .set(CURLOPT_POST, 1L)
      .set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()))
      .set(CURLOPT_POSTFIELDS, body.c_str())
      .set(CURLOPT_BUFFERSIZE, receive_buffer)
      .set(CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer)
      .result();
}

CURLcode Transfer::set_peer(const Opening& opening) {
  Options options(easy);
  options
      .set(CURLOPT_NOSIGNAL, 1L)    // else libcurl installs handlers of its own
      .set(CURLOPT_QUICK_EXIT, 1L)  // else removal waits for a resolver's thread
      .set(CURLOPT_CONNECTTIMEOUT_MS, no_connect_timeout)
      .set(CURLOPT_TCP_NODELAY, 1L)
      .set(CURLOPT_TCP_KEEPALIVE, 1L)  // a peer that is gone is noticed within minutes of silence
      .set(CURLOPT_TCP_KEEPIDLE, keep_alive_idle)
      .set(CURLOPT_TCP_KEEPINTVL, keep_alive_interval)
      .set(CURLOPT_SSL_VERIFYPEER, 1L)
      .set(CURLOPT_SSL_VERIFYHOST, 2L)
      .set(CURLOPT_FORBID_REUSE, transport_.keeps_connections() ? 0L : 1L)
      .set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Without a directory of certificates libcurl keeps the parsed bundle for all connections; with one it
  // reads everything again for each. And a bundle that the host names is to be the only one.
  const bool own_bundle = !opening.request.ca_file.empty();
  if (own_bundle) options.set(CURLOPT_CAINFO, opening.request.ca_file.c_str());
  const curl_version_info_data* const built = curl_version_info(CURLVERSION_NOW);
  if (own_bundle || (built->age >= CURLVERSION_SEVENTH && built->cainfo != nullptr))
    options.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  const std::string& proxy = opening.request.proxy;
  if (!proxy.empty()) options.set(CURLOPT_PROXY, proxy == "none" ? "" : proxy.c_str());
  return options.result();
}

CURLcode Transfer::set_callbacks(Opening& opening) {
  void* const self = this;
  return Options(easy)
      .set(CURLOPT_ERRORBUFFER, opening.error.data())
      .set(CURLOPT_WRITEFUNCTION, &Transfer::on_write)
      .set(CURLOPT_WRITEDATA, self)
      .set(CURLOPT_HEADERFUNCTION, &Transfer::on_header)
      .set(CURLOPT_HEADERDATA, self)
      .set(CURLOPT_PREREQFUNCTION, &Transfer::on_request)
      .set(CURLOPT_PREREQDATA, self)
      .set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open)
      .set(CURLOPT_OPENSOCKETDATA, self)
      .set(CURLOPT_CLOSESOCKETFUNCTION, &Transfer::on_close)
      // A connection outlives the transfer that opened it.
      .set(CURLOPT_CLOSESOCKETDATA, static_cast<void*>(&transport_))
      .result();
}

// What these two return, if not the size, makes libcurl end the transfer.

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  const std::string_view line(data, size * count);
  return static_cast<Transfer*>(self)->take_head(line) ? line.size() : CURL_WRITEFUNC_ERROR;
}

std::size_t Transfer::on_write(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  const std::string_view bytes(data, size * count);
  return static_cast<Transfer*>(self)->take_body(bytes) ? bytes.size() : CURL_WRITEFUNC_ERROR;
}

// Connected, and about to send the request. The last look before that: when a kept connection turns out dead,
// libcurl tries again on another, and what looks dead to it may be what a cut has just shut down.
int Transfer::on_request(void* self, char*, char*, int, int) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.is_over()) return CURL_PREREQFUNC_ABORT;
  if (transfer.may_share_) transfer.leave_socket();
  if (transfer.deadlines.request_sent(transfer.transport_.engine().now())) transfer.transport_.arm(transfer);
  transfer.transport_.settle_reuse(transfer);
  return CURL_PREREQFUNC_OK;
}

curl_socket_t Transfer::on_open(void* self, curlsocktype, curl_sockaddr* address) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.is_over()) return CURL_SOCKET_BAD;
  const int descriptor =
      transfer.transport_.sockets().open(address->family, address->socktype, address->protocol);
  transfer.socket_error_ = descriptor < 0 ? errno : 0;
  return descriptor;
}

int Transfer::on_close(void* transport, curl_socket_t descriptor) noexcept {
  static_cast<CurlTransport*>(transport)->sockets().close(descriptor);
  return 0;
}

}  // namespace agentcore::net
