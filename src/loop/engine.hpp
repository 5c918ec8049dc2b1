// Engine: what Runtime is made of, and what the rest of the library uses of the loop.
#pragma once

#include "core/atomic.hpp"
#include "core/home_process.hpp"
#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "loop/loop_driver.hpp"
#include "loop/loop_wait.hpp"
#include "loop/loop_work.hpp"
#include "loop/source.hpp"
#include "loop/waker.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/log.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/shared_or_borrowed.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace agentcore::detail::loop {

// Holds the clock, the thread and the end of a loop, and calls the host: its log sink and its callbacks. What
// there is to do is in LoopWork, what the loop waits with is LoopWait, and LoopDriver runs it. Invariants:
// 1. clock_ refers to an object from construction to destruction.
// 2. closed_ becomes true once, on the loop thread, and stays so. Any code of the host may close the engine:
//    whatever calls such code asks closed() again afterwards.
// 3. in_poll_ is true exactly while a poll is on the stack of the loop thread.
// 4. calls_ is the number of guarded callbacks on the stack. While it is not 0, nothing is driven.
// 5. LoopWork and LoopWait know neither each other nor the engine.
class AGENTCORE_INTERNAL_API Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(RuntimeOptions options);
  ~Engine();

  // What Runtime offers to drive the loop. The pointer keeps the engine alive, so that a callback may release
  // all other references. @loop_thread
  std::shared_ptr<LoopDriver> driver() { return {shared_from_this(), &driver_}; }

  // What else Runtime offers; documented there.
  void post(std::function<void()> function);
  std::uint64_t random() { return random_(); }
  TimePoint now() const noexcept { return clock_->now(); }
  bool on_loop_thread() const noexcept {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // For public functions of the loop thread, before they read or write anything: true if this thread is
  // another. Then the function must do nothing; the next poll logs its name, a literal, once for each name.
  // @threadsafe
  bool refuses_thread(const char* function) noexcept {
    return !on_loop_thread() && !closed_ && refuse(function);
  }

  // 1 for the first tree, and so on.
  std::uint64_t number_tree() noexcept { return ++trees_; }
  const Clock& clock() const noexcept { return *clock_; }
  std::size_t max_idle_connections() const noexcept { return max_idle_connections_; }

  // The end of the Runtime: reports it to each source, then drops everything posted and releases sources and
  // services. If a poll is running, they are released at its end, because they may be on the stack. In a
  // forked child nothing works any more, and nothing is released.
  // @loop_thread
  void close();
  bool closed() const noexcept { return closed_; }  // @threadsafe
  // True in a forked child of the process that made the engine: see core::HomeProcess. @threadsafe
  bool in_forked_child() const noexcept { return home_.is_left(); }

  // Sources. A source is called only while the engine holds it or a poll is inside it; one that is removed
  // during a poll is released at its end. Adding one to a closed engine has no effect. @loop_thread
  void add_source(std::shared_ptr<Source> source);
  void remove_source(const Source* source) { work_.sources.remove(source, in_poll_); }

  // Descriptors. The handler must stay alive until unwatch(), which may be called from within it, and must be
  // called before the descriptor's number can serve something else. When watch() or rewatch()
  // returns an error, the system refused and the handler will not be called: the caller must end the
  // operation with that error. watch() may call the log sink. @loop_thread
  [[nodiscard]] std::error_code watch(int descriptor, IoEvents events, IoHandler& handler);
  [[nodiscard]] std::error_code rewatch(int descriptor, IoEvents events) {
    assert(on_loop_thread());
    return wait_.rewatch(descriptor, events);
  }
  void unwatch(int descriptor) { wait_.unwatch(descriptor); }
  // LoopWait::install(). For tests.
  void install_poller(std::unique_ptr<platform::Poller> poller) noexcept { wait_.install(std::move(poller)); }

  // Timers; ids are never 0 and never reused (0: the engine is closed). What is due already counts as due
  // now: equal times come in the order of starting. `when` is a time of Clock::boot_time() if `use` is
  // TimerUse::boot_watch. @loop_thread
  std::uint64_t start_timer(TimePoint when, std::function<void()> function, TimerUse use = TimerUse::work);
  bool cancel_timer(std::uint64_t id) { return work_.cancel_timer(id); }

  // Reports that a source or a post has work: wakes a sleeping loop, once until it polls again. What is
  // announced must show in Source::has_work(). @threadsafe
  const std::shared_ptr<Waker>& waker() const noexcept { return waker_; }
  // True while a poll runs: it finds at its end what arises in it. What arises outside of a poll must be
  // announced. @loop_thread
  bool in_poll() const noexcept { return in_poll_; }

  // I/O operations that are open (model calls): run_until_idle() waits for them. @loop_thread
  void add_pending(int count) noexcept { work_.pending += count; }

  // SourceList::service(). @loop_thread
  template <typename T, typename Make>
  std::shared_ptr<T> service(Make&& make) {
    return work_.sources.service<T>(std::forward<Make>(make));
  }

  // Passes one record to the log sink of the host. No effect while the sink runs, after the engine was
  // closed, and without a sink. An exception of the sink is dropped. @loop_thread
  void log(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields = {}) noexcept AGENTCORE_RUNS_HOST_CODE {
    log(level, message, std::span<const LogField>(fields.begin(), fields.size()));
  }

  void log(LogLevel level, std::string_view message,
           std::span<const LogField> fields) noexcept AGENTCORE_RUNS_HOST_CODE;
  // False: log() has no effect.
  bool has_log_sink() const noexcept { return log_sink_ != nullptr && !is_logging_; }

  // Runs a callback of the host: an exception ends here, as a log record naming `what` (G16). True when it
  // returned normally. Until then nothing is driven: see LoopDriver. @loop_thread
  template <typename Function>
  bool guarded(std::string_view what, Function&& function) noexcept AGENTCORE_RUNS_HOST_CODE {
    assert(core::holds_no_mutex());
    const RunningCall call(*this);
    try {
      std::forward<Function>(function)();
      return true;
    } catch (...) {
      log_exception(what);
    }
    return false;
  }

 private:
  friend class LoopDriver;

  class RunningCall {
   public:
    explicit RunningCall(Engine& engine) noexcept : engine_(engine) { ++engine_.calls_; }
    ~RunningCall() {
      if (--engine_.calls_ == 0 && engine_.wait_.is_muted() && !engine_.in_poll_)
        engine_.driver_.end_silence();
    }
    RunningCall(const RunningCall&) = delete;
    RunningCall& operator=(const RunningCall&) = delete;

   private:
    Engine& engine_;
  };

  bool refuse(const char* function) noexcept;
  void note_wrong_thread(const char* function) noexcept;
  void log_wrong_thread() noexcept AGENTCORE_RUNS_HOST_CODE;
  void log_exception(std::string_view callback) noexcept AGENTCORE_RUNS_HOST_CODE;
  void open_wait() AGENTCORE_RUNS_HOST_CODE;

  SystemClock system_clock_;
  SharedOrBorrowed<Clock> clock_;
  const core::HomeProcess home_;
  core::Atomic<bool> closed_{false};
  core::Atomic<std::thread::id> thread_{std::this_thread::get_id()};  // the loop thread
  core::Atomic<bool> in_poll_{false};                                 // written by the loop thread alone
  int calls_ = 0;

  // A function of the loop thread that another thread has called, for the log; null: none since the last
  // poll.
  core::Atomic<const char*> called_on_wrong_thread_{nullptr};
  std::vector<const char*> logged_wrong_threads_;
  // It may close the engine, and so destroy itself: it is kept until it has returned.
  LogSink log_sink_;
  bool is_logging_ = false;

  std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  LoopWait wait_;
  LoopWork work_;
  LoopDriver driver_;

  std::size_t max_idle_connections_;
  std::mt19937_64 random_;
  std::uint64_t trees_ = 0;
};

// The error of a function of the loop thread that was called on another thread: Engine::refuses_thread().
inline Error wrong_thread(const char* function) {
  return {Errc::wrong_thread,
          std::string(function) +
              "() was called on another thread than that of the loop; call it in a function "
              "that you pass to Runtime::post()"};
}

struct RuntimeAccess {
  static const std::shared_ptr<Engine>& engine(const Runtime& runtime) noexcept { return runtime.engine_; }
};

// The engine of a Runtime, for the other parts of the library. Never null. @threadsafe
inline const std::shared_ptr<Engine>& engine_of(const Runtime& runtime) noexcept {
  return RuntimeAccess::engine(runtime);
}

}  // namespace agentcore::detail::loop
