#include "llm/router/slots.hpp"

#include "llm/router/backoff.hpp"

#include <algorithm>
#include <cassert>

namespace agentcore::llm {
namespace {

constexpr int per_turn = 16;  // slots handed out before the loop does something else

bool at_limit(std::uint64_t limit, std::uint64_t count) noexcept {
  return limit != 0 && count >= limit;
}

}  // namespace

Slots::Slots(std::shared_ptr<loop::Engine> engine, CallLimits limits)
    : engine_(std::move(engine)), limits_(limits) {
}

std::shared_ptr<Endpoint> Slots::endpoint(std::string_view name) {
  const auto found = named_.find(name);
  if (found != named_.end()) return found->second;
  auto made = std::make_shared<Endpoint>();
  configure(*made, limits_);
  named_.emplace(name, made);
  return made;
}

std::shared_ptr<Endpoint> Slots::endpoint_of(const LlmClient* client) {
  std::erase_if(nameless_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Endpoint>& known = nameless_[client];
  if (auto alive = known.lock()) return alive;
  auto made = std::make_shared<Endpoint>();
  configure(*made, limits_);
  known = made;
  return made;
}

void Slots::set_endpoint(std::string_view name, const CallLimits& limits) {
  configure(*endpoint(name), limits);
  wake();
}

void Slots::configure(Endpoint& endpoint, const CallLimits& limits) const {
  endpoint.anonymous.endpoint = &endpoint;
  endpoint.limit = limits.per_endpoint;
  endpoint.rate.set_limits(limits.requests_per_minute, limits.tokens_per_minute);
}

Slots::Admission Slots::acquire(Waiter& waiter, Wish wish, Slot& slot) {
  assert(waiter.lane_ == nullptr);
  waiter.endpoint_ = std::move(wish.endpoint);
  waiter.caller_ = wish.caller;
  waiter.tokens_ = wish.tokens;
  waiter.patience_ = wish.patience;
  const bool is_new = waiter.place_ == 0;
  if (is_new) waiter.place_ = ++last_place_;
  enter(waiter);
  const TimePoint now = engine_->now();
  TimePoint later = TimePoint::max();
  if (next(now, later) == &waiter) {
    slot = grant(waiter, now);
    return Admission::now;
  }
  wake_at(later);
  // A pause may have begun while it backed off: whoever has not the patience for it is told, and not left to
  // wait until it is over.
  if (waiter.patience_ < pause_left(*waiter.endpoint_, waiter.tokens_)) wake();
  if (!is_new || limits_.max_waiting == 0 || waiting_ <= limits_.max_waiting) return Admission::later;
  take_out(waiter);
  return Admission::full;
}

void Slots::leave(Waiter& waiter) {
  if (waiter.lane_ == nullptr) return;
  take_out(waiter);
  wake();  // who stood behind it may be able to go
}

void Slots::take_out(Waiter& waiter) {
  Lane* const lane = std::exchange(waiter.lane_, nullptr);
  Endpoint& endpoint = *lane->endpoint;
  lane->waiters.erase(waiter.place_);
  list(*lane);
  endpoint.by_patience.erase({waiter.patience_, waiter.place_});
  if (endpoint.by_patience.empty()) std::erase(wanted_, &endpoint);
  if (lane->caller != nullptr) tidy(callers_.find(waiter.caller_));
  waiter.endpoint_.reset();
  if (--waiting_ == 0) engine_->cancel_timer(std::exchange(timer_, 0));
}

Duration Slots::pause_left(const Endpoint& endpoint, std::uint64_t tokens) const noexcept {
  return endpoint.rate.pause_left(engine_->now(), tokens);
}

std::size_t Slots::running(std::string_view endpoint) const noexcept {
  const auto found = named_.find(endpoint);
  return found == named_.end() ? 0 : found->second->running;
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

void Slots::enter(Waiter& waiter) {
  Endpoint& endpoint = *waiter.endpoint_;
  Lane& lane = lane_for(endpoint, waiter.caller_);
  waiter.lane_ = &lane;
  lane.waiters.emplace(waiter.place_, &waiter);
  list(lane);
  if (endpoint.by_patience.empty()) wanted_.push_back(&endpoint);
  endpoint.by_patience.emplace(std::pair(waiter.patience_, waiter.place_), &waiter);
  ++waiting_;
}

// Puts the lane where it belongs now: in its endpoint's list by its first waiter, unless its caller is at its
// limit.
void Slots::list(Lane& lane) {
  const bool blocked = lane.caller != nullptr && at_limit(limits_.per_agent, lane.caller->running);
  const std::uint64_t place = blocked || lane.waiters.empty() ? 0 : lane.waiters.begin()->first;
  if (lane.listed_as == place) return;
  if (lane.listed_as != 0) lane.endpoint->ready.erase(lane.listed_as);
  if (place != 0) lane.endpoint->ready.emplace(place, &lane);
  lane.listed_as = place;
}

void Slots::list_lanes(Caller& caller) {
  for (const auto& lane : caller.lanes) list(*lane);
}

// Forgets lanes that nobody waits in, and a caller who has nothing left.
void Slots::tidy(Slot::Callers::iterator caller) {
  std::erase_if(caller->second.lanes, [](const auto& lane) { return lane->waiters.empty(); });
  if (caller->second.lanes.empty() && caller->second.running == 0) callers_.erase(caller);
}

// Who goes now: the first in order of those whose endpoint and agent have room. Null: nobody; `later` is then
// when somebody can go if nothing else happens.
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

// Who has less patience than its endpoint asks for. What it asks of a call for its size is heeded by who
// stands first: nobody goes past that one, whatever its size, so the others' turn to be asked comes.
Waiter* Slots::impatient(TimePoint now) const {
  for (const Endpoint* endpoint : wanted_) {
    const auto& [key, waiter] = *endpoint->by_patience.begin();
    if (key.first < endpoint->rate.pause_left(now)) return waiter;
    if (endpoint->ready.empty()) continue;
    Waiter* const head = endpoint->ready.begin()->second->waiters.begin()->second;
    if (head->patience_ < endpoint->rate.pause_left(now, head->tokens_)) return head;
  }
  return nullptr;
}

Slot Slots::grant(Waiter& waiter, TimePoint now) {
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

void Slots::release(Slot& slot) {
  --running_;
  --slot.endpoint_->running;
  if (slot.caller_) {
    --(*slot.caller_)->second.running;
    list_lanes((*slot.caller_)->second);
    tidy(*slot.caller_);
  }
  wake();
}

void Slots::wake() {
  if (woken_ || waiting_ == 0) return;
  woken_ = true;
  engine_->post([self = weak_from_this()] {
    if (const auto alive = self.lock()) alive->hand_out();
  });
}

void Slots::wake_at(TimePoint when) {
  if (when == TimePoint::max() || (timer_ != 0 && timer_when_ <= when)) return;
  engine_->cancel_timer(timer_);
  timer_when_ = when;
  timer_ = engine_->start_timer(when, [self = weak_from_this()] {
    const auto alive = self.lock();
    if (!alive) return;
    alive->timer_ = 0;
    alive->wake();
  });
}

void Slots::hand_out() {
  woken_ = false;
  TimePoint later = TimePoint::max();
  for (int i = 0; i < per_turn; ++i) {
    if (engine_->closed()) return;
    if (!hand_out_one(later)) return wake_at(later);
  }
  wake();
}

// False when there is nothing to do. Who is called may do anything, so nothing is kept across it.
bool Slots::hand_out_one(TimePoint& later) {
  const TimePoint now = engine_->now();
  if (Waiter* const waiter = impatient(now)) {
    take_out(*waiter);
    waiter->on_left_alone();
    return true;
  }
  later = TimePoint::max();
  Waiter* const waiter = next(now, later);
  if (waiter == nullptr) return false;
  waiter->on_slot(grant(*waiter, now));
  return true;
}

Slot& Slot::operator=(Slot&& other) noexcept {
  if (this == &other) return *this;
  release();
  slots_ = std::move(other.slots_);
  endpoint_ = std::move(other.endpoint_);
  caller_ = other.caller_;
  tokens_ = other.tokens_;
  mark_ = other.mark_;
  return *this;
}

void Slot::learn(const RateLimit& limit) {
  if (!slots_ || !slots_->limits_.learn) return;
  endpoint_->rate.learn(limit, mark_, slots_->engine_->now());
  slots_->wake();
}

// An endpoint that refused did not work for it. Of one that was stopped or cut without a word the estimate is
// kept: the endpoint may well have worked.
void Slot::end(const ChatOutcome& outcome) {
  if (!slots_) return;
  const TimePoint now = slots_->engine_->now();
  RateLimiter& rate = endpoint_->rate;
  const bool refused = outcome.kind == ChatOutcome::Kind::failed && outcome.error.http_status >= 400;
  const std::uint64_t used = outcome.usage.total_tokens;
  if (used != 0 || refused) rate.correct(tokens_, used, mark_, now);
  const Duration asked = as_duration(outcome.error.retry_after);
  if (asked > Duration(0) && outcome.error.http_status >= 400 && slots_->limits_.learn)
    rate.pause(asked, now);
  release();
}

void Slot::undo() {
  if (!slots_) return;
  endpoint_->rate.undo(tokens_, mark_, slots_->engine_->now());
  release();
}

void Slot::release() {
  if (const auto slots = std::exchange(slots_, nullptr)) slots->release(*this);
}

}  // namespace agentcore::llm
