// A scripted TCP server for tests: each connection runs a script on a thread of its own, byte by byte, and
// the server detects by itself when the other side closed the connection.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;

namespace agentcore::test {

class SocketServer;

// One connection, for its script.
class Peer {
 public:
  Peer(SocketServer& server, int descriptor, ssl_st* tls)
      : server_(server), descriptor_(descriptor), tls_(tls) {}

  // Reads one request with its body; empty when the other side closed the connection.
  std::string read_request();
  // Reads the next bytes, which do not count as a request; empty when the other side closed the connection.
  std::string read_piece();
  // False when the other side has closed the connection.
  bool write(std::string_view bytes);
  // Reads and drops until the other side closes or resets.
  void wait_close();
  // Blocks until the test calls SocketServer::step() once more; false when the server is being destroyed.
  bool wait_step();

 private:
  friend class SocketServer;
  long read_some(char* buffer, std::size_t size);

  SocketServer& server_;
  int descriptor_;
  ssl_st* tls_;
  std::string rest_;
  bool saw_close_ = false;
};

class SocketServer {
 public:
  using Script = std::function<void(Peer&)>;
  using Time = std::chrono::steady_clock::time_point;

  // Listens on 127.0.0.1. When the script returns, its connection is closed. `tls`, if given, must outlive
  // it.
  explicit SocketServer(Script script, ssl_ctx_st* tls = nullptr);
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::string url(std::string_view scheme = "http") const;

  int accepted() const noexcept { return accepted_; }
  int requests() const noexcept { return requests_; }
  // Bytes that the scripts have read, of all connections, whole requests or not.
  std::size_t received() const noexcept { return received_; }
  // Connections that the other side closed, as detected by the server.
  int closed() const noexcept { return closed_; }
  Time last_close() const;
  // Connections that the server closed because their script was over.
  int served() const noexcept { return served_; }

  // Why OpenAI or Anthropic would refuse the requests to their paths that the scripts have read.
  std::vector<std::string> refusals() const;

  // Blocks the calling thread until `done`, which is called again after every change here; false after a
  // minute.
  bool wait(const std::function<bool()>& done);
  // Lets one Peer::wait_step() continue.
  void step();
  // Becomes readable after every change here, until read; for drivers that wait for a loop as well.
  int signal_descriptor() const noexcept { return signal_; }

 private:
  friend class Peer;
  struct Connection {
    int descriptor;
    std::thread thread;
  };

  void accept_loop();
  void serve(int descriptor);
  void changed();
  void note_close();
  void check(const std::string& request, std::size_t body_at);

  Script script_;
  ssl_ctx_st* tls_;
  int listener_ = -1;
  int signal_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0}, requests_{0}, closed_{0}, served_{0};
  std::atomic<std::size_t> received_{0};
  std::atomic<bool> stopping_{false};

  mutable std::mutex mutex_;
  std::condition_variable change_;
  int steps_ = 0;
  Time last_close_{};
  std::vector<std::string> refusals_;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

}  // namespace agentcore::test
