#include "llm/http/http_call.hpp"

#include "llm/dialects/own_reasoning.hpp"
#include "llm/http/rate_headers.hpp"

#include <chrono>
#include <new>
#include <utility>

namespace agentcore::detail::llm {
namespace {

// The longest time between the end of the stream's content and the end of the transfer, before the connection
// is closed. If the transfer ends in time, the connection can be used again; the answer does not need it.
constexpr Duration max_end_wait = std::chrono::milliseconds(250);

}  // namespace

HttpCall::HttpCall(std::shared_ptr<HttpShared> shared, HttpCallParts parts, const ChatRequest& request,
                   StopToken stop, ChatSink sink)
    : shared_(std::move(shared)),
      parts_(std::move(parts)),
      sink_(std::move(sink)),
      answer_(*shared_, request, *this, std::move(parts_.binding)),
      place_(shared_->open.size()) {
  shared_->open.push_back(this);
  shared_->engine->add_pending(1);
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), core::StopOnRequest{parts_.handle.get()});
}

HttpCall::~HttpCall() {
  if (is_open_) cancel();  // the transport was destroyed before the transfer ended
}

void HttpCall::on_head(const net::HttpHead& head) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(shared_->engine->clock().wall_time());
  answer_.begin(head, now);
  if (head.status < 300) parts_.again = nullptr;  // it holds a copy of the request
  if (const auto limit = rate_limit(head, now); limit && !parts_.handle->is_stopped())
    sink_.rate_limit(*limit);
}

bool HttpCall::on_body(std::string_view bytes) {
  if (!sink_ || parts_.handle->is_stopped()) return false;
  const bool goes_on = answer_.feed(bytes);
  if (answer_.is_complete() && is_open_ && end_timer_ == 0) start_end_timer();
  return goes_on;
}

bool HttpCall::on_text(std::string_view text) {
  if (!is_wanted()) return false;
  sink_.delta(text);
  return is_wanted();
}

bool HttpCall::on_reasoning_text(std::string_view text) {
  if (!is_wanted()) return false;
  sink_.reasoning(text);
  return is_wanted();
}

// False when the call is over: stopped, or its receiver or the Runtime is destroyed.
bool HttpCall::is_wanted() const noexcept {
  return sink_ && !parts_.handle->is_stopped() && !shared_->engine->closed();
}

void HttpCall::start_end_timer() {
  auto& engine = *shared_->engine;
  end_timer_ = engine.start_timer(engine.now() + max_end_wait, [handle = parts_.handle] { handle->cut(); });
}

// Without memory the call fails: no other end would follow.
void HttpCall::on_end(net::HttpEnd end) {
  try {
    follow_end(end);
  } catch (const std::bad_alloc&) {
    leave();
    const bool is_cancelled = parts_.handle->is_stopped();
    sink_.finish(answer_.without_memory(is_cancelled ? Errc::cancelled : Errc::out_of_memory));
  }
}

void HttpCall::follow_end(const net::HttpEnd& end) {
  const net::CallHandle& handle = *parts_.handle;
  const bool is_cancelled = !sink_ || handle.is_stopped();
  // The text of a whole body is delivered in finish(): the call is open until then, and its receiver may stop
  // it.
  ChatOutcome outcome = is_cancelled ? answer_.cancelled(end) : answer_.finish(end);
  restore_names(outcome.tool_calls, parts_.names);
  answer_.release_memory();
  // The next attempt takes the registration over, so that an abort finds one of the two.
  const bool again = sink_ && !handle.is_stopped() && may_try_again(outcome);
  HttpAttempt attempt{parts_.handle, again ? std::move(parts_.registration) : Registration(),
                      std::move(parts_.names)};
  leave();
  if (!answer_.note().empty() && !shared_->engine->closed())
    shared_->engine->log(LogLevel::info, answer_.note(), {{"model", outcome.model}});
  if (!sink_) return;
  if (handle.is_stopped()) outcome = answer_.cancelled();
  if (again && !handle.is_stopped())
    return std::exchange(parts_.again, {})(std::move(attempt), std::exchange(sink_, {}));
  attempt.registration.reset();
  sink_.finish(std::move(outcome));
}

// Nothing begins for a paused agent: its call may be made again later.
bool HttpCall::may_try_again(ChatOutcome& outcome) const noexcept {
  if (!parts_.again || outcome.kind != ChatOutcome::Kind::failed || !refuses_reasoning(outcome.error))
    return false;
  outcome.error.retryable = parts_.pause.is_paused();
  return !outcome.error.retryable;
}

void HttpCall::cancel() noexcept {
  leave();
  parts_.handle->stop();
  ChatSink sink = std::move(sink_);
  try {
    sink.finish(answer_.cancelled());
  } catch (const std::bad_alloc&) {
    sink.finish(answer_.without_memory(Errc::cancelled));
  }
}

// After this, only the transport refers to this call. The registration is removed first: a thread that stops
// the agent meanwhile finds no open call when its callback returns.
void HttpCall::leave() noexcept {
  if (!std::exchange(is_open_, false)) return;
  parts_.registration.reset();
  on_stop_.reset();
  shared_->engine->cancel_timer(end_timer_);
  auto& list = shared_->open;
  list[place_] = list.back();
  list[place_]->place_ = place_;
  list.pop_back();
  shared_->engine->add_pending(-1);
}

}  // namespace agentcore::detail::llm
