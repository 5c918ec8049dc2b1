#include "turn/flights.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace agentcore::turn {
namespace {

// A socket costs its stopper about 10 microseconds, a look at a slot about 10 nanoseconds. These bounds keep
// a stop short whatever the number of open calls.
constexpr std::size_t max_cuts_by_stopper = 8;
constexpr std::size_t max_looks_by_stopper = 256;

bool is_closed(const Flight& flight) {
  return flight.node &&
         !core::admits(*flight.node, core::generation_of(flight.agent), flight.node->load().epoch());
}

}  // namespace

std::uint32_t Flights::open(core::Node& node, Flight::Kind kind, std::uint32_t epoch, std::uint64_t turn,
                            std::unique_ptr<FlightInfo> info) {
  StopSource source;  // allocates: not under the lock
  const std::lock_guard lock(mutex_);
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    // Room for every slot to come back, so that close() never allocates.
    if (free_.capacity() <= slots_.size()) free_.reserve(slots_.size() * 2 + 8);
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  const std::uint32_t before = node.flight.load(std::memory_order_relaxed);
  slots_[slot] = {&node, node.id(), next_serial_++, epoch, before,          0,
                  turn,  0,         kind,           false, std::move(info), std::move(source)};
  if (before) slots_[before - 1].newer = slot + 1;
  open_.fetch_add(1, std::memory_order_seq_cst);
  node.flight.store(slot + 1, std::memory_order_release);
  ++node.flights;
  return slot;
}

void Flights::close(std::uint32_t slot) noexcept {
  StopSource last{std::nostopstate};  // released after the lock
  std::unique_ptr<FlightInfo> info;
  const std::lock_guard lock(mutex_);
  Flight& flight = slots_[slot];
  core::Node& node = *std::exchange(flight.node, nullptr);
  last.swap(flight.stop);
  info.swap(flight.info);
  free_.push_back(slot);
  open_.fetch_sub(1, std::memory_order_relaxed);
  --node.flights;
  if (flight.next) slots_[flight.next - 1].newer = flight.newer;
  if (flight.newer)
    slots_[flight.newer - 1].next = flight.next;
  else
    node.flight.store(flight.next, std::memory_order_release);
}

Flight* Flights::find(std::uint32_t slot, std::uint64_t serial) noexcept {
  Flight& flight = slots_[slot];
  return flight.node && flight.serial == serial ? &flight : nullptr;
}

void Flights::cut(std::uint32_t slot) {
  StopSource source = slots_[slot].stop;  // a copy: the outcome may come at once and free the slot
  source.request_stop();
}

void Flights::cut_closed_below(const core::Node& root, bool with_subtree) {
  if (open_.load(std::memory_order_seq_cst) == 0) return;
  std::array<std::optional<StopSource>, max_cuts_by_stopper> found;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    // Read under the lock: only a slot that is in use now can be in the list.
    for (std::uint32_t own = root.flight.load(std::memory_order_acquire); own && count < found.size();
         own = slots_[own - 1].next)
      if (is_closed(slots_[own - 1])) found[count++] = slots_[own - 1].stop;
    const std::size_t looks = with_subtree ? std::min(slots_.size(), max_looks_by_stopper) : 0;
    for (std::size_t i = 0; i < looks && count < found.size(); ++i) {
      const Flight& flight = slots_[i];
      if (flight.node != &root && is_closed(flight) && core::is_within(flight.node, &root))
        found[count++] = flight.stop;
    }
  }
  for (std::size_t i = 0; i < count; ++i) found[i]->request_stop();
}

void Flights::cut_epoch(const core::Node& node, core::NodeId agent, std::uint32_t epoch) {
  StopSource source{std::nostopstate};
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t own = node.flight.load(std::memory_order_acquire); own; own = slots_[own - 1].next) {
      const Flight& flight = slots_[own - 1];
      if (flight.agent == agent && flight.epoch == epoch && flight.kind == Flight::Kind::model_call)
        source = flight.stop;
    }
  }
  source.request_stop();
}

}  // namespace agentcore::turn
