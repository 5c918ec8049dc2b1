#include "net/kept_connections.hpp"

#include "loop/engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace agentcore::detail::net {

namespace {

// libcurl checks for dead connections at the start of a transfer, and at most once a second.
constexpr Duration between_sweeps = std::chrono::milliseconds(1050);

curl_socket_t open_none(void*, curlsocktype, curl_sockaddr*) noexcept {
  return CURL_SOCKET_BAD;
}

}  // namespace

bool KeptConnections::expect_reuse() noexcept {
  const bool is_expected = may_reuse();
  if (is_expected) ++expected_;
  return is_expected;
}

// libcurl limits the sum of busy and idle connections of a multi handle. It checks the limit when a
// connection becomes idle, and closes the one that is idle longest if there are too many. The number of
// connections that will be busy then is estimated from above; settle_idle() retires the excess that libcurl
// keeps.
void KeptConnections::limit(std::size_t transfers) noexcept {
  const std::size_t busy = std::max(count(SocketUse::busy), transfers);
  const std::size_t elsewhere = sockets_.counts().idle() - count(SocketUse::idle);
  const std::size_t idle = max_idle_ - std::min(max_idle_, elsewhere);
  multi_.limit_connections(static_cast<long>(std::max<std::size_t>(busy + idle, 2) - 1));
}

void KeptConnections::note_retired() noexcept {
  sweep_due_ = sockets_.counts().take_retired(pool_) || sweep_due_;
}

// libcurl has no function that closes one kept connection. But whenever a transfer begins, it closes the kept
// connections that it finds dead. So this transfer begins, and fails because it gets no socket. It must not
// use a kept connection: with one to port 80 of this machine it would send its request. Therefore it asks for
// a local port that no other transfer asks for. CURLOPT_FRESH_CONNECT would do, too, but libcurl 8.22 does
// not look for dead connections then.
bool KeptConnections::begin_sweep() {
  if (!std::exchange(sweep_due_, false)) return false;
  if (count(SocketUse::retired) == 0 || !multi_.is_open() || sweeper_ != nullptr) return false;
  sweeper_ = curl_easy_init();
  if (sweeper_ == nullptr) {
    sweep_later();
    return false;
  }
  curl_easy_setopt(sweeper_, CURLOPT_URL, "http://127.0.0.1/");
  curl_easy_setopt(sweeper_, CURLOPT_PROXY, "");
  curl_easy_setopt(sweeper_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(sweeper_, CURLOPT_LOCALPORT, 1L);
  curl_easy_setopt(sweeper_, CURLOPT_OPENSOCKETFUNCTION, &open_none);
  if (multi_.add(sweeper_)) return true;
  remove_sweeper();
  sweep_later();
  return false;
}

void KeptConnections::remove_sweeper() noexcept {
  CURL* const sweeper = std::exchange(sweeper_, nullptr);
  multi_.remove(sweeper);
  curl_easy_cleanup(sweeper);
}

// The remaining connections were retired less than a second after libcurl's last check: a timer starts
// another sweep. Under a manual clock there is no timer, because libcurl's own clock does not follow it.
void KeptConnections::end_sweep(bool has_transfers) {
  remove_sweeper();
  if (engine_gone_ || engine_.closed() || count(SocketUse::retired) == 0) return;
  if (!has_transfers && count(SocketUse::idle) == 0) return drop();
  sweep_later();
}

void KeptConnections::sweep_later() {
  if (!engine_.clock().runs_by_itself() || sweep_timer_ != 0) return;
  sweep_timer_ = engine_.start_timer(engine_.now() + between_sweeps, [this] {
    sweep_timer_ = 0;
    sweep_due_ = true;
  });
}

void KeptConnections::drop() {
  if (sweeper_ != nullptr) remove_sweeper();
  multi_.close();
  sweep_due_ = false;
  if (sweep_timer_ != 0 && !engine_gone_) engine_.cancel_timer(std::exchange(sweep_timer_, 0));
}

}  // namespace agentcore::detail::net
