#include "net/curl_multi.hpp"

#include "loop/engine.hpp"
#include "net/transfer.hpp"
#include "net/transfer_callbacks.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

namespace agentcore::detail::net {

namespace {

constexpr int multi_quick_exit = 21;  // CURLMOPT_QUICK_EXIT

}  // namespace

bool CurlMulti::open() {
  if (multi_ != nullptr) return true;
  errno = 0;
  multi_ = curl_multi_init();
  if (multi_ == nullptr) return false;
  connection_limit_ = 0;
  // The same purpose as CURLOPT_QUICK_EXIT: later versions keep the resolver's threads here, and would wait
  // for their end. Earlier versions do not have the option.
  curl_multi_setopt(multi_, static_cast<CURLMoption>(multi_quick_exit), 1L);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  return true;
}

void CurlMulti::close() noexcept {
  if (multi_ != nullptr) curl_multi_cleanup(std::exchange(multi_, nullptr));
  due_ = false;
  if (timer_ != 0 && !engine_gone_) engine_.cancel_timer(std::exchange(timer_, 0));
}

void CurlMulti::limit_connections(long limit) noexcept {
  if (multi_ == nullptr || std::exchange(connection_limit_, limit) == limit) return;
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, limit);
}

void CurlMulti::act(curl_socket_t descriptor, int events) noexcept {
  int running = 0;
  curl_multi_socket_action(multi_, descriptor, events, &running);
}

const CURLMsg* CurlMulti::next_message() noexcept {
  int left = 0;
  return multi_ != nullptr ? curl_multi_info_read(multi_, &left) : nullptr;
}

bool CurlMulti::take_due() noexcept {
  return std::exchange(due_, false);
}

bool CurlMulti::take_unwatched() noexcept {
  return std::exchange(unwatched_, false);
}

// libcurl has one timer. 0: it is due now; -1: it is deleted.
int CurlMulti::on_timer(CURLM*, long milliseconds, void* self) noexcept {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (multi.engine_gone_ || multi.engine_.closed()) return 0;
  if (multi.timer_ != 0) multi.engine_.cancel_timer(std::exchange(multi.timer_, 0));
  multi.due_ = milliseconds == 0;
  if (milliseconds <= 0) return 0;
  const TimePoint when = multi.engine_.now() + std::chrono::milliseconds(milliseconds);
  multi.timer_ = multi.engine_.start_timer(when, [&multi] {
    multi.timer_ = 0;
    multi.due_ = true;  // the transport's round of the same poll runs libcurl
  });
  return 0;
}

int CurlMulti::on_socket(CURL* easy, curl_socket_t descriptor, int what, void* self, void*) noexcept {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (what == CURL_POLL_REMOVE) {
    multi.sockets_.unwant(descriptor);
    return 0;
  }
  loop::IoEvents events = loop::IoEvents::none;
  if ((what & CURL_POLL_IN) != 0) events = events | loop::IoEvents::readable;
  if ((what & CURL_POLL_OUT) != 0) events = events | loop::IoEvents::writable;
  Transfer* const transfer = transfer_of(easy);
  const bool alone = transfer != nullptr && transfer->is_alone();
  const bool watched = alone ? multi.sockets_.want(multi.pool_, descriptor, events, transfer->handle(),
                                                   {transfer, transfer->handler()})
                             : multi.sockets_.want(multi.pool_, descriptor, events, nullptr);
  if (!watched && transfer != nullptr) {
    transfer->answer().fail(Failure::unwatched);
    multi.unwatched_ = true;
  }
  return 0;
}

}  // namespace agentcore::detail::net
