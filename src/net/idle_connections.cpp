// The connections that CurlTransport keeps for the next transfers: how many, for how long, and how libcurl is
// made to close one of them.
#include "net/curl_transport.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::net {

namespace {

// libcurl looks for dead connections at the start of a transfer, and at most once a second.
constexpr Duration between_sweeps = std::chrono::milliseconds(1050);

curl_socket_t open_none(void*, curlsocktype, curl_sockaddr*) noexcept {
  return CURL_SOCKET_BAD;
}

}  // namespace

// The last hold may be released while handles are still being removed, or from inside a handler's call: then
// run_round() drops the connections, once no transfer is left.
std::shared_ptr<const void> CurlTransport::hold() {
  if (auto held = held_.lock()) return held;
  unused_ = false;
  std::shared_ptr<const void> held(this, [weak = weak_from_this()](const CurlTransport*) {
    const auto self = weak.lock();
    if (self == nullptr || self->closed()) return;
    self->unused_ = true;
    self->drop_if_unused();
  });
  held_ = held;
  return held;
}

void CurlTransport::drop_if_unused() {
  if (unused_ && is_at_rest()) drop_multi();
}

// Closes all kept connections. No transfer's handle may be in the multi handle any more.
void CurlTransport::drop_multi() {
  if (sweeper_ != nullptr) end_sweep();
  if (multi_ != nullptr) curl_multi_cleanup(std::exchange(multi_, nullptr));
  left_retired_ = 0;
  due_ = sweep_due_ = false;
  if (closed_) return;  // the engine may be gone
  if (curl_timer_ != 0) engine_.cancel_timer(std::exchange(curl_timer_, 0));
  if (sweep_timer_ != 0) engine_.cancel_timer(std::exchange(sweep_timer_, 0));
}

// libcurl limits the sum of busy and idle connections. It compares when a connection becomes idle, and closes
// the one that is idle longest if there are too many. The number of those that will be busy then is estimated
// from above; settle_idle() retires those that libcurl keeps in excess.
void CurlTransport::limit_connections() {
  const std::size_t busy = std::max(sockets_.busy(), open_.size());
  const auto limit = static_cast<long>(std::max<std::size_t>(busy + max_idle_, 2) - 1);
  if (std::exchange(connection_limit_, limit) != limit)
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, limit);
}

void CurlTransport::settle_connections() {
  sockets_.settle_idle(max_idle_);
  if (sockets_.retired() > left_retired_) sweep_due_ = true;
  left_retired_ = std::min(left_retired_, sockets_.retired());
}

// libcurl has no call that closes one kept connection. But whenever a transfer begins, it closes the kept
// connections that it finds dead. So this transfer begins, and fails because it gets no socket. It must not
// use a kept connection: with one to port 80 of this machine it would send its request.
void CurlTransport::sweep() {
  sweep_due_ = false;
  if (sockets_.retired() == 0 || multi_ == nullptr || sweeper_ != nullptr) return;
  sweeper_ = curl_easy_init();
  if (sweeper_ == nullptr) return;
  curl_easy_setopt(sweeper_, CURLOPT_URL, "http://127.0.0.1/");
  curl_easy_setopt(sweeper_, CURLOPT_PROXY, "");
  curl_easy_setopt(sweeper_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(sweeper_, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(sweeper_, CURLOPT_OPENSOCKETFUNCTION, &open_none);
  if (curl_multi_add_handle(multi_, sweeper_) != CURLM_OK)
    end_sweep();
  else
    act(CURL_SOCKET_TIMEOUT, 0);
}

// Connections that are left were retired less than a second after libcurl's last look: a timer starts another
// sweep. Under a manual clock there is none, because libcurl's own clock does not follow it.
void CurlTransport::end_sweep() {
  CURL* const sweeper = std::exchange(sweeper_, nullptr);
  curl_multi_remove_handle(multi_, sweeper);
  curl_easy_cleanup(sweeper);
  left_retired_ = sockets_.retired();
  if (closed() || left_retired_ == 0) return;
  if (is_at_rest() && sockets_.idle() == 0) return drop_multi();
  if (!engine_.clock().runs_by_itself() || sweep_timer_ != 0) return;
  sweep_timer_ = engine_.start_timer(engine_.now() + between_sweeps, [this] {
    sweep_timer_ = 0;
    sweep_due_ = true;
  });
}

}  // namespace agentcore::net
