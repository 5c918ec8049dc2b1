// Leases: until when subtrees may run, unless their host renews that.
#pragma once

#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"

#include <agentcore/clock.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace agentcore::detail::core {

class Leases;

// The lease of one agent. All times are of Clock::boot_time(): a lease runs while the machine sleeps. To
// renew it, and to notice its end, are both a compare-and-set of its time: so a lease that was renewed has
// not run out, and one that has run out is not renewed. @threadsafe
class Lease {
 public:
  // `above`: the lease of the nearest ancestor that has one. It begins now.
  Lease(Leases& leases, NodeId agent, const Clock& clock, Duration length,
        std::shared_ptr<Lease> above) noexcept;

  NodeId agent() const noexcept { return agent_; }
  const std::shared_ptr<Lease>& above() const noexcept { return above_; }
  // A whole lease from this moment on. False: it has run out.
  bool renew() noexcept;
  // A stopped agent is resumed: gives it a whole lease.
  void reopen() noexcept;
  // True if it has run out; from the first call that returns true until reopen(), it stays so.
  bool is_over() noexcept;
  // True if it has run out, and its agent is still to be stopped; then set_ended() follows, once until
  // reopen(). A mutex of the caller excludes reopen() and other callers.
  bool is_to_end() noexcept { return !has_ended() && is_over(); }
  void set_ended() noexcept { ended_.store(true, std::memory_order_release); }
  // True if its agent was stopped because of it.
  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  // False if it or one above it has run out. Then the agents of these are being stopped.
  bool holds() noexcept;
  // Nothing: it has run out.
  std::optional<TimePoint> until() const noexcept;

 private:
  using Rep = TimePoint::rep;
  static constexpr Rep over = std::numeric_limits<Rep>::min();

  Rep end_from(TimePoint now) const noexcept;

  Leases& leases_;
  const NodeId agent_;
  const Clock& clock_;
  const Duration length_;
  const std::shared_ptr<Lease> above_;
  Atomic<Rep> until_;
  Atomic<bool> ended_{false};
};

// The leases of a tree. An agent that has one has a bit in its packed state; a tree without leases reads one
// atomic value. @threadsafe
class Leases {
 public:
  // Stops the agent of a lease that Lease::is_to_end(). Called on any thread, and may not run code of the
  // host. False: there was no memory; then it has called request_check() and woken the loop.
  using Stop = std::function<bool(Lease& lease)>;
  void set_stop(Stop stop) { stop_ = std::move(stop); }

  // Throws std::bad_alloc. @loop_thread
  void add(Node& node, const Clock& clock, Duration length);
  void remove(NodeId agent) noexcept;
  std::shared_ptr<Lease> find(NodeId agent) const noexcept;
  // The lease of the agent, or of the nearest ancestor that has one; null if there is none.
  std::shared_ptr<Lease> of(const Node& node) const noexcept;
  // To be called before the gates of the agent are read: stops the agents up from `node` whose leases have
  // run out.
  void check(const Node& node) noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    if (const auto lease = of(node)) static_cast<void>(lease->holds());
  }
  // The loop is to call check_all() in its next poll: a lease began, or was reopened, so that its end may
  // come before all others; or there was no memory to stop an agent.
  void request_check() noexcept { wants_check_.store(true, std::memory_order_release); }
  bool take_request() noexcept { return wants_check_.exchange(false, std::memory_order_acq_rel); }
  bool wants_check() const noexcept { return wants_check_.load(std::memory_order_acquire); }
  // Stops all agents whose leases have run out, and returns when the next one will. Nothing: none will.
  std::optional<TimePoint> check_all() noexcept;
  // Stops the agent of a lease that has run out, unless that was done. False: there was no memory.
  bool end(Lease& lease) noexcept;
  std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::size_t find_over(std::span<std::shared_ptr<Lease>> found,
                        std::optional<TimePoint>& next) const noexcept;

  mutable Mutex mutex_;
  std::unordered_map<NodeId, std::shared_ptr<Lease>> leases_ AGENTCORE_GUARDED_BY(mutex_);
  Atomic<std::size_t> count_{0};
  Atomic<bool> wants_check_{false};
  Stop stop_;
};

}  // namespace agentcore::detail::core
