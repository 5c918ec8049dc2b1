#include "core/home_process.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "loop/time.hpp"
#include "platform/boot_timer.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace agentcore {

namespace {

RuntimeOptions checked(RuntimeOptions options) {
  detail::core::Validation("RuntimeOptions").not_negative("poll_budget", options.poll_budget).raise();
  return options;
}

}  // namespace

TimePoint SystemClock::boot_time() const noexcept {
  return detail::platform::boot_time();
}

Runtime::Runtime(RuntimeOptions options)
    : engine_(std::make_shared<detail::loop::Engine>(checked(std::move(options)))) {
}
Result<std::unique_ptr<Runtime>> Runtime::make(RuntimeOptions options) {
  return detail::core::make<Runtime>(std::move(options));
}
Runtime::~Runtime() {
  const bool is_child = engine_->in_forked_child();
  // Logged; the end cannot be refused.
  if (!is_child) static_cast<void>(engine_->refuses_thread("Runtime::~Runtime"));
  engine_->close();
  if (is_child) detail::core::keep_for_ever(std::move(engine_));
}

// driver() keeps the engine alive during the call: a callback may destroy this Runtime.
bool Runtime::poll() {
  return engine_->driver()->poll();
}
bool Runtime::poll(Duration budget) {
  return engine_->driver()->poll(budget);
}
RunEnd Runtime::run_for(Duration duration) {
  return engine_->driver()->run_for(duration);
}
RunResult Runtime::run_until_idle(Duration limit) {
  return {engine_->driver()->run_until_idle(limit)};
}

int Runtime::poll_descriptor() {
  if (engine_->refuses_thread("Runtime::poll_descriptor")) return -1;
  return engine_->driver()->poll_descriptor();
}
std::optional<TimePoint> Runtime::next_deadline() const {
  if (engine_->refuses_thread("Runtime::next_deadline")) return std::nullopt;
  return engine_->driver()->next_deadline();
}
Subscription Runtime::on_wake(std::function<void()> wake) {
  detail::core::require_function(wake != nullptr, "Runtime::on_wake: wake");
  if (engine_->refuses_thread("Runtime::on_wake")) return {};
  return engine_->waker()->on_wake(std::move(wake)).of_loop(engine_);
}
void Runtime::post(std::function<void()> function) {
  detail::core::require_function(function != nullptr, "Runtime::post: function");
  engine_->post(std::move(function));
}

Timer Runtime::call_after(Duration delay, std::function<void()> function) {
  detail::core::require_function(function != nullptr, "Runtime::call_after: function");
  if (engine_->refuses_thread("Runtime::call_after")) return {};
  const TimePoint when = detail::loop::later(engine_->now(), delay);
  return Timer(engine_, engine_->start_timer(when, std::move(function)));
}

TimePoint Runtime::now() const noexcept {
  return engine_->now();
}
std::uint64_t Runtime::random() {
  if (engine_->refuses_thread("Runtime::random")) return 0;
  return engine_->random();
}
bool Runtime::on_loop_thread() const noexcept {
  return engine_->on_loop_thread();
}

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    end();
    engine_ = std::move(other.engine_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

bool detail::loop::refuses_thread(const std::weak_ptr<Engine>& engine, const char* function) noexcept {
  const auto alive = engine.lock();
  return alive && alive->refuses_thread(function);
}

// Logged on another thread than that of the loop; the end cannot be refused.
void Timer::end() noexcept {
  if (id_ == 0) return;
  const std::uint64_t id = std::exchange(id_, 0);
  const auto engine = std::exchange(engine_, {}).lock();
  if (!engine) return;
  static_cast<void>(engine->refuses_thread("Timer::~Timer"));
  engine->cancel_timer(id);
}

bool Timer::cancel() noexcept {
  if (const auto engine = engine_.lock(); engine && id_ != 0 && engine->refuses_thread("Timer::cancel"))
    return false;
  const std::uint64_t id = std::exchange(id_, 0);
  const auto engine = std::exchange(engine_, {}).lock();
  return id != 0 && engine && engine->cancel_timer(id);
}

}  // namespace agentcore
