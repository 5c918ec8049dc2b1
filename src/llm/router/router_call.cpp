#include "llm/router/router_call.hpp"

#include "llm/router/attempt.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace agentcore::llm {
namespace {

std::optional<TimePoint> earlier_deadline(const ChatRequest& request, const RetryPolicy& retry,
                                          TimePoint now) noexcept {
  if (retry.deadline == Duration(0)) return request.deadline;
  const TimePoint ours = loop::later(now, retry.deadline);
  return request.deadline ? std::min(*request.deadline, ours) : ours;
}

}  // namespace

void StopRouted::operator()() const noexcept {
  if (const auto alive = call.lock()) alive->stop();
}

RouterCall::RouterCall(std::shared_ptr<RouterShared> shared, ChatRequest request)
    : OpenCall(request.agent_id, shared->requests, request.tree),
      engine_(shared->engine),
      shared_(std::move(shared)),
      number_(++shared_->started),
      request_(std::move(request)),
      tokens_(estimated_tokens(request_)),
      deadline_(earlier_deadline(request_, shared_->retry, engine_->now())) {
}

void RouterCall::start(StopToken stop, ChatSink sink) {
  sink_ = std::move(sink);
  shared_->open.emplace(number_, shared_from_this());
  engine_->add_pending(1);
  if (is_late_at(engine_->now())) return fail(deadline_error({}));
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), StopRouted{weak_from_this()});
  if (!goes_on()) return;
  if (deadline_)
    deadline_timer_ = engine_->start_timer(*deadline_, [call = weak_from_this()] {
      if (const auto alive = call.lock()) alive->on_deadline();
    });
  Error why;
  const std::size_t first = usable(0, why);
  if (first == shared_->ways.size()) return fail(why);
  if (first > 0) return try_elsewhere(first, why);
  enter(first);
}

// On the thread that stops.
void RouterCall::cut() noexcept {
  attempt_stop().request_stop();  // the wire first
  try {
    engine_->post([call = weak_from_this()] {
      if (const auto alive = call.lock()) alive->on_stopped();
    });
  } catch (const std::bad_alloc&) {  // then the end of its attempt, its back-off or its wait finds it stopped
  }
}

void RouterCall::cancel() {
  const auto self = shared_from_this();
  stop();
  if (ended()) return;  // its client gave the outcome from within its stop callback
  if (phase_ == Phase::attempting) usage_.complete = false;
  end(ChatOutcome::cancelled());
}

// To be asked after whatever runs code of the host. False when the call has ended, or does so now.
bool RouterCall::goes_on() {
  if (ended()) return false;
  if (!stopped()) return true;
  end(ChatOutcome::cancelled());
  return false;
}

void RouterCall::wait_for_slot() {
  Slots& slots = *shared_->slots;
  phase_ = Phase::waiting;
  Slot slot;
  const auto answer = slots.acquire(*this,
                                    {.endpoint = shared_->ways[route_].endpoint,
                                     .caller = caller(),
                                     .tokens = tokens_,
                                     .patience = patience()},
                                    slot);
  if (answer == Slots::Admission::now) attempt(std::move(slot));
  if (answer == Slots::Admission::full) fail(queue_full_error(slots.waiting()));
}

void RouterCall::on_slot(Slot slot) {
  const auto self = shared_from_this();
  attempt(std::move(slot));
}

void RouterCall::on_left_alone() {
  const auto self = shared_from_this();
  phase_ = Phase::deciding;
  if (goes_on()) pass_over(pause_error(pause_of(route_)));
}

void RouterCall::attempt(Slot slot) {
  phase_ = Phase::deciding;
  // A stopper either finds this stop source, or its stop is seen here.
  StopToken stop = new_attempt_stop();
  const TimePoint now = engine_->now();
  Breaker& breaker = *shared_->ways[route_].breaker;
  const bool in_time = !stopped() && !is_late_at(now);
  const auto permit = in_time ? breaker.admit(now) : std::nullopt;
  if (permit) return call_client(std::move(slot), *permit, std::move(stop));
  slot.undo();
  drop_attempt_stop();
  if (!goes_on()) return;
  if (!in_time) return fail(deadline_error(last_error_));
  pass_over(circuit_open_error(breaker.open_for(now)));
}

// From within it anything may come: deltas, the outcome, and through the host's code the end of everything.
void RouterCall::call_client(Slot slot, const Breaker::Permit& permit, StopToken stop) {
  const RouterShared::Way& way = shared_->ways[route_];
  LlmClient& client = *way.route.client;
  phase_ = Phase::attempting;
  ++attempt_;
  ++attempts_;
  auto receiver =
      std::make_unique<Attempt>(shared_from_this(), std::move(slot), way.breaker, permit, engine_);
  ChatSink sink(std::move(receiver));
  // A client that throws loses its sink, and the attempt fails with `client_dropped_call`.
  engine_->guarded("LlmClient::chat", [&] { client.chat(next_request(), std::move(stop), std::move(sink)); });
}

ChatRequest RouterCall::next_request() {
  const bool last = attempt_ == shared_->retry.max_attempts && route_ + 1 == shared_->ways.size();
  ChatRequest request = last ? std::move(request_) : request_;
  const std::string& model = shared_->ways[route_].route.model;
  if (!model.empty()) request.model = model;
  request.deadline = deadline_;
  return request;
}

StopToken RouterCall::new_attempt_stop() {
  StopSource fresh;
  StopToken token = fresh.get_token();
  const std::lock_guard lock(attempt_mutex_);
  attempt_stop_.swap(fresh);
  return token;
}

StopSource RouterCall::attempt_stop() noexcept {
  const std::lock_guard lock(attempt_mutex_);
  return attempt_stop_;
}

void RouterCall::drop_attempt_stop() noexcept {
  StopSource none(std::nostopstate);  // what it becomes is destroyed after the lock
  const std::lock_guard lock(attempt_mutex_);
  attempt_stop_.swap(none);
}

void RouterCall::on_delta(std::string_view text) {
  if (silenced()) return;
  begin_delivery();
  sink_.delta(text);
  if (!ended() && !sink_) stop();  // its receiver threw
}

void RouterCall::on_reasoning(std::string_view text) {
  if (silenced()) return;
  begin_delivery();
  sink_.reasoning(text);
  if (!ended() && !sink_) stop();
}

void RouterCall::on_rate_limit(const RateLimit& limit) {
  if (silenced()) return;
  sink_.rate_limit(limit);
  if (!ended() && !sink_) stop();
}

// From now on there is no other attempt.
void RouterCall::begin_delivery() {
  if (std::exchange(delivered_, true)) return;
  request_ = {};
}

void RouterCall::on_attempt_ended(ChatOutcome outcome, Breaker::Change change) {
  if (ended()) return;
  phase_ = Phase::deciding;
  drop_attempt_stop();
  account(outcome);
  on_circuit(change);
  if (!goes_on()) return;
  if (late_) return fail(deadline_error(last_error_));
  if (outcome.kind != ChatOutcome::Kind::failed) return end(std::move(outcome));
  decide(outcome.error);
}

void RouterCall::account(const ChatOutcome& outcome) noexcept {
  usage_ += outcome.usage;
  if (outcome.cost) {
    cost_ = cost_.value_or(0) + *outcome.cost;
  } else if (outcome.usage.total_tokens != 0) {
    cost_known_ = false;
  }
}

void RouterCall::on_circuit(Breaker::Change change) const {
  if (change == Breaker::Change::none || ended()) return;
  const bool opened = change == Breaker::Change::opened;
  const auto shared = shared_;  // the sink may destroy the router while it reads
  engine_->log(opened ? LogLevel::warning : LogLevel::info,
               opened ? "an endpoint's circuit opened" : "an endpoint's circuit closed",
               {{"agent", agent_id()},
                {"route", std::to_string(route_)},
                {"endpoint", shared->ways[route_].route.endpoint}});
}

// Of an attempt the outcome will come, and until then its slot is not free.
void RouterCall::on_stopped() {
  if (!ended() && phase_ != Phase::attempting) end(ChatOutcome::cancelled());
}

void RouterCall::on_deadline() {
  late_ = true;
  if (phase_ == Phase::attempting) {
    attempt_stop().request_stop();
  } else if (goes_on()) {
    fail(deadline_error(last_error_));
  }
}

void RouterCall::on_backed_off() {
  timer_ = 0;
  phase_ = Phase::deciding;
  if (goes_on()) wait_for_slot();
}

// A stop that came first wins.
void RouterCall::fail(const Error& error) {
  if (stopped()) return end(ChatOutcome::cancelled());
  const Progress progress{.attempts = attempts_, .route = route_, .routes = shared_->ways.size()};
  end(ChatOutcome::failed(with_progress(error, progress)));
}

// From here on nothing leads to this call but an attempt whose client does not let go.
void RouterCall::end(ChatOutcome outcome) {
  const auto self = shared_from_this();
  const auto shared = std::exchange(shared_, nullptr);
  shared->slots->leave(*this);
  close();  // before the callback goes: whoever stops now must not find the agent busy afterwards
  on_stop_.reset();
  drop_attempt_stop();
  engine_->cancel_timer(timer_);
  engine_->cancel_timer(deadline_timer_);
  shared->open.erase(number_);
  engine_->add_pending(-1);
  request_ = {};
  outcome.usage = usage_;
  outcome.cost = cost_known_ ? cost_ : std::nullopt;
  ChatSink sink = std::move(sink_);
  sink.finish(std::move(outcome));
}

}  // namespace agentcore::llm
