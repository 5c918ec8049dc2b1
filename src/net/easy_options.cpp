#include "net/easy_options.hpp"

#include "core/wipe.hpp"
#include "net/coding.hpp"

#include <cstring>
#include <string>

namespace agentcore::detail::net {

namespace {

// Small, because each of a thousand streams has a buffer, and a streamed chunk has a few hundred bytes; not
// smaller, because with this size a loop that is late reads several chunks at once.
constexpr long receive_buffer = 2048;
constexpr long upload_buffer = 16384;  // libcurl's minimum

// "Never": only the library's own deadlines apply, and 0 would mean libcurl's default of five minutes.
constexpr long no_connect_timeout = 0x7fffffff;

constexpr long keep_alive_idle = 60;      // seconds
constexpr long keep_alive_interval = 15;  // seconds; nine unanswered probes end a connection

// Sets options until one is refused, and keeps the error of that one.
class Setter {
 public:
  explicit Setter(CURL* easy) noexcept : easy_(easy) {}

  template <typename Value>
  Setter& set(CURLoption option, Value value) noexcept {
    if (result_ == CURLE_OK) result_ = curl_easy_setopt(easy_, option, value);
    return *this;
  }
  CURLcode result() const noexcept { return result_; }

 private:
  CURL* easy_;
  CURLcode result_ = CURLE_OK;
};

CURLcode set_request(CURL* easy, const HttpRequest& request, const EasyOptions& options) {
  return Setter(easy)
      .set(CURLOPT_ERRORBUFFER, options.error_buffer)
      .set(CURLOPT_URL, request.url.c_str())
      .set(CURLOPT_PROTOCOLS_STR, "http,https")
      .set(CURLOPT_HTTP_VERSION, options.http2 ? long{CURL_HTTP_VERSION_2TLS} : long{CURL_HTTP_VERSION_1_1})
      .set(CURLOPT_FOLLOWLOCATION, 0L)  // libcurl would send the headers there, too; see Redirect
      .set(CURLOPT_HTTPHEADER, options.headers)
      .set(CURLOPT_ACCEPT_ENCODING, request.compressed ? compressed_codings : plain_coding)
      .set(CURLOPT_POST, 1L)
      .set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()))
      .set(CURLOPT_POSTFIELDS, request.body.c_str())
      .set(CURLOPT_BUFFERSIZE, receive_buffer)
      .set(CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer)
      .result();
}

CURLcode set_connection(CURL* easy, const EasyOptions& options) {
  return Setter(easy)
      .set(CURLOPT_NOSIGNAL, 1L)    // else libcurl installs handlers of its own
      .set(CURLOPT_QUICK_EXIT, 1L)  // else removal waits for a resolver's thread
      .set(CURLOPT_CONNECTTIMEOUT_MS, no_connect_timeout)
      .set(CURLOPT_TCP_NODELAY, 1L)
      .set(CURLOPT_TCP_KEEPALIVE, 1L)  // a dead peer is noticed within minutes of silence
      .set(CURLOPT_TCP_KEEPIDLE, keep_alive_idle)
      .set(CURLOPT_TCP_KEEPINTVL, keep_alive_interval)
      // A connection with HTTP/2 can be joined while it serves other transfers.
      .set(CURLOPT_FRESH_CONNECT, options.fresh_connection && !options.http2 ? 1L : 0L)
      .set(CURLOPT_FORBID_REUSE, options.keep_connection ? 0L : 1L)
      .result();
}

// What makes libcurl use no directory of certificates. Up to 8.20 that is null, which later means the
// directory that libcurl was built with. A path that can be no directory holds no certificate.
const char* no_directory(const curl_version_info_data& built) noexcept {
  return built.version_num >= 0x081500 && built.capath != nullptr ? "/dev/null" : nullptr;
}

CURLcode set_peer(CURL* easy, const HttpRequest& request) {
  Setter options(easy);
  options.set(CURLOPT_SSL_VERIFYPEER, 1L)
      .set(CURLOPT_SSL_VERIFYHOST, 2L)
      .set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Without a directory of certificates libcurl keeps the parsed bundle for all connections; with one it
  // reads everything again for each (from 8.21 on always, if it was built with one). Also, a bundle that the
  // host names must be the only one.
  const bool own_bundle = !request.ca_file.empty();
  if (own_bundle) options.set(CURLOPT_CAINFO, request.ca_file.c_str());
  const curl_version_info_data* const built = curl_version_info(CURLVERSION_NOW);
  if (own_bundle || (built->age >= CURLVERSION_SEVENTH && built->cainfo != nullptr))
    options.set(CURLOPT_CAPATH, own_bundle ? no_directory(*built) : nullptr);
  if (!request.proxy.empty())
    options.set(CURLOPT_PROXY, request.proxy == "none" ? "" : request.proxy.c_str());
  return options.result();
}

}  // namespace

curl_slist* make_headers(const HttpRequest& request) {
  // Expect: a server's "100 Continue" would cost a round trip, or a second of waiting for it.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const std::string& line : request.headers)
    if (curl_slist* const longer = curl_slist_append(list, line.c_str())) list = longer;
  return list;
}

void wipe_and_free(curl_slist* headers) noexcept {
  for (const curl_slist* line = headers; line != nullptr; line = line->next)
    core::wipe(line->data, std::strlen(line->data));
  curl_slist_free_all(headers);
}

CURLcode set_options(CURL* easy, const HttpRequest& request, const EasyOptions& options) {
  CURLcode result = set_request(easy, request, options);
  if (result == CURLE_OK) result = set_connection(easy, options);
  if (result == CURLE_OK) result = set_peer(easy, request);
  return result;
}

}  // namespace agentcore::detail::net
