// ConnectionPool: one multi handle of libcurl, with its transfers and connections.
#pragma once

#include "net/curl_multi.hpp"
#include "net/kept_connections.hpp"

#include <cstddef>

#include <curl/curl.h>

namespace agentcore::detail::net {

// A transfer is in the pool from enter() to leave(). Without transfers and connections the multi handle is
// closed, but for that of pool 0, which the next transfer will use. All functions are @loop_thread.
class ConnectionPool {
 public:
  // `number`: that of its sockets in `sockets`.
  ConnectionPool(loop::Engine& engine, SocketTable& sockets, std::size_t number, std::size_t max_idle,
                 bool& is_any_due)
      : number_(number),
        multi_(engine, sockets, number, is_any_due),
        kept_(engine, sockets, multi_, number, max_idle, is_any_due) {}
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  std::size_t number() const noexcept { return number_; }
  CurlMulti& multi() noexcept { return multi_; }
  KeptConnections& kept() noexcept { return kept_; }

  std::size_t transfers() const noexcept { return transfers_; }
  void enter() noexcept { ++transfers_; }
  // `easy`: the handle of the transfer, or null. Takes it out of the multi handle, if it is in there.
  void leave(CURL* easy) noexcept {
    if (easy != nullptr) multi_.remove(easy);
    if (--transfers_ == 0 && number_ != 0 && !kept_.has_any()) kept_.drop();
  }

  // Reports events of a descriptor, or CURL_SOCKET_TIMEOUT, to libcurl.
  void act(curl_socket_t descriptor, int events) noexcept {
    kept_.limit(transfers_);
    multi_.act(descriptor, events);
  }

  void abandon_engine() noexcept {
    multi_.abandon_engine();
    kept_.abandon_engine();
  }

 private:
  const std::size_t number_;
  CurlMulti multi_;  // closed from the release of the last Transport::hold() until the next transfer
  KeptConnections kept_;
  std::size_t transfers_ = 0;
};

}  // namespace agentcore::detail::net
