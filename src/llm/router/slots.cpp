#include "llm/router/slots.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr int grants_per_turn = 16;  // before other tasks of the loop

bool at_limit(std::uint64_t limit, std::uint64_t count) noexcept {
  return count >= std::max<std::uint64_t>(limit, 1);
}

}  // namespace

Slots::Slots(std::shared_ptr<loop::Engine> engine, CallLimits limits)
    : engine_(std::move(engine)),
      limits_(limits),
      endpoints_(limits),
      late_wake_(std::make_shared<LateWake>(*this)) {
  engine_->add_source(late_wake_);
}

Slots::~Slots() {
  engine_->remove_source(late_wake_.get());
}

void Slots::set_endpoint(std::string_view name, const EndpointLimits& limits) {
  endpoints_.set_limits(name, limits);
  wake();
}

Slots::Admission Slots::acquire(Waiter& waiter, SlotRequest request, Slot& slot) {
  assert(waiter.lane_ == nullptr);
  waiter.endpoint_ = std::move(request.endpoint);
  waiter.caller_ = request.caller;
  waiter.tokens_ = request.tokens;
  waiter.max_wait_ = request.max_wait;
  const bool is_new = waiter.place_ == 0;
  if (is_new) waiter.place_ = ++last_place_;
  enter(waiter);
  const TimePoint now = engine_->now();
  TimePoint later = TimePoint::max();
  if (next(now, later) == &waiter) {
    slot = grant(waiter, now);
    return Admission::now;
  }
  try {
    wake_at(later);
  } catch (const std::bad_alloc&) {
    take_out(waiter);
    throw;
  }
  // A pause may have begun while the call backed off: grant_some() rejects a call whose max wait is shorter,
  // and does so before the pause is over.
  if (waiter.max_wait_ < pause_left(*waiter.endpoint_, waiter.tokens_)) wake();
  if (!is_new || waiting_ <= limits_.max_waiting) return Admission::later;
  take_out(waiter);
  return Admission::full;
}

void Slots::leave(Waiter& waiter) noexcept {
  if (waiter.lane_ == nullptr) return;
  take_out(waiter);
  wake();  // a later call in the queue may be able to run
}

void Slots::take_out(Waiter& waiter) noexcept {
  Lane* const lane = std::exchange(waiter.lane_, nullptr);
  Endpoint& endpoint = *lane->endpoint;
  lane->waiters.erase(waiter.place_);
  list(*lane);
  endpoint.by_max_wait.erase({waiter.max_wait_, waiter.place_});
  if (endpoint.by_max_wait.empty()) std::erase(wanted_, &endpoint);
  if (lane->caller != nullptr) tidy(callers_.find(waiter.caller_));
  waiter.endpoint_.reset();
  if (--waiting_ == 0) engine_->cancel_timer(std::exchange(timer_, 0));
}

Duration Slots::pause_left(const Endpoint& endpoint, std::uint64_t tokens) const noexcept {
  return endpoint.rate.pause_left(engine_->now(), tokens);
}

std::size_t Slots::running(std::string_view endpoint) const noexcept {
  const Endpoint* const found = endpoints_.find(endpoint);
  return found == nullptr ? 0 : found->running;
}

Lane& Slots::lane_for(Endpoint& endpoint, const CallerKey& key) {
  if (key.agent_id.empty()) return endpoint.anonymous;
  auto found = callers_.find(key);
  if (found == callers_.end()) {
    auto id = std::make_unique<const std::string>(key.agent_id);
    found = callers_.try_emplace({*id, key.tree}).first;
    found->second.agent_id = std::move(id);
  }
  Caller& caller = found->second;
  for (const auto& lane : caller.lanes)
    if (lane->endpoint == &endpoint) return *lane;
  Lane& lane = *caller.lanes.emplace_back(std::make_unique<Lane>());
  lane.endpoint = &endpoint;
  lane.caller = &caller;
  return lane;
}

// All memory is taken before anything changes that others see.
void Slots::enter(Waiter& waiter) {
  Endpoint& endpoint = *waiter.endpoint_;
  const auto key = std::pair(waiter.max_wait_, waiter.place_);
  try {
    Lane& lane = lane_for(endpoint, waiter.caller_);
    if (lane.listed_as == 0 && lane.unlisted.empty()) {
      std::map<std::uint64_t, Lane*> made{{0, &lane}};
      lane.unlisted = made.extract(made.begin());
    }
    wanted_.reserve(wanted_.size() + 1);
    const bool is_first = endpoint.by_max_wait.empty();
    endpoint.by_max_wait.emplace(key, &waiter);
    lane.waiters.emplace(waiter.place_, &waiter);
    if (is_first) wanted_.push_back(&endpoint);
    waiter.lane_ = &lane;
  } catch (const std::bad_alloc&) {
    endpoint.by_max_wait.erase(key);
    if (const auto caller = callers_.find(waiter.caller_); caller != callers_.end()) tidy(caller);
    waiter.endpoint_.reset();
    throw;
  }
  list(*waiter.lane_);
  ++waiting_;
}

// Updates the position of the lane: in its endpoint's list by its first waiter, or outside of it if its
// caller is at its limit.
void Slots::list(Lane& lane) noexcept {
  const bool blocked = lane.caller != nullptr && at_limit(limits_.per_agent, lane.caller->running);
  const std::uint64_t place = blocked || lane.waiters.empty() ? 0 : lane.waiters.begin()->first;
  if (lane.listed_as == place) return;
  auto& ready = lane.endpoint->ready;
  if (lane.listed_as != 0) lane.unlisted = ready.extract(lane.listed_as);
  if (place != 0) {
    lane.unlisted.key() = place;
    ready.insert(std::move(lane.unlisted));
  }
  lane.listed_as = place;
}

void Slots::list_lanes(Caller& caller) noexcept {
  for (const auto& lane : caller.lanes) list(*lane);
}

// Removes lanes without waiters, and a caller without running and waiting calls.
void Slots::tidy(Callers::iterator caller) noexcept {
  std::erase_if(caller->second.lanes, [](const auto& lane) { return lane->waiters.empty(); });
  if (caller->second.lanes.empty() && caller->second.running == 0) callers_.erase(caller);
}

// The next call that may run: the first in order of those whose endpoint and agent have capacity. Null: there
// is none; `later` is then the time of the next one if nothing else happens.
Waiter* Slots::next(TimePoint now, TimePoint& later) const {
  if (at_limit(limits_.total, running_)) return nullptr;
  Waiter* first = nullptr;
  for (const Endpoint* endpoint : wanted_) {
    if (endpoint->ready.empty() || at_limit(endpoint->limit, endpoint->running)) continue;
    Waiter* const head = endpoint->ready.begin()->second->waiters.begin()->second;
    const TimePoint when = endpoint->rate.ready_at(head->tokens_, now);
    if (when > now) {
      later = std::min(later, when);
    } else if (first == nullptr || head->place_ < first->place_) {
      first = head;
    }
  }
  return first;
}

// A call whose max wait is shorter than the pause of its endpoint. The pause for the size of a call is
// compared for the first call in order only: no other call overtakes it, so the others become first in their
// turn.
Waiter* Slots::next_over_max_wait(TimePoint now) const {
  for (const Endpoint* endpoint : wanted_) {
    const auto& [key, waiter] = *endpoint->by_max_wait.begin();
    if (key.first < endpoint->rate.pause_left(now)) return waiter;
    if (endpoint->ready.empty()) continue;
    Waiter* const head = endpoint->ready.begin()->second->waiters.begin()->second;
    if (head->max_wait_ < endpoint->rate.pause_left(now, head->tokens_)) return head;
  }
  return nullptr;
}

Slot Slots::grant(Waiter& waiter, TimePoint now) noexcept {
  Slot slot;
  slot.slots_ = shared_from_this();
  slot.endpoint_ = waiter.endpoint_;
  slot.tokens_ = waiter.tokens_;
  slot.mark_ = slot.endpoint_->rate.take(waiter.tokens_, now);
  ++slot.endpoint_->running;
  ++running_;
  if (Caller* const caller = waiter.lane_->caller) {
    slot.caller_ = callers_.find(waiter.caller_);
    ++caller->running;
    list_lanes(*caller);
  }
  take_out(waiter);
  return slot;
}

void Slots::release(Slot& slot) noexcept {
  --running_;
  --slot.endpoint_->running;
  if (slot.caller_) {
    --(*slot.caller_)->second.running;
    list_lanes((*slot.caller_)->second);
    tidy(*slot.caller_);
  }
  wake();
}

void Slots::wake() noexcept {
  if (woken_ || waiting_ == 0) return;
  woken_ = true;
  try {
    engine_->post([self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->grant_some();
    });
  } catch (const std::bad_alloc&) {
    wakes_late_ = true;
    engine_->waker()->notify();
  }
}

void Slots::wake_at(TimePoint when) {
  if (when == TimePoint::max() || (timer_ != 0 && timer_when_ <= when)) return;
  engine_->cancel_timer(std::exchange(timer_, 0));
  timer_when_ = when;
  timer_ = engine_->start_timer(when, [self = weak_from_this()] {
    const auto alive = self.lock();
    if (!alive) return;
    alive->timer_ = 0;
    alive->wake();
  });
}

void Slots::grant_some() {
  const auto self = shared_from_this();
  woken_ = wakes_late_ = false;
  TimePoint later = TimePoint::max();
  for (int i = 0; i < grants_per_turn; ++i) {
    if (engine_->closed()) return;
    if (grant_one(later)) continue;
    try {
      return wake_at(later);
    } catch (const std::bad_alloc&) {  // the next poll tries again
      break;
    }
  }
  wake();
}

// False when there is nothing to do. The waiter may change any state, so no reference is kept across its
// call.
bool Slots::grant_one(TimePoint& later) {
  const TimePoint now = engine_->now();
  if (Waiter* const waiter = next_over_max_wait(now)) {
    take_out(*waiter);
    waiter->on_pause_too_long();
    return true;
  }
  later = TimePoint::max();
  Waiter* const waiter = next(now, later);
  if (waiter == nullptr) return false;
  waiter->on_slot(grant(*waiter, now));
  return true;
}

}  // namespace agentcore::detail::llm
