// CurlTransport: the Transport, on libcurl's multi handles, driven by the engine's descriptors and timers.
#pragma once

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/connection_pools.hpp"
#include "net/curl_library.hpp"
#include "net/socket_table.hpp"
#include "net/stop_queue.hpp"
#include "net/transfer.hpp"
#include "net/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include <curl/curl.h>

namespace agentcore::detail::net {

// Nothing in libcurl is called from inside one of its callbacks: start() and a cut only queue, and the rounds
// of the loop do the rest. All functions are @loop_thread.
//
// Invariants:
// 1. A transfer is in open_ from start() to the on_end() of its handler, then in ended_ until libcurl has
//    released its easy handle.
// 2. After a call that runs code of the host, no transfer that was looked up before the call is used.
class CurlTransport final : public Transport,
                            public loop::Source,
                            private loop::IoHandler,
                            public std::enable_shared_from_this<CurlTransport> {
 public:
  // The transport of the engine. `pool_size`, of its ConnectionPools, counts for the first call only.
  static std::shared_ptr<CurlTransport> of(loop::Engine& engine,
                                           std::size_t pool_size = ConnectionPools::usual_size);

  CurlTransport(loop::Engine& engine, std::size_t pool_size);
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  std::shared_ptr<CallHandle> make_handle() override { return CallHandle::make(stops_); }
  void start(HttpRequest request, std::shared_ptr<CallHandle> handle,
             std::unique_ptr<HttpHandler> handler) override;
  std::shared_ptr<const void> hold() override;
  std::size_t open() const noexcept override { return open_.size(); }

  // The engine is destroyed, or about to be: closes every socket, then destroys the handlers without a call.
  // Called outside of a poll or at its end, so no function of the transport is on the stack.
  void close();

  void run_control(loop::PollBudget& budget) override;
  void run_round(loop::PollBudget& budget) override;
  bool has_work() const noexcept override;
  bool has_pending() const noexcept override { return !open_.empty(); }

  const std::shared_ptr<StopQueue>& stops() const noexcept { return stops_; }  // for tests

 private:
  void on_io(int descriptor, loop::IoEvents events) override;
  void expect_io(int descriptor) noexcept override { sockets_.prefetch(descriptor); }
  void on_timer(std::uint64_t id);

  bool is_closed() const noexcept { return closed_ || engine_.closed(); }
  void launch(Transfer& transfer);
  void act(ConnectionPool& pool, curl_socket_t descriptor, int events);
  void read_messages(ConnectionPool& pool);
  void end_unwatched();
  void restart(Transfer& transfer);
  void end(Transfer& transfer, HttpEnd end);
  void release_oldest_ended();
  void drop_if_unused();

  using Transfers = std::map<std::uint64_t, std::unique_ptr<Transfer>>;

  const CurlLibrary library_;  // first: released when nothing of libcurl is left
  loop::Engine& engine_;
  SocketTable sockets_;
  ConnectionPools pools_;
  TransferContext context_;
  std::shared_ptr<StopQueue> stops_;

  Transfers open_;
  // Released in the order of starting: libcurl looks for a connection from the oldest on, so that this order
  // finds each at once, and any other takes time linear in their number.
  Transfers ended_;
  std::deque<std::uint64_t> starting_;
  std::uint64_t last_id_ = 0;

  std::weak_ptr<const void> held_;  // the value that hold() gave to clients
  bool unused_ = false;             // the last client released it: no connection is kept
  bool closed_ = false;
};

}  // namespace agentcore::detail::net
