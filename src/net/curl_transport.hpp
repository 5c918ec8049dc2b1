// CurlTransport: the Transport, on one libcurl multi handle driven by the engine's descriptors and timers.
#pragma once

#include "loop/engine.hpp"
#include "net/cut.hpp"
#include "net/cut_queue.hpp"
#include "net/socket_table.hpp"
#include "net/transfer.hpp"
#include "net/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include <curl/curl.h>

namespace agentcore::net {

// Nothing in libcurl is called from inside one of its callbacks: start() and cut() only queue, and the rounds
// of the loop do the rest. A transfer is in open_ from start() to on_end(), then in ended_ until its handle
// is removed. All of it is @loop_thread.
class CurlTransport final : public Transport,
                            public loop::Source,
                            private loop::IoHandler,
                            public std::enable_shared_from_this<CurlTransport> {
 public:
  static std::shared_ptr<CurlTransport> of(loop::Engine& engine);

  explicit CurlTransport(loop::Engine& engine);
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  std::shared_ptr<Cut> make_cut() override { return Cut::make(cuts_); }
  void start(HttpRequest request, std::shared_ptr<Cut> cut, std::unique_ptr<HttpHandler> handler) override;
  std::shared_ptr<const void> hold() override;
  std::size_t open() const noexcept override { return open_.size(); }

  // The engine is gone, or about to go: closes every socket, then destroys the handlers without a call. Comes
  // outside of a poll or at its end, so nothing of ours is on the stack.
  void close();

  void run_control(loop::Budget& budget) override;
  void run_round(loop::Budget& budget) override;
  bool has_work() const noexcept override;
  bool has_pending() const noexcept override { return !open_.empty(); }

  // For Transfer and Cut.
  const std::shared_ptr<CutQueue>& cuts() const noexcept { return cuts_; }
  loop::Engine& engine() noexcept { return engine_; }
  SocketTable& sockets() noexcept { return sockets_; }
  bool http2() const noexcept { return http2_; }
  bool keeps_connections() const noexcept { return max_idle_ > 0; }
  bool closed() const noexcept { return closed_ || engine_.closed(); }
  // Makes sure that a timer runs no later than the transfer's deadline.
  void arm(Transfer& transfer);
  // The transfer found its connection.
  void settle_reuse(Transfer& transfer) noexcept;

 private:
  void on_io(int descriptor, loop::IoEvents events) override;
  void expect_io(int descriptor) noexcept override { sockets_.warm(descriptor); }
  void on_deadline(std::uint64_t id);
  void on_curl_timer();

  void launch(Transfer& transfer);
  void run_due();
  void act(curl_socket_t descriptor, int events);
  void read_messages();
  void end_refused();
  void restart(Transfer& transfer);
  void end(Transfer& transfer, HttpEnd end);
  void reap_one();

  // The connections that are kept (idle_connections.cpp).
  void make_multi();
  void drop_multi();
  void drop_if_unused();
  void limit_connections();
  void settle_connections();
  void sweep();
  void end_sweep();
  bool is_at_rest() const noexcept { return open_.empty() && ended_.empty(); }

  static int on_socket(CURL* easy, curl_socket_t descriptor, int what, void* self, void*) noexcept;
  static int on_timer(CURLM* multi, long milliseconds, void* self) noexcept;

  using Transfers = std::map<std::uint64_t, std::unique_ptr<Transfer>>;

  loop::Engine& engine_;
  SocketTable sockets_;
  std::shared_ptr<CutQueue> cuts_;
  CURLM* multi_ = nullptr;  // null from the release of the last hold() until the next transfer

  Transfers open_;
  // Removed in the order of starting: libcurl looks for a connection from the oldest on, so that this order
  // finds each at once, and any other takes time linear in their number.
  Transfers ended_;
  std::deque<std::uint64_t> starting_;
  std::uint64_t last_id_ = 0;
  std::size_t reuse_hopes_ = 0;

  const std::size_t max_idle_;
  long connection_limit_ = 0;       // the CURLMOPT_MAXCONNECTS that was set last; 0: none yet
  std::weak_ptr<const void> held_;  // what hold() gave to clients
  bool unused_ = false;             // the last client released it: no connection is to be kept
  CURL* sweeper_ = nullptr;         // see sweep()
  bool sweep_due_ = false;
  std::size_t left_retired_ = 0;  // retired connections that the last sweep did not close
  std::uint64_t sweep_timer_ = 0;

  std::uint64_t curl_timer_ = 0;
  bool due_ = false;      // libcurl asked to be run now
  bool refused_ = false;  // the system refused to watch a transfer's socket
  bool closed_ = false;
  bool http2_ = false;  // spoken where TLS and the server allow it
};

}  // namespace agentcore::net
