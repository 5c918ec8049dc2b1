// ConnectionPool: one multi handle of libcurl, with its transfers and connections.
#pragma once

#include "net/curl_multi.hpp"
#include "net/kept_connections.hpp"

#include <cstddef>

#include <curl/curl.h>

namespace agentcore::detail::net {

// A transfer is in the pool from enter() to leave(). All functions are @loop_thread.
class ConnectionPool {
 public:
  // `number`: that of its sockets in `sockets`.
  ConnectionPool(loop::Engine& engine, SocketTable& sockets, std::size_t number, std::size_t max_idle)
      : number_(number), multi_(engine, sockets, number), kept_(engine, sockets, multi_, number, max_idle) {}
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  std::size_t number() const noexcept { return number_; }
  CurlMulti& multi() noexcept { return multi_; }
  KeptConnections& kept() noexcept { return kept_; }

  std::size_t transfers() const noexcept { return transfers_; }
  void enter() noexcept { ++transfers_; }
  // `easy`: the handle of the transfer, or null. Takes it out of the multi handle, if it is in there.
  void leave(CURL* easy) noexcept {
    --transfers_;
    if (easy != nullptr) multi_.remove(easy);
  }
  // True if the multi handle is open for nothing: there is neither a transfer nor a connection.
  bool is_empty() const noexcept { return transfers_ == 0 && multi_.is_open() && !kept_.has_any(); }

  // libcurl asked to be run, or it has retired connections to close.
  bool is_due() const noexcept { return multi_.is_due() || kept_.is_sweep_due(); }

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
  CurlMulti multi_;  // open from the first transfer on, until it is not needed: see ConnectionPools
  KeptConnections kept_;
  std::size_t transfers_ = 0;
};

}  // namespace agentcore::detail::net
