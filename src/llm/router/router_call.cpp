#include "llm/router/router_call.hpp"

#include "llm/bare_outcome.hpp"
#include "llm/router/attempt.hpp"
#include "llm/router/backoff.hpp"
#include "loop/time.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>

namespace agentcore::detail::llm {
namespace {

// `request` in the form for the route's client.
ChatRequest request_of(ChatRequest request, const RoutePlan& plan) {
  const std::string& model = plan.entry().route.model;
  if (!model.empty()) request.model = model;
  request.deadline = plan.deadline();
  return request;
}

// The back-off after a failed attempt: by the host's function, or by the policy.
Duration delay_after(std::uint32_t attempt, const ChatError& error, const RetryPolicy& retry,
                     loop::Engine& engine) {
  std::optional<Duration> wanted;
  if (retry.backoff) engine.guarded("RetryPolicy::backoff", [&] { wanted = retry.backoff(attempt, error); });
  if (wanted) return std::max(*wanted, Duration(0));
  return backoff_delay(retry, attempt, as_duration(error.retry_after), engine.random());
}

}  // namespace

RouterCall::RouterCall(std::shared_ptr<RouterShared> shared, ChatRequest request)
    : engine_(shared->engine),
      shared_(std::move(shared)),
      number_(++shared_->started),
      agent_id_(request.agent_id),
      tree_(request.tree),
      request_(std::move(request)),
      plan_(*shared_, request_),
      pause_(request_.pause) {
}

template <typename Step>
void RouterCall::run(Step&& step) noexcept {
  const auto self = shared_from_this();
  try {
    std::forward<Step>(step)();
  } catch (const std::bad_alloc&) {
    attempt_stop_.request_stop();
    if (phase_ == Phase::ended) return;
    end(bare_outcome(is_stopped() ? Errc::cancelled : Errc::out_of_memory));
  }
}

void RouterCall::start(StopToken stop, ChatSink sink) {
  auto registration = shared_->active->add({agent_id_, tree_}, shared_from_this());
  if (!registration) return sink.finish(ChatOutcome::failed(ActiveCalls::in_progress("router")));
  shared_->open.emplace(number_, shared_from_this());
  registration_ = std::move(*registration);
  sink_ = std::move(sink);
  engine_->add_pending(1);
  run([&] { begin(std::move(stop)); });
}

void RouterCall::begin(StopToken stop) {
  if (plan_.is_late_at(engine_->now())) return fail(deadline_error({}));
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), StopHeld{weak_from_this()});
  if (!goes_on()) return;
  if (plan_.deadline())
    deadline_timer_ = engine_->start_timer(*plan_.deadline(), [call = weak_from_this()] {
      if (const auto alive = call.lock()) alive->run([&] { alive->on_deadline(); });
    });
  on_pause_ = pause_.on_change([call = weak_from_this()] {
    if (const auto alive = call.lock()) alive->run([&] { alive->on_pause_change(); });
  });
  ChatError why;
  const std::size_t first = plan_.usable(0, why);
  if (first == plan_.routes()) return fail(why);
  if (first > 0) return go_to(first, why);
  plan_.enter(first);
  wait_for_slot();
}

// The attempt is stopped first: its client closes the connection. A running attempt still delivers its
// outcome, and its slot is occupied until then.
bool RouterCall::stop() noexcept {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
  attempt_stop_.request_stop();
  try {
    engine_->post([call = weak_from_this()] {
      const auto alive = call.lock();
      if (alive && alive->phase_ != Phase::ended && alive->phase_ != Phase::attempting)
        alive->end(ChatOutcome::cancelled());
    });
  } catch (const std::bad_alloc&) {  // the end of the attempt, back-off or wait finds the flag
  }
  return true;
}

void RouterCall::cancel() {
  const auto self = shared_from_this();
  stop();
  if (phase_ == Phase::ended) return;  // its client delivered the outcome from within its stop callback
  if (phase_ == Phase::attempting) account_.mark_incomplete();
  end(ChatOutcome::cancelled());
}

// To be called after anything that runs code of the host. False when the call has ended, or ends here.
bool RouterCall::goes_on() {
  if (phase_ == Phase::ended) return false;
  if (!is_stopped()) return true;
  end(ChatOutcome::cancelled());
  return false;
}

void RouterCall::on_pause_change() {
  const bool paused = pause_.is_paused();
  if (phase_ == Phase::backing_off) {
    pause_.set_waiting(paused);
    paused ? backoff_.halt(*engine_) : backoff_.run(*engine_);
  } else if (phase_ == Phase::waiting && paused) {
    wait_for_slot();
  } else if (phase_ == Phase::paused && !paused) {
    pause_.set_waiting(false);
    phase_ = Phase::deciding;
    if (goes_on()) wait_for_slot();
  }
}

// A paused call makes no attempt, and holds no slot; it keeps its place in the queue.
void RouterCall::wait_for_slot() {
  Slots& slots = *shared_->slots;
  if (pause_.is_paused()) {
    slots.leave(*this);
    phase_ = Phase::paused;
    return pause_.set_waiting(true);
  }
  phase_ = Phase::waiting;
  Slot slot;
  const auto admission = slots.acquire(*this,
                                       {.endpoint = plan_.entry().endpoint,
                                        .caller = {agent_id_, tree_},
                                        .tokens = plan_.tokens(),
                                        .max_wait = plan_.max_wait()},
                                       slot);
  if (admission == Slots::Admission::now) use(std::move(slot));
  if (admission == Slots::Admission::full) fail(queue_full_error(slots.waiting()));
}

void RouterCall::on_pause_too_long() {
  run([&] {
    phase_ = Phase::deciding;
    if (goes_on()) leave_route(plan_.pause_error());
  });
}

void RouterCall::on_slot(Slot slot) {
  run([&] { use(std::move(slot)); });
}

// Makes an attempt.
void RouterCall::use(Slot slot) {
  phase_ = Phase::deciding;
  if (pause_.is_paused()) {  // since the slot was granted
    slot.undo();
    return wait_for_slot();
  }
  StopToken stop = attempt_stop_.renew();
  const TimePoint now = engine_->now();
  const RouterShared::RouteEntry& entry = plan_.entry();
  const bool in_time = !is_stopped() && !plan_.is_late_at(now);
  const auto permit = in_time ? entry.breaker->admit(now) : std::nullopt;
  if (permit) return call_client(std::move(slot), *permit, std::move(stop));
  slot.undo();
  attempt_stop_.drop();
  if (!goes_on()) return;
  if (!in_time) return fail(deadline_error(last_error_));
  leave_route(circuit_open_error(entry.route.endpoint, plan_.route(), entry.breaker->open_for(now)));
}

// During this call anything may happen: deltas, the outcome, and through the host's code the destruction of
// the router.
void RouterCall::call_client(Slot slot, const Breaker::Permit& permit, StopToken stop) {
  const RouterShared::RouteEntry& entry = plan_.entry();
  LlmClient& client = *entry.route.client;
  std::unique_ptr<Attempt> receiver;
  try {
    receiver = std::make_unique<Attempt>(shared_from_this(), std::move(slot), entry.breaker, permit, engine_);
  } catch (const std::bad_alloc&) {
    entry.breaker->settle(permit, Health::unknown, engine_->now());
    slot.undo();
    throw;
  }
  phase_ = Phase::attempting;
  plan_.count_attempt();
  ChatSink sink(std::move(receiver));
  // A client that throws loses its sink, and the attempt fails with `client_dropped_call`.
  engine_->guarded("LlmClient::chat", [&] {
    ChatRequest request = plan_.is_last_attempt() ? std::move(request_) : request_;
    client.chat(request_of(std::move(request), plan_), std::move(stop), std::move(sink));
  });
}

// Nothing of an attempt is delivered once the call is stopped, past its deadline or over. A receiver that
// throws stops the call.
template <typename Deliver>
void RouterCall::deliver(Deliver&& deliver) {
  if (phase_ == Phase::ended || is_late_ || is_stopped()) return;
  std::forward<Deliver>(deliver)();
  if (phase_ != Phase::ended && !sink_) stop();
}

void RouterCall::on_delta(std::string_view text) {
  deliver([&] {
    if (!std::exchange(has_delivered_, true)) request_ = {};
    sink_.delta(text);
  });
}

void RouterCall::on_reasoning(std::string_view text) {
  deliver([&] {
    if (!std::exchange(has_delivered_, true)) request_ = {};
    sink_.reasoning(text);
  });
}

void RouterCall::on_rate_limit(const RateLimit& limit) {
  deliver([&] { sink_.rate_limit(limit); });
}

void RouterCall::on_attempt_ended(ChatOutcome outcome, Breaker::Change change) {
  if (phase_ != Phase::ended) run([&] { follow(std::move(outcome), change); });
}

void RouterCall::follow(ChatOutcome outcome, Breaker::Change change) {
  phase_ = Phase::deciding;
  attempt_stop_.drop();
  account_.add(outcome);
  on_circuit(change);
  if (!goes_on()) return;
  if (is_late_) return fail(deadline_error(last_error_));
  if (outcome.kind != ChatOutcome::Kind::failed) return end(std::move(outcome));
  decide(outcome.error);
}

void RouterCall::on_circuit(Breaker::Change change) const {
  if (change == Breaker::Change::none || phase_ == Phase::ended) return;
  const bool opened = change == Breaker::Change::opened;
  const auto shared = shared_;  // the log sink may destroy the router during the call
  engine_->log(opened ? LogLevel::warning : LogLevel::info,
               opened ? "an endpoint's circuit opened" : "an endpoint's circuit closed",
               {{"agent", agent_id_},
                {"route", std::to_string(plan_.route())},
                {"endpoint", plan_.entry().route.endpoint}});
}

// After an attempt that failed: the same route again, the next one, or the end.
void RouterCall::decide(const ChatError& error) {
  last_error_ = error;
  const Verdict verdict = verdict_on(error);
  if (has_delivered_ || verdict == Verdict::final) return fail(error);
  ChatError ignored;
  const std::size_t next = plan_.usable(plan_.route() + 1, ignored);
  const bool has_next = next < plan_.routes();
  bool too_late = false;
  if (plan_.may_try_again(error) && !(has_next && verdict == Verdict::next_route)) {
    const auto shared = shared_;  // the host's function may end the call
    const Duration delay = delay_after(plan_.attempt(), error, shared->retry, *engine_);
    if (!goes_on()) return;
    const TimePoint then = loop::later(engine_->now(), std::max(delay, plan_.pause_of(plan_.route())));
    too_late = plan_.is_late_at(then);
    if (!too_late && plan_.entry().breaker->admits(then)) return back_off(delay, error);
  }
  if (has_next) return go_to(next, error);
  fail(too_late ? deadline_error(error) : plan_.last_error(error));
}

// The call may not use its current route.
void RouterCall::leave_route(const ChatError& why) {
  ChatError ignored;
  const std::size_t next = plan_.usable(plan_.route() + 1, ignored);
  if (next < plan_.routes()) return go_to(next, why);
  if (last_error_.code == Errc::none) return fail(why);
  fail(why.code == Errc::deadline_exceeded ? deadline_error(last_error_) : ChatError(last_error_));
}

void RouterCall::go_to(std::size_t route, const ChatError& error) {
  if (!notify(route, plan_.pause_of(route), error)) return;
  plan_.enter(route);
  wait_for_slot();
}

void RouterCall::back_off(Duration delay, const ChatError& error) {
  if (!notify(plan_.route(), std::max(delay, plan_.pause_of(plan_.route())), error)) return;
  phase_ = Phase::backing_off;
  backoff_ = loop::WaitClock(delay, [call = weak_from_this()] {
    const auto alive = call.lock();
    if (!alive) return;
    alive->run([&] {
      alive->phase_ = Phase::deciding;
      if (alive->goes_on()) alive->wait_for_slot();
    });
  });
  if (pause_.is_paused()) return pause_.set_waiting(true);
  backoff_.run(*engine_);
}

// Reports where and when the call continues. False when the call has ended meanwhile.
bool RouterCall::notify(std::size_t next, Duration delay, const ChatError& error) {
  const auto shared = shared_;
  const bool again = next == plan_.route();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count();
  engine_->log(again ? LogLevel::info : LogLevel::warning,
               again ? "a model call is tried again" : "a model call goes on with another route",
               {{"agent", agent_id_},
                {"route", std::to_string(plan_.route())},
                {"next_route", std::to_string(next)},
                {"attempt", std::to_string(plan_.attempt())},
                {"delay_ms", std::to_string(milliseconds)},
                {"error", to_string(error.code)},
                {"http_status", std::to_string(error.http_status)}});
  if (!goes_on()) return false;
  if (!shared->on_retry) return true;
  const RetryNotice notice{.agent_id = agent_id_,
                           .attempt = plan_.attempt(),
                           .route = plan_.route(),
                           .next_route = next,
                           .delay = delay,
                           .error = error};
  engine_->guarded("RouterOptions::on_retry", [&] { shared->on_retry(notice); });
  return goes_on();
}

// A loop that is late may read the timer before an answer that another thread has posted in time. So an
// attempt ends after what was posted until now; without memory for that, at once.
void RouterCall::on_deadline() {
  if (phase_ != Phase::attempting) return expire();
  try {
    engine_->post([call = weak_from_this()] {
      if (const auto alive = call.lock()) alive->run([&] { alive->expire(); });
    });
  } catch (const std::bad_alloc&) {
    expire();
  }
}

void RouterCall::expire() {
  if (phase_ == Phase::ended) return;
  is_late_ = true;
  if (phase_ == Phase::attempting)
    attempt_stop_.request_stop();
  else if (goes_on())
    fail(deadline_error(last_error_));
}

// An earlier stop takes precedence.
void RouterCall::fail(const ChatError& error) {
  if (is_stopped()) return end(ChatOutcome::cancelled());
  end(ChatOutcome::failed(with_progress(error, plan_.progress())));
}

// After this, only an attempt that its client has not ended refers to this call. The registration is removed
// before the stop callback: a thread that stops the agent now finds no open call afterwards.
void RouterCall::end(ChatOutcome outcome) {
  const auto self = shared_from_this();
  const auto shared = std::exchange(shared_, nullptr);
  phase_ = Phase::ended;
  shared->slots->leave(*this);
  registration_.reset();
  on_stop_.reset();
  attempt_stop_.drop();
  backoff_ = {};
  on_pause_.reset();
  engine_->cancel_timer(deadline_timer_);
  shared->open.erase(number_);
  engine_->add_pending(-1);
  request_ = {};
  account_.write(outcome);
  ChatSink sink = std::move(sink_);
  sink.finish(std::move(outcome));
}

}  // namespace agentcore::detail::llm
