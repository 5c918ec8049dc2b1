// Engine: what Runtime is made of: the parts of the loop, and what the rest of the library uses of them.
#pragma once

#include "core/internal_api.hpp"
#include "loop/host_calls.hpp"
#include "loop/host_log.hpp"
#include "loop/io.hpp"
#include "loop/loop_descriptors.hpp"
#include "loop/loop_driver.hpp"
#include "loop/loop_state.hpp"
#include "loop/loop_work.hpp"
#include "loop/poll_cycle.hpp"
#include "loop/source.hpp"
#include "loop/waker.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/log.hpp>
#include <agentcore/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

namespace agentcore::detail::loop {

class AGENTCORE_INTERNAL_API Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(RuntimeOptions options);
  ~Engine();

  // What Runtime offers to drive the loop. The pointer keeps the engine alive, so that a callback may release
  // all other references. @loop_thread
  std::shared_ptr<LoopDriver> driver() { return {shared_from_this(), &driver_}; }

  // What else Runtime offers; documented there.
  Subscription on_wake(std::function<void()> wake);
  void post(std::function<void()> function);
  std::uint64_t random() { return random_(); }
  TimePoint now() const noexcept { return state_.now(); }
  bool on_loop_thread() const noexcept { return state_.on_loop_thread(); }
  // For public functions of the loop thread, before they read or write anything: true if this thread is
  // another. Then the function must do nothing; the next poll logs its name, a literal, once for each name.
  // @threadsafe
  bool refuses_thread(const char* function) noexcept {
    return !state_.on_loop_thread() && !state_.closed && note_wrong_thread(function);
  }

  // 1 for the first tree, and so on.
  std::uint64_t number_tree() noexcept { return ++trees_; }
  const Clock& clock() const noexcept { return *state_.clock; }
  std::size_t max_idle_connections() const noexcept { return max_idle_connections_; }

  // The end of the Runtime: reports it to each source, then drops everything posted and releases sources and
  // services. If a poll is running, they are released at its end, because they may be on the stack.
  // @loop_thread
  void close();
  bool closed() const noexcept { return state_.closed; }  // @threadsafe
  // True in a forked child of the process that made the engine: see core::HomeProcess. @threadsafe
  bool in_forked_child() const noexcept { return state_.home.is_left(); }
  // The end of the Runtime in a forked child: nothing works any more, and nothing is released.
  void abandon() noexcept {
    state_.closed = true;
    waker_->abandon();
  }

  // Sources. A source is called only while the engine holds it or a poll is inside it; one that is removed
  // during a poll is released at its end. @loop_thread
  void add_source(std::shared_ptr<Source> source);
  void remove_source(const Source* source) { work_.sources.remove(source, state_.in_poll); }

  // Descriptors. The handler must stay alive until unwatch(), which may be called from within it, and must be
  // called before the descriptor's number can serve something else. When watch() or rewatch()
  // returns an error, the system refused and the handler will not be called: the caller must end the
  // operation with that error. @loop_thread
  [[nodiscard]] std::error_code watch(int descriptor, IoEvents events, IoHandler& handler) {
    return descriptors_.watch(descriptor, events, handler);
  }
  [[nodiscard]] std::error_code rewatch(int descriptor, IoEvents events) {
    return descriptors_.rewatch(descriptor, events);
  }
  void unwatch(int descriptor) { descriptors_.unwatch(descriptor); }
  // LoopDescriptors::install(). For tests.
  void install_poller(std::unique_ptr<platform::Poller> poller) noexcept {
    descriptors_.install(std::move(poller));
  }

  // Timers; ids are never 0 and never reused (0: the engine is closed). What is due already counts as due
  // now: equal times come in the order of starting. @loop_thread
  std::uint64_t start_timer(TimePoint when, std::function<void()> function, TimerUse use = TimerUse::work);
  // The same at a time of Clock::boot_time(), which passes while the machine sleeps. Nothing waits for it.
  std::uint64_t start_boot_timer(TimePoint when, std::function<void()> function);
  bool cancel_timer(std::uint64_t id) { return work_.cancel_timer(id); }

  // Reports that a source or a post has work: wakes a sleeping loop, once until it polls again. What is
  // announced must show in Source::has_work(). @threadsafe
  const std::shared_ptr<Waker>& waker() const noexcept { return waker_; }
  // True while a poll runs: it finds at its end what arises in it. What arises outside of a poll must be
  // announced. @loop_thread
  bool in_poll() const noexcept { return state_.in_poll; }

  // I/O operations that are open (model calls): run_until_idle() waits for them. @loop_thread
  void add_pending(int count) noexcept { work_.pending += count; }

  // SourceList::service(). @loop_thread
  template <typename T, typename Make>
  std::shared_ptr<T> service(Make&& make) {
    return work_.sources.service<T>(std::forward<Make>(make));
  }

  // Calls the host's log sink; what it logs itself meanwhile is dropped. @loop_thread
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) noexcept {
    log_.write(level, message, fields);
  }

  // HostCalls::guarded(). @loop_thread
  template <typename Function>
  bool guarded(std::string_view what, Function&& function) noexcept {
    return calls_.guarded(what, std::forward<Function>(function));
  }

 private:
  void announce_timer(bool is_due) noexcept;
  bool note_wrong_thread(const char* function) noexcept;

  // Each part refers to parts above it.
  LoopState state_;
  HostLog log_;
  std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  LoopDescriptors descriptors_;
  LoopWork work_;
  HostCalls calls_;
  PollCycle cycle_;
  LoopDriver driver_;

  std::size_t max_idle_connections_;
  std::mt19937_64 random_;
  std::uint64_t trees_ = 0;
};

}  // namespace agentcore::detail::loop
