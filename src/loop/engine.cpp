#include "loop/engine.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>
#include <string>

namespace agentcore::loop {

namespace {

std::uint64_t seed_from(std::uint64_t given) {
  if (given != 0) return given;
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

bool Budget::spend() noexcept {
  const bool look = used_ < 64 ? std::has_single_bit(used_) : used_ % 64 == 0;
  if (used_ == steps_ || (look && clock_.now() >= end_)) exhausted_ = true;
  if (exhausted_) return false;
  ++used_;
  return true;
}

Engine::Engine(RuntimeOptions options)
    : clock_(options.clock != nullptr ? options.clock : &system_clock_),
      backend_(options.backend),
      poll_budget_(options.poll_budget),
      max_idle_connections_(options.max_idle_connections),
      log_(std::move(options.log)),
      random_(seed_from(options.seed)) {
}

Engine::~Engine() {
  close();
}

bool Engine::on_loop_thread() const noexcept {
  return loop_thread_.load() == std::this_thread::get_id();
}

void Engine::close() {
  if (closed_.exchange(true)) return;
  waker_->close();
  // Each of these may run code of the host that calls back in; closed_ makes all of it harmless.
  posts_.close();
  timers_.clear();
  for (auto& source : std::exchange(sources_, {}))
    if (source) retire(std::move(source));
  for (auto& [type, service] : std::exchange(services_, {})) retire(std::move(service));
  poller_.reset();
  if (!logging_) log_ = nullptr;
}

void Engine::prepare_to_retire() {
  const std::size_t needed = retired_.size() + sources_.size() + services_.size() + 1;
  if (retired_.capacity() < needed) retired_.reserve(2 * needed);
}

void Engine::retire(std::shared_ptr<void> object) {
  if (in_poll_) retired_.push_back(std::move(object));
}

void Engine::release_retired() {
  // By index: what is destroyed here may retire more. The vector keeps its memory, see prepare_to_retire().
  for (std::size_t i = 0; i < retired_.size(); ++i) const auto released = std::exchange(retired_[i], nullptr);
  retired_.clear();
}

void Engine::add_source(std::shared_ptr<Source> source) {
  assert(on_loop_thread());
  if (closed_ || !source) return;
  const bool has_work = source->has_work();
  prepare_to_retire();
  sources_.push_back(std::move(source));
  if (has_work) waker_->notify();
}

void Engine::remove_source(const Source* source) {
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [source](const auto& held) { return held && held.get() == source; });
  if (found == sources_.end()) return;
  std::shared_ptr<Source> removed = std::move(*found);
  // A running poll walks the list by index: it removes the hole at its end.
  if (!in_poll_) sources_.erase(found);
  retire(std::move(removed));
}

std::uint64_t Engine::start_timer(TimePoint when, std::function<void()> function) {
  assert(on_loop_thread());
  if (closed_) return 0;
  // Never in the past, so that one who keeps starting overdue timers cannot push in before those that wait.
  return timers_.add(std::max(when, now()), std::move(function));
}

bool Engine::cancel_timer(std::uint64_t id) {
  return timers_.cancel(id);
}

void Engine::post(std::function<void()> function) {
  if (function && posts_.push(std::move(function))) waker_->notify();
}

Subscription Engine::on_wake(std::function<void()> wake) {
  assert(on_loop_thread());
  return waker_->on_wake(std::move(wake));
}

void Engine::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) noexcept {
  if (!log_ || logging_ || closed_) return;
  logging_ = true;
  try {
    log_({level, message, std::span<const LogField>(fields.begin(), fields.size())});
  } catch (...) {  // nobody is left to tell
  }
  logging_ = false;
  if (closed_) log_ = nullptr;  // the sink closed the engine while it ran
}

void Engine::report_throw(std::string_view what, std::string_view why) noexcept {
  log(LogLevel::error, "a callback threw", {{"callback", what}, {"exception", why}});
}

}  // namespace agentcore::loop
