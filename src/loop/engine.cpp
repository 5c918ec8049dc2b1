#include "loop/engine.hpp"

#include <algorithm>
#include <cassert>

namespace agentcore::detail::loop {

namespace {

std::uint64_t seed_from(std::uint64_t given) {
  if (given != 0) return given;
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

Engine::Engine(RuntimeOptions options)
    : state_(options.clock),
      log_(state_, std::move(options.log)),
      descriptors_(state_, log_, *waker_, options.backend),
      work_(state_),
      calls_(state_, log_, descriptors_, work_, *waker_),
      cycle_(state_, descriptors_, work_, calls_, *waker_),
      driver_(state_, descriptors_, work_, calls_, cycle_, options.poll_budget),
      max_idle_connections_(options.max_idle_connections),
      random_(seed_from(options.seed)) {
}

Engine::~Engine() {
  close();
}

void Engine::close() {
  if (state_.closed.exchange(true)) return;
  waker_->close();
  auto sources = work_.sources.take_and_report_closed();
  // Each of these may run code of the host that calls back in; `closed` makes all of it harmless.
  work_.posts.close();
  work_.timers.clear();
  work_.boot_timers.clear();
  work_.sources.retire_all(std::move(sources), state_.in_poll);
  descriptors_.close();
  log_.close();
}

void Engine::add_source(std::shared_ptr<Source> source) {
  assert(on_loop_thread());
  if (closed() || !source) return;
  const bool has_work = source->has_work() || source->has_end_work();
  work_.sources.add(std::move(source));
  if (has_work) waker_->notify();
}

std::uint64_t Engine::start_timer(TimePoint when, std::function<void()> function, TimerUse use) {
  assert(on_loop_thread());
  if (closed()) return 0;
  // Never in the past: a caller that repeatedly starts overdue timers must not overtake those that wait.
  const std::uint64_t id = work_.timers.add(std::max(when, now()), std::move(function), use);
  announce_timer(when <= now());
  return id;
}

std::uint64_t Engine::start_boot_timer(TimePoint when, std::function<void()> function) {
  assert(on_loop_thread());
  if (closed()) return 0;
  const std::uint64_t id = work_.add_boot_timer(when, std::move(function));
  announce_timer(when <= clock().boot_time());
  return id;
}

// A timer was started. A poll arms the descriptor at its end, and looks for what is due.
void Engine::announce_timer(bool is_due) noexcept {
  if (state_.in_poll) return;
  descriptors_.arm_timers(work_.next_timer(), work_.boot_timers.next());
  if (is_due) waker_->notify();  // not every host looks at next_deadline() before it waits
}

bool Engine::note_wrong_thread(const char* function) noexcept {
  state_.note_wrong_thread(function);
  waker_->notify();
  return true;
}

void Engine::post(std::function<void()> function) {
  if (function && work_.posts.push(std::move(function))) waker_->notify();
}

Subscription Engine::on_wake(std::function<void()> wake) {
  assert(on_loop_thread());
  return waker_->on_wake(std::move(wake));
}

}  // namespace agentcore::detail::loop
