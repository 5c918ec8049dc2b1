#include "net/transfer.hpp"

#include "core/wipe.hpp"
#include "loop/engine.hpp"
#include "net/ascii.hpp"
#include "net/connection_pool.hpp"
#include "net/easy_options.hpp"
#include "net/end_report.hpp"
#include "net/location.hpp"
#include "net/proxy.hpp"
#include "net/socket_table.hpp"
#include "net/transfer_callbacks.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace agentcore::detail::net {

namespace {

bool is_https(std::string_view url) {
  constexpr std::string_view scheme = "https:";
  return lower(url.substr(0, scheme.size())) == scheme;
}

bool has_bad_proxy(const HttpRequest& request) {
  return !request.proxy.empty() && request.proxy != "none" && !is_proxy_address(request.proxy);
}

long number_of(CURL* easy, CURLINFO info) noexcept {
  long number = 0;
  if (easy != nullptr) curl_easy_getinfo(easy, info, &number);
  return number;
}

curl_socket_t socket_of(CURL* easy) noexcept {
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor);
  return descriptor;
}

}  // namespace

Transfer::Opening::~Opening() {
  wipe_and_free(headers);
  for (std::string& line : request.headers) core::wipe(line);
}

Transfer::Transfer(TransferContext& context, std::uint64_t id, HttpRequest request,
                   std::shared_ptr<CallHandle> handle, std::unique_ptr<HttpHandler> handler)
    : context_(context),
      handle_(std::move(handle)),
      handler_(std::move(handler)),
      answer_(*handler_, request.max_response_bytes),
      id_(id),
      timer_(context.engine,
             {request.connect_timeout, request.first_byte_timeout, request.stall_timeout,
              request.total_timeout, request.deadline},
             [&context, id] { context.on_timer(id); }),
      opening_(std::make_unique<Opening>(std::move(request))) {
  handle_->attach(this);
}

Transfer::~Transfer() {
  if (easy_ != nullptr) curl_easy_cleanup(easy_);
}

bool Transfer::is_over() const noexcept {
  return handle_->is_cut() || has_hung_up_ || context_.engine.closed();
}

std::optional<HttpEnd> Transfer::prepare(ConnectionPool& pool) {
  pool_ = &pool;
  pool.enter();
  if (handle_->is_cut()) return end_of(CURLE_OK);
  timer_.connecting();
  if (timer_.is_due()) return end_by_deadline();
  expects_reuse_ = pool.kept().expect_reuse();
  if (const CURLcode result = make_easy(); result != CURLE_OK) return end_of(result);
  timer_.arm();
  return std::nullopt;
}

CURLcode Transfer::make_easy() {
  easy_ = curl_easy_init();
  if (easy_ == nullptr) return CURLE_OUT_OF_MEMORY;
  const HttpRequest& request = opening_->request;
  if (has_bad_proxy(request)) {
    answer_.fail(Failure::bad_proxy);
    return CURLE_BAD_FUNCTION_ARGUMENT;
  }
  may_share_ = context_.http2 && is_https(request.url);
  opening_->headers = make_headers(request);
  const CURLcode result = set_callbacks(easy_, *this, context_.sockets);
  if (result != CURLE_OK) return result;
  return set_options(easy_, request,
                     {.http2 = may_share_,
                      .fresh_connection = !expects_reuse_,
                      .keep_connection = pool_->kept().keeps_any(),
                      .headers = opening_->headers,
                      .error_buffer = opening_->error.data()});
}

std::unique_ptr<HttpHandler> Transfer::take_handler() {
  timer_.cancel();
  if (std::exchange(expects_reuse_, false)) pool_->kept().reuse_decided();
  hang_up();
  return std::move(handler_);
}

void Transfer::hang_up() {
  has_hung_up_ = true;
  context_.sockets.hang_up(handle_->sockets());
  handle_->attach(nullptr);
}

void Transfer::leave_pool() noexcept {
  if (pool_ == nullptr) return;
  if (std::exchange(expects_reuse_, false)) pool_->kept().reuse_decided();
  std::exchange(pool_, nullptr)->leave(easy_);
}

void Transfer::follow() {
  curl_easy_cleanup(std::exchange(easy_, nullptr));
  HttpRequest request = std::move(opening_->request);
  request.url = answer_.follow();
  --request.max_redirects;
  opening_ = std::make_unique<Opening>(std::move(request));
}

EndFacts Transfer::facts(CURLcode result) const {
  EndFacts facts;
  facts.result = result;
  facts.failure = answer_.failure();
  facts.is_cut = handle_->is_cut();
  facts.request_sent = !timer_.deadlines().is_connecting();
  facts.status = answer_.status();
  facts.os_error = static_cast<int>(number_of(easy_, CURLINFO_OS_ERRNO));
  facts.socket_error = socket_error_;
  facts.tunnel_status = number_of(easy_, CURLINFO_HTTP_CONNECTCODE);
  facts.max_bytes = answer_.max_bytes();
  facts.redirect_refusal = answer_.redirect_refusal();
  const char* url = nullptr;
  if (easy_ != nullptr) curl_easy_getinfo(easy_, CURLINFO_EFFECTIVE_URL, &url);
  const bool is_set = url != nullptr && *url != '\0';  // it may be missing before the transfer begins
  if (!is_set && opening_ != nullptr) url = opening_->request.url.c_str();
  if (std::string peer = url != nullptr ? location_of(url) : std::string(); !peer.empty())
    facts.peer = std::move(peer);
  if (opening_ == nullptr) return facts;
  facts.detail = opening_->error.data();
  facts.ca_file = opening_->request.ca_file;
  return facts;
}

HttpEnd Transfer::end_of(CURLcode result, int socket_error) const {
  EndFacts known = facts(result);
  if (socket_error != 0) known.socket_error = socket_error;
  return report_end(known);
}

HttpEnd Transfer::end_by_deadline() const {
  if (handle_->is_cut()) return end_of(CURLE_OK);
  return report_timeout(facts(CURLE_OK), timer_.deadlines().code(), timer_.deadlines().limit());
}

// A stream may last for hours, but its request is not needed so long. The request is kept while libcurl still
// sends it: a server may answer before it has read everything.
void Transfer::forget_opening() {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
  if (sent < static_cast<curl_off_t>(opening_->request.body.size())) return;
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, nullptr);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, nullptr);
  opening_.reset();
  answer_.forget_head();
}

bool Transfer::take_head(std::string_view line) {
  if (may_share_ && line.starts_with("HTTP/1.")) {
    may_share_ = false;
    const curl_socket_t descriptor = socket_of(easy_);
    if (descriptor != CURL_SOCKET_BAD) context_.sockets.claim(descriptor, handle_, {this, handler_.get()});
  }
  return answer_.take_head(line, opening_ != nullptr ? &opening_->request : nullptr);
}

bool Transfer::take_body(std::string_view bytes) {
  timer_.data_received();
  if (opening_ != nullptr && !answer_.is_redirected()) forget_opening();
  return answer_.take_body(bytes);
}

void Transfer::take_connection() {
  // If the connection may use HTTP/2, later transfers may join it.
  context_.sockets.connected(handle_->sockets(), may_share_);
  timer_.request_sent();
  if (std::exchange(expects_reuse_, false)) pool_->kept().reuse_decided();
}

curl_socket_t Transfer::open_socket(const curl_sockaddr& address) {
  const int descriptor =
      context_.sockets.open(pool_->number(), address.family, address.socktype, address.protocol);
  socket_error_ = descriptor < 0 ? errno : 0;
  return descriptor;
}

std::optional<Reading> reading_of(Transfer& transfer) noexcept {
  if (transfer.easy() == nullptr || transfer.timer().deadlines().is_connecting()) return std::nullopt;
  // Some versions of libcurl name no socket of a connection that serves its first transfer. Only a connection
  // that others may join has no claim.
  const auto& claimed = transfer.handle()->sockets().claimed();
  const curl_socket_t claim = std::max(claimed[0], claimed[1]);
  const curl_socket_t descriptor = claim >= 0 ? claim : socket_of(transfer.easy());
  if (descriptor == CURL_SOCKET_BAD) return std::nullopt;
  curl_off_t bytes = 0;
  curl_easy_getinfo(transfer.easy(), CURLINFO_SIZE_DOWNLOAD_T, &bytes);
  return Reading{descriptor, static_cast<std::int64_t>(bytes)};
}

}  // namespace agentcore::detail::net
