#include "core/leases.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace agentcore::detail::core {

Lease::Lease(Leases& leases, NodeId agent, const Clock& clock, Duration length,
             std::shared_ptr<Lease> above) noexcept
    : leases_(leases),
      agent_(agent),
      clock_(clock),
      length_(length),
      above_(std::move(above)),
      until_(end_from(clock.boot_time())) {
}

Lease::Rep Lease::end_from(TimePoint now) const noexcept {
  const Rep begin = now.time_since_epoch().count();
  const Rep most = std::numeric_limits<Rep>::max();
  return length_.count() > most - std::max(begin, Rep{0}) ? most : begin + length_.count();
}

bool Lease::renew() noexcept {
  Rep until = until_.load(std::memory_order_acquire);
  while (until != over) {
    const TimePoint now = clock_.boot_time();
    const bool in_time = now.time_since_epoch().count() < until;
    // Its end too: another thread may have renewed it since `until` was read.
    const Rep next = in_time ? std::max(until, end_from(now)) : over;
    if (until_.compare_exchange_weak(until, next, std::memory_order_acq_rel)) return in_time;
  }
  return false;
}

void Lease::reopen() noexcept {
  until_.store(end_from(clock_.boot_time()), std::memory_order_release);
  ended_.store(false, std::memory_order_release);
  leases_.request_check();
}

bool Lease::is_over() noexcept {
  Rep until = until_.load(std::memory_order_acquire);
  while (until != over) {
    if (clock_.boot_time().time_since_epoch().count() < until) return false;
    if (until_.compare_exchange_weak(until, over, std::memory_order_acq_rel)) return true;
  }
  return true;
}

bool Lease::holds() noexcept {
  bool all = true;
  for (Lease* lease = this; lease; lease = lease->above_.get()) {
    if (!lease->is_over()) continue;
    all = false;
    static_cast<void>(leases_.end(*lease));
  }
  return all;
}

std::optional<TimePoint> Lease::until() const noexcept {
  const Rep until = until_.load(std::memory_order_acquire);
  if (until == over) return std::nullopt;
  return TimePoint(TimePoint::duration(until));
}

void Leases::add(Node& node, const Clock& clock, Duration length) {
  const Node* const parent = node.parent.load(std::memory_order_acquire);
  auto lease = std::make_shared<Lease>(*this, node.id(), clock, length, parent ? of(*parent) : nullptr);
  const Lock lock(mutex_);
  leases_[node.id()] = std::move(lease);
  count_.store(leases_.size(), std::memory_order_relaxed);
  request_check();
}

void Leases::remove(NodeId agent) noexcept {
  const Lock lock(mutex_);
  leases_.erase(agent);
  count_.store(leases_.size(), std::memory_order_relaxed);
}

std::shared_ptr<Lease> Leases::find(NodeId agent) const noexcept {
  const Lock lock(mutex_);
  const auto found = leases_.find(agent);
  return found == leases_.end() ? nullptr : found->second;
}

std::shared_ptr<Lease> Leases::of(const Node& node) const noexcept {
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_acquire))
    if (up->load().has_lease())
      if (auto lease = find(up->id())) return lease;
  return nullptr;
}

bool Leases::end(Lease& lease) noexcept {
  return lease.has_ended() || !stop_ || stop_(lease);
}

std::optional<TimePoint> Leases::check_all() noexcept {
  std::array<std::shared_ptr<Lease>, 64> over;
  std::optional<TimePoint> next;
  const std::size_t count = find_over(over, next);
  // Not under the lock, because a stop takes the lock of the verbs, under which leases are looked up.
  bool all_ended = count < over.size();
  for (std::size_t i = 0; i < count; ++i) all_ended = end(*over[i]) && all_ended;
  if (!all_ended) request_check();
  return next;
}

// Leases that have run out and whose agents are still to be stopped, as many as `found` takes. `next`: when
// the next of the others will.
std::size_t Leases::find_over(std::span<std::shared_ptr<Lease>> found,
                              std::optional<TimePoint>& next) const noexcept {
  std::size_t count = 0;
  const Lock lock(mutex_);
  for (const auto& [agent, lease] : leases_) {
    if (count == found.size()) break;
    if (lease->is_over()) {
      if (!lease->has_ended()) found[count++] = lease;
    } else if (const auto until = lease->until(); until && (!next || *until < *next)) {
      next = until;
    }
  }
  return count;
}

}  // namespace agentcore::detail::core
