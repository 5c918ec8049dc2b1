#include "core/enum_names.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "loop/time.hpp"

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

constexpr detail::core::EnumNames run_end_names{
    std::to_array<detail::core::EnumName<RunEnd>>({{RunEnd::idle, "idle"},
                                                   {RunEnd::limit, "limit"},
                                                   {RunEnd::in_callback, "in_callback"},
                                                   {RunEnd::wrong_thread, "wrong_thread"},
                                                   {RunEnd::runtime_gone, "runtime_gone"},
                                                   {RunEnd::out_of_memory, "out_of_memory"}})};
static_assert(run_end_names.is_in_order());

}  // namespace

std::string_view to_string(RunEnd end) noexcept {
  return run_end_names.name(end);
}

Runtime::Runtime(RuntimeOptions options)
    : engine_(std::make_shared<detail::loop::Engine>(checked(std::move(options)))) {
}
Result<std::unique_ptr<Runtime>> Runtime::make(RuntimeOptions options) {
  return detail::core::make<Runtime>(std::move(options));
}
Runtime::~Runtime() {
  engine_->close();
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
  return engine_->driver()->poll_descriptor();
}
std::optional<TimePoint> Runtime::next_deadline() const {
  return engine_->driver()->next_deadline();
}
Subscription Runtime::on_wake(std::function<void()> wake) {
  detail::core::require_function(wake != nullptr, "Runtime::on_wake: wake");
  return engine_->on_wake(std::move(wake));
}
void Runtime::post(std::function<void()> function) {
  detail::core::require_function(function != nullptr, "Runtime::post: function");
  engine_->post(std::move(function));
}

Timer Runtime::call_after(Duration delay, std::function<void()> function) {
  detail::core::require_function(function != nullptr, "Runtime::call_after: function");
  const TimePoint when = detail::loop::later(engine_->now(), delay);
  return Timer(engine_, engine_->start_timer(when, std::move(function)));
}

TimePoint Runtime::now() const noexcept {
  return engine_->now();
}
std::uint64_t Runtime::random() {
  return engine_->random();
}
bool Runtime::on_loop_thread() const noexcept {
  return engine_->on_loop_thread();
}

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    engine_ = std::move(other.engine_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

bool Timer::cancel() noexcept {
  const std::uint64_t id = std::exchange(id_, 0);
  const auto engine = std::exchange(engine_, {}).lock();
  return id != 0 && engine && engine->cancel_timer(id);
}

}  // namespace agentcore
