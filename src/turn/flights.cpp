#include "turn/flights.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace agentcore::turn {
namespace {

// To cut a socket takes the stopping thread 15 to 45 microseconds, a look at a slot some ten nanoseconds.
// These bounds keep a stop short whatever the number of open calls. They are counts, not times: each cut
// costs about the same, a count gives the same result on each run, and the host's clock may stand still.
constexpr std::size_t most_cuts = 200;
constexpr std::size_t most_looks = 16'384;
constexpr std::size_t few_cuts = 8;
constexpr std::size_t few_looks = 256;
constexpr std::size_t looks_per_lock = 256;

// Its gate is closed, and its token not triggered yet.
bool is_to_be_cut(const Flight& flight) {
  return flight.node && !flight.stop.stop_requested() &&
         !core::admits(*flight.node, core::generation_of(flight.agent), flight.node->load().epoch());
}

}  // namespace

// Copies of stop sources, to be triggered without the lock.
struct Flights::Batch {
  std::array<std::optional<StopSource>, 8> sources;
  std::size_t count = 0;

  // Triggers and releases them; returns how many were not triggered before.
  std::size_t trigger() {
    std::size_t triggered = 0;
    for (std::size_t i = 0; i < count; ++i) {
      triggered += sources[i]->request_stop() ? 1U : 0U;
      sources[i].reset();
    }
    count = 0;
    return triggered;
  }
};

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

std::size_t Flights::cut_closed_below(const core::Node& root, bool with_subtree, StopCut cut) {
  if (open_.load(std::memory_order_seq_cst) == 0) return 0;
  const bool few = cut == StopCut::few;
  const std::size_t most = few ? few_cuts : most_cuts;
  const std::size_t looks = few ? few_looks : most_looks;
  Batch batch;
  bool done = copy_own(root, batch);
  std::size_t count = batch.trigger();
  // What flies below was opened under the lock, and its agent linked before: after copy_own() that is seen.
  if (with_subtree && root.first_child.load(std::memory_order_relaxed) != core::no_node) done = false;
  for (std::size_t next = 0; !done && next < looks && count < most; count += batch.trigger())
    done = copy_closed(root, with_subtree, next, std::min(batch.sources.size(), most - count), batch);
  if (!done) left_.store(true, std::memory_order_release);
  return count;
}

// The newest flights of the agent itself, found by its list. True: the list has no others.
bool Flights::copy_own(const core::Node& root, Batch& batch) {
  const std::lock_guard lock(mutex_);
  // Read under the lock: only a slot that is in use now can be in the list.
  std::uint32_t own = root.flight.load(std::memory_order_acquire);
  for (; own && batch.count < batch.sources.size(); own = slots_[own - 1].next)
    if (is_to_be_cut(slots_[own - 1])) batch.sources[batch.count++] = slots_[own - 1].stop;
  return own == 0;
}

// Looks at a part of the slots, from `next` on, and moves `next` behind them: the loop must not wait long for
// the lock. True: there are no more slots.
bool Flights::copy_closed(const core::Node& root, bool with_subtree, std::size_t& next, std::size_t room,
                          Batch& batch) {
  const std::lock_guard lock(mutex_);
  const std::size_t end = std::min(slots_.size(), next + looks_per_lock);
  for (; next < end && batch.count < room; ++next) {
    const Flight& flight = slots_[next];
    if (is_to_be_cut(flight) &&
        (flight.node == &root || (with_subtree && core::is_within(flight.node, &root))))
      batch.sources[batch.count++] = flight.stop;
  }
  return next >= slots_.size();
}

void Flights::cut_left() {
  if (!left_.exchange(false, std::memory_order_acquire)) return;
  for (std::uint32_t slot = 0; slot < slots(); ++slot)
    if (is_to_be_cut(slots_[slot])) cut(slot);
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
