// CurlMulti: libcurl's multi handle, driven by the engine's descriptors and timers.
#pragma once

#include "net/socket_table.hpp"

#include <cstddef>
#include <cstdint>

#include <curl/curl.h>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

// libcurl must not be called from inside one of its callbacks: these only record what libcurl requests, and
// the transport calls act() afterwards. All functions are @loop_thread.
class CurlMulti {
 public:
  // `pool`: the number that its sockets have in `sockets`.
  CurlMulti(loop::Engine& engine, SocketTable& sockets, std::size_t pool)
      : engine_(engine), sockets_(sockets), pool_(pool) {}
  ~CurlMulti() { close(); }
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  // Creates the handle, if there is none. On failure false and errno: libcurl may need a descriptor for it.
  bool open();
  // Releases the handle, and closes all connections that libcurl keeps. No easy handle may be in it any more.
  void close() noexcept;
  bool is_open() const noexcept { return multi_ != nullptr; }

  bool add(CURL* easy) noexcept { return curl_multi_add_handle(multi_, easy) == CURLM_OK; }
  void remove(CURL* easy) noexcept { curl_multi_remove_handle(multi_, easy); }
  // The number of connections, busy and idle, above which libcurl closes one that becomes idle.
  void limit_connections(long limit) noexcept;

  // Reports events of a descriptor, or CURL_SOCKET_TIMEOUT, to libcurl.
  void act(curl_socket_t descriptor, int events) noexcept;
  // The next message of libcurl; null: there is none. Valid until the next call into libcurl.
  const CURLMsg* next_message() noexcept;

  // libcurl asked to be run now, without an event.
  bool is_due() const noexcept { return due_; }
  bool take_due() noexcept;
  // The system refused to watch a transfer's socket, since the last call: see Failure::unwatched.
  bool take_unwatched() noexcept;

  // The engine is destroyed, or about to be: the object makes no further call to it.
  void abandon_engine() noexcept { engine_gone_ = true; }

 private:
  static int on_socket(CURL* easy, curl_socket_t descriptor, int what, void* self, void*) noexcept;
  static int on_timer(CURLM* multi, long milliseconds, void* self) noexcept;

  loop::Engine& engine_;
  SocketTable& sockets_;
  const std::size_t pool_;
  CURLM* multi_ = nullptr;
  long connection_limit_ = 0;  // the CURLMOPT_MAXCONNECTS that was set last; 0: none yet
  std::uint64_t timer_ = 0;
  bool due_ = false;
  bool unwatched_ = false;
  bool engine_gone_ = false;
};

}  // namespace agentcore::detail::net
