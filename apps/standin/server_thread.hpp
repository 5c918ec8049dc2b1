// ServerThread: a Server on a thread of its own, for tests and demos that want one in their process.
#pragma once

#include "server.hpp"

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace standin {

// Clients can connect when the constructor returns. The destructor stops the server and waits for its thread.
class ServerThread {
 public:
  // Throws std::system_error when it cannot listen.
  explicit ServerThread(Options options = {}) {
    if (const std::error_code error = server_.start(std::move(options))) {
      throw std::system_error(error, "the stand-in cannot listen");
    }
    thread_ = std::thread([this] { server_.run(); });
  }
  ~ServerThread() { stop(); }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  // Ends every connection; records can still be read. Idempotent.
  void stop() {
    if (!thread_.joinable()) return;
    server_.stop();
    thread_.join();
  }

  // Everything that is @threadsafe in it.
  Server& server() noexcept { return server_; }
  Server* operator->() noexcept { return &server_; }

 private:
  Server server_;
  std::thread thread_;
};

}  // namespace standin
