#include "llm/router/router_call.hpp"

#include "llm/router/backoff.hpp"
#include "loop/time.hpp"

#include <algorithm>
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

// Receives one attempt. It holds the slot: a client that does not let go of a call keeps it, even when that
// call has its outcome and the router is gone.
class Attempt final : public ChatSink::Receiver {
 public:
  Attempt(std::shared_ptr<RouterCall> call, Slot slot, std::shared_ptr<Breaker> breaker,
          const Breaker::Permit& permit, std::shared_ptr<loop::Engine> engine)
      : call_(std::move(call)),
        slot_(std::move(slot)),
        breaker_(std::move(breaker)),
        permit_(permit),
        engine_(std::move(engine)) {}

  void on_delta(std::string_view text) override {
    begin_answer();
    call_->on_delta(text);
  }
  void on_reasoning(std::string_view text) override {
    begin_answer();
    call_->on_reasoning(text);
  }
  void on_rate_limit(const RateLimit& limit) override {
    slot_.learn(limit);
    call_->on_rate_limit(limit);
  }
  void on_outcome(ChatOutcome outcome) override {
    slot_.end(outcome);
    const auto change = breaker_->settle(permit_, health_of(outcome), engine_->now());
    call_->on_attempt_ended(std::move(outcome), change);
  }

 private:
  // An endpoint that begins to answer is well: who tries whether it is does not keep others waiting for the
  // end of a long answer. That end counts like any other's.
  void begin_answer() {
    if (!permit_.probe) return;
    const auto change = breaker_->settle(permit_, Health::well, engine_->now());
    permit_ = breaker_->current();
    call_->on_circuit(change);
  }

  const std::shared_ptr<RouterCall> call_;
  Slot slot_;
  const std::shared_ptr<Breaker> breaker_;
  Breaker::Permit permit_;
  const std::shared_ptr<loop::Engine> engine_;
};

}  // namespace

void StopRouted::operator()() const noexcept {
  if (const auto alive = call.lock()) alive->stop();
}

RouterCall::RouterCall(std::shared_ptr<RouterShared> shared, ChatRequest request)
    : OpenCall(request.agent_id, shared->requests),
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
  engine_->post([call = weak_from_this()] {
    if (const auto alive = call.lock()) alive->on_stopped();
  });
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

// The first route from `from` on that may be tried now; else the number of routes. `why` says why not the
// first of those that may not.
std::size_t RouterCall::usable(std::size_t from, Error& why) const {
  const TimePoint now = engine_->now();
  for (std::size_t i = from; i < shared_->ways.size(); ++i) {
    const RouterShared::Way& way = shared_->ways[i];
    const Duration pause = shared_->slots->pause_left(*way.endpoint);
    const bool admits = way.breaker->admits(now);
    if (admits && pause <= shared_->retry.max_retry_after) return i;
    if (why.code == Errc::none)
      why = admits ? left_alone_error(pause) : circuit_open_error(way.breaker->open_for(now));
  }
  return shared_->ways.size();
}

void RouterCall::enter(std::size_t route) {
  route_ = route;
  attempt_ = 0;
  wait_for_slot();
}

// The route that it was to take is closed to it.
void RouterCall::pass_over(const Error& why) {
  Error ignored;
  const std::size_t next = usable(route_ + 1, ignored);
  if (next < shared_->ways.size()) return try_elsewhere(next, why);
  fail(last_error_.code == Errc::none ? why : Error(last_error_));
}

void RouterCall::try_elsewhere(std::size_t next, const Error& error) {
  if (tell(next, Duration(0), error)) enter(next);
}

void RouterCall::try_later(Duration delay, const Error& error) {
  if (!tell(route_, delay, error)) return;
  phase_ = Phase::backing_off;
  timer_ = engine_->start_timer(loop::later(engine_->now(), delay), [call = weak_from_this()] {
    if (const auto alive = call.lock()) alive->on_backed_off();
  });
}

// What becomes of the call after an attempt that failed.
void RouterCall::decide(const Error& error) {
  last_error_ = error;
  const Verdict verdict = verdict_on(error);
  if (delivered_ || verdict == Verdict::final) return fail(error);
  Error ignored;
  const std::size_t next = usable(route_ + 1, ignored);
  const bool has_next = next < shared_->ways.size();
  bool too_late = false;
  if (may_try_again(error) && !(has_next && verdict == Verdict::next_route)) {
    const Duration delay = next_delay(error);
    if (!goes_on()) return;
    const TimePoint then = loop::later(engine_->now(), delay);
    too_late = is_late_at(then);
    if (!too_late && shared_->ways[route_].breaker->admits(then)) return try_later(delay, error);
  }
  if (has_next) return try_elsewhere(next, error);
  fail(too_late ? deadline_error(error) : error);
}

bool RouterCall::may_try_again(const Error& error) const noexcept {
  const RetryPolicy& retry = shared_->retry;
  return error.retryable && attempt_ < retry.max_attempts &&
         as_duration(error.retry_after) <= retry.max_retry_after;
}

Duration RouterCall::next_delay(const Error& error) {
  const auto shared = shared_;  // the host's function may end the call
  std::optional<Duration> wanted;
  if (shared->retry.backoff)
    engine_->guarded("RetryPolicy::backoff", [&] { wanted = shared->retry.backoff(attempt_, error); });
  if (wanted) return std::max(*wanted, Duration(0));
  return backoff_delay(shared->retry, attempt_, as_duration(error.retry_after), engine_->random());
}

// Says where and when the call goes on. False when it does not, after all.
bool RouterCall::tell(std::size_t next, Duration delay, const Error& error) {
  const auto shared = shared_;
  const bool again = next == route_;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count();
  engine_->log(again ? LogLevel::info : LogLevel::warning,
               again ? "a model call is tried again" : "a model call goes on with another route",
               {{"agent", agent_id()},
                {"route", std::to_string(route_)},
                {"next_route", std::to_string(next)},
                {"attempt", std::to_string(attempt_)},
                {"delay_ms", std::to_string(milliseconds)},
                {"error", to_string(error.code)},
                {"http_status", std::to_string(error.http_status)}});
  if (!goes_on()) return false;
  if (!shared->on_retry) return true;
  const RetryNotice notice{.agent_id = agent_id(),
                           .attempt = attempt_,
                           .route = route_,
                           .next_route = next,
                           .delay = delay,
                           .error = error};
  engine_->guarded("RouterOptions::on_retry", [&] { shared->on_retry(notice); });
  return goes_on();
}

void RouterCall::wait_for_slot() {
  Slots& slots = *shared_->slots;
  phase_ = Phase::waiting;
  Slot slot;
  const auto answer = slots.acquire(*this,
                                    {.endpoint = shared_->ways[route_].endpoint,
                                     .agent_id = agent_id(),
                                     .tokens = tokens_,
                                     .patience = shared_->retry.max_retry_after},
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
  const Duration pause = shared_->slots->pause_left(*shared_->ways[route_].endpoint);
  if (goes_on()) pass_over(left_alone_error(pause));
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
  engine_->log(opened ? LogLevel::warning : LogLevel::info,
               opened ? "an endpoint's circuit opened" : "an endpoint's circuit closed",
               {{"agent", agent_id()},
                {"route", std::to_string(route_)},
                {"endpoint", shared_->ways[route_].route.endpoint}});
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

void RouterCall::fail(const Error& error) {
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
