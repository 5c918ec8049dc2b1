// KeptConnections: limits the idle connections that a multi handle keeps for later transfers, and makes
// libcurl close single ones.
#pragma once

#include "net/curl_multi.hpp"
#include "net/socket_table.hpp"

#include <cstddef>
#include <cstdint>

#include <curl/curl.h>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::net {

// All functions are @loop_thread.
class KeptConnections {
 public:
  // `pool`: the number of its sockets in `sockets`. `max_idle` counts for all pools together.
  KeptConnections(loop::Engine& engine, SocketTable& sockets, CurlMulti& multi, std::size_t pool,
                  std::size_t max_idle)
      : engine_(engine), sockets_(sockets), multi_(multi), pool_(pool), max_idle_(max_idle) {}
  KeptConnections(const KeptConnections&) = delete;
  KeptConnections& operator=(const KeptConnections&) = delete;

  bool keeps_any() const noexcept { return max_idle_ > 0; }
  // There is a kept connection, or a retired one that libcurl has not closed yet.
  bool has_any() const noexcept { return count(SocketUse::idle) + count(SocketUse::retired) != 0; }

  // True when an idle connection may be left for another transfer.
  bool may_reuse() const noexcept { return count(SocketUse::idle) > expected_; }
  // A transfer is about to begin. True when an idle connection may be left for it: then the transfer counts
  // as the user of that connection until reuse_decided(). libcurl searches kept connections in time linear in
  // their number, so it should only search when there may be one.
  bool expect_reuse() noexcept;
  void reuse_decided() noexcept { --expected_; }

  // Before each call into libcurl: limits the kept connections while the multi handle has `transfers`.
  void limit(std::size_t transfers) noexcept;
  // After a connection was retired, perhaps one of these: makes a sweep due.
  void note_retired() noexcept;

  // A sweep makes libcurl close the retired connections. When one is due, begin_sweep() adds a transfer for
  // this purpose; libcurl must be run after it if it returns true. The sweep ends with the message of that
  // transfer.
  bool is_sweep_due() const noexcept { return sweep_due_; }
  bool begin_sweep();
  bool is_sweeper(const CURL* easy) const noexcept { return easy == sweeper_; }
  void end_sweep(bool has_transfers);

  // Closes all kept connections. No transfer's easy handle may be in the multi handle any more.
  void drop();
  // The engine is destroyed, or about to be: the object makes no further call to it.
  void abandon_engine() noexcept { engine_gone_ = true; }

 private:
  std::size_t count(SocketUse use) const noexcept { return sockets_.counts().in(pool_, use); }
  void remove_sweeper() noexcept;
  void sweep_later();

  loop::Engine& engine_;
  SocketTable& sockets_;
  CurlMulti& multi_;
  const std::size_t pool_;
  const std::size_t max_idle_;
  std::size_t expected_ = 0;  // transfers that expect to get an idle connection
  CURL* sweeper_ = nullptr;   // null: no sweep runs
  std::uint64_t sweep_timer_ = 0;
  bool sweep_due_ = false;
  bool engine_gone_ = false;
};

}  // namespace agentcore::detail::net
