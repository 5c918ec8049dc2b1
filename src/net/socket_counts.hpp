// SocketCounts: how many connections there are, by their use, in all pools and in each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace agentcore::detail::net {

enum class SocketUse : std::uint8_t {
  foreign,  // not made by the library: libcurl's own, only watched; not counted
  busy,     // serves a transfer, or is being connected for one
  idle,     // kept by libcurl for a later transfer
  retired,  // was idle and was shut down by the library; libcurl has not closed it yet
};

// Pools have the numbers from 0 on (ConnectionPool). All functions are @loop_thread.
class SocketCounts {
 public:
  std::size_t pools() const noexcept { return pools_.size(); }
  // Throws std::bad_alloc.
  void add_pool() { pools_.emplace_back(); }

  // The connections of all pools that are idle.
  std::size_t idle() const noexcept { return idle_; }
  std::size_t in(std::size_t pool, SocketUse use) const noexcept { return pools_[pool].by_use[at(use)]; }

  // A connection of that pool has another use now.
  void change(std::size_t pool, SocketUse from, SocketUse to) noexcept {
    Pool& changed = pools_[pool];
    --changed.by_use[at(from)];
    ++changed.by_use[at(to)];
    if (from == SocketUse::idle) --idle_;
    if (to == SocketUse::idle) ++idle_;
    if (to == SocketUse::retired) changed.has_retired = has_retired_ = true;
  }

  // True if a connection of any pool was retired since the last call.
  bool take_retired() noexcept { return std::exchange(has_retired_, false); }
  // The same for one pool.
  bool take_retired(std::size_t pool) noexcept { return std::exchange(pools_[pool].has_retired, false); }

 private:
  struct Pool {
    std::array<std::size_t, 4> by_use{};  // that of `foreign` has no meaning
    bool has_retired = false;             // see take_retired()
  };

  static std::size_t at(SocketUse use) noexcept { return static_cast<std::size_t>(use); }

  std::vector<Pool> pools_;
  std::size_t idle_ = 0;
  bool has_retired_ = false;
};

}  // namespace agentcore::detail::net
