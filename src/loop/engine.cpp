#include "loop/engine.hpp"

#include <algorithm>
#include <new>
#include <span>

namespace agentcore::detail::loop {

namespace {

std::uint64_t seed_from(std::uint64_t given) {
  if (given != 0) return given;
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

Engine::Engine(RuntimeOptions options)
    : clock_(options.clock ? options.clock : SharedOrBorrowed<Clock>(&system_clock_)),
      log_sink_(std::move(options.log)),
      wait_(*clock_, *waker_, options.backend),
      work_(*clock_),
      driver_(*this, options.poll_budget),
      max_idle_connections_(options.max_idle_connections),
      random_(seed_from(options.seed)) {
}

Engine::~Engine() {
  close();
}

void Engine::close() {
  if (closed_.exchange(true)) return;
  if (in_forked_child()) return waker_->abandon();
  waker_->close();
  auto sources = work_.sources.take_and_report_closed();
  // Each of these may run code of the host that calls back in; `closed_` makes all of it harmless.
  work_.posts.close();
  work_.timers.clear();
  work_.boot_timers.clear();
  work_.sources.retire_all(std::move(sources), in_poll_);
  wait_.close();
  if (!is_logging_) log_sink_ = nullptr;  // else log() does it
}

void Engine::add_source(std::shared_ptr<Source> source) {
  assert(on_loop_thread());
  if (closed() || !source) return;
  const bool has_work = source->has_work() || source->has_end_work();
  work_.sources.add(std::move(source));
  if (has_work) waker_->notify();
}

std::error_code Engine::watch(int descriptor, IoEvents events, IoHandler& handler) {
  assert(on_loop_thread());
  if (!closed()) open_wait();
  if (closed()) return std::make_error_code(std::errc::operation_canceled);
  return wait_.watch(descriptor, events, handler);
}

// Opens what the loop waits with and is not open yet. May call the log sink, which may close the engine.
void Engine::open_wait() {
  const LoopWait::Changes changes = wait_.ensure_open();
  if (changes.lack_began != 0)
    log(LogLevel::warning, "the system has no descriptor left for the loop: it looks for work every 10 ms",
        {{"error", std::generic_category().message(changes.lack_began)}});
  if (changes.lack_ended) log(LogLevel::info, "the loop has its descriptors");
  if (changes.no_timer != 0)
    log(LogLevel::warning, "the system has no timer for poll_descriptor(): wait for next_deadline()",
        {{"error", std::generic_category().message(changes.no_timer)}});
}

std::uint64_t Engine::start_timer(TimePoint when, std::function<void()> function, TimerUse use) {
  assert(on_loop_thread());
  if (closed()) return 0;
  const std::uint64_t id = work_.add_timer(when, std::move(function), use);
  if (in_poll_) return id;  // the poll arms the descriptor at its end, and looks for what is due
  wait_.arm_timers(work_.next_timer(), work_.boot_timers.next());
  // Not every host looks at next_deadline() before it waits.
  if (when <= work_.time_of(use)) waker_->notify();
  return id;
}

bool Engine::refuse(const char* function) noexcept {
  note_wrong_thread(function);
  waker_->notify();
  return true;
}

void Engine::note_wrong_thread(const char* function) noexcept {
  const char* none = nullptr;
  called_on_wrong_thread_.compare_exchange_strong(none, function);
}

// Once for each function: one that is called in each frame must not fill the log.
void Engine::log_wrong_thread() noexcept {
  const char* const function = called_on_wrong_thread_.exchange(nullptr);
  auto& logged = logged_wrong_threads_;
  if (!function || std::find(logged.begin(), logged.end(), function) != logged.end()) return;
  try {
    logged.push_back(function);
  } catch (const std::bad_alloc&) {  // then it may be logged again
  }
  log(LogLevel::error, "a function of the loop thread was called on another thread",
      {{"function", function}});
}

// Logs that `callback` threw the exception that is being handled.
void Engine::log_exception(std::string_view callback) noexcept {
  const auto report = [&](std::string_view why) {
    log(LogLevel::error, "a callback threw", {{"callback", callback}, {"exception", why}});
  };
  try {
    throw;
  } catch (const std::exception& error) {
    report(error.what());
  } catch (...) {
    report("not a std::exception");
  }
}

void Engine::log(LogLevel level, std::string_view message, std::span<const LogField> fields) noexcept {
  assert(core::holds_no_mutex());
  if (!log_sink_ || is_logging_ || closed_) return;
  is_logging_ = true;
  try {
    log_sink_({level, message, fields});
  } catch (...) {  // the sink itself threw: there is no other place to report it
  }
  is_logging_ = false;
  if (closed_) log_sink_ = nullptr;  // the sink closed the engine while it ran
}

void Engine::post(std::function<void()> function) {
  if (function && work_.posts.push(std::move(function))) waker_->notify();
}

}  // namespace agentcore::detail::loop
