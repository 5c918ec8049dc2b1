// Engine: what Runtime is made of. Owns the poller, the timers, the posted functions and the wake-up, and
// drives the sources (agent trees) that registered with it.
#pragma once

#include "loop/poller.hpp"
#include "loop/post_queue.hpp"
#include "loop/timer_queue.hpp"
#include "loop/waker.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/log.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <typeindex>
#include <utility>
#include <vector>

namespace agentcore::loop {

// Tells a source when it has used up its share of one poll().
class Budget {
 public:
  Budget(const Clock& clock, TimePoint end, std::uint32_t steps) : clock_(clock), end_(end), steps_(steps) {}

  // Asks for one step. False when time or steps are used up: do not take it then. The first step is always
  // granted, so that whoever asks gets on. The clock is read before the steps 2, 3, 5, 9, ... 65 and then
  // before every 64th, so that quick steps cost nothing and slow ones are noticed early.
  bool spend() noexcept;
  bool exhausted() const noexcept { return exhausted_; }
  std::uint32_t used() const noexcept { return used_; }

 private:
  const Clock& clock_;
  TimePoint end_;
  std::uint32_t steps_;
  std::uint32_t used_ = 0;
  bool exhausted_ = false;
};

// Something that the loop drives. All calls come from the loop thread, inside a poll.
class Source {
 public:
  // Control operations (stop, abort, ...): called first, and before every round.
  virtual void run_control(Budget& budget) = 0;
  // One round: at most one step per agent.
  virtual void run_round(Budget& budget) = 0;
  // True when run_control() or run_round() would find something to do now. May be called at any time.
  virtual bool has_work() const noexcept = 0;
  // True while something is under way whose end will come through a descriptor, a timer or a post.
  virtual bool has_pending() const noexcept = 0;

 protected:
  ~Source() = default;
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(RuntimeOptions options);
  ~Engine();

  // What Runtime offers; documented there.
  bool poll() { return poll(poll_budget_); }
  bool poll(Duration budget);
  void run_for(Duration duration);
  bool run_until_idle(Duration limit);
  int poll_descriptor();
  std::optional<TimePoint> next_deadline() const;
  Subscription on_wake(std::function<void()> wake);
  void post(std::function<void()> function);
  std::uint64_t random() { return random_(); }
  // 1 for the first tree, and so on.
  std::uint64_t number_tree() noexcept { return ++trees_; }
  TimePoint now() const noexcept { return clock_->now(); }
  const Clock& clock() const noexcept { return *clock_; }
  std::size_t max_idle_connections() const noexcept { return max_idle_connections_; }
  bool on_loop_thread() const noexcept;

  // The Runtime is gone: nothing runs any more, everything posted is dropped. Sources and services are
  // released; when a poll is running, at its end, because they may be on the stack: they must look at
  // closed() after each call of the host. @loop_thread
  void close();
  bool closed() const noexcept { return closed_; }  // @threadsafe

  // Sources. A source is called only while the engine holds it or a poll is inside it; one that is removed
  // during a poll is released at its end. @loop_thread
  void add_source(std::shared_ptr<Source> source);
  void remove_source(const Source* source);

  // Descriptors. The handler must stay alive until unwatch(), which may be called from within it, and must be
  // called before the descriptor's number can serve something else. When watch() or rewatch()
  // returns an error, the system refused and the handler will not be called: the caller must end the
  // operation with that error. @loop_thread
  [[nodiscard]] std::error_code watch(int descriptor, IoEvents events, IoHandler& handler);
  [[nodiscard]] std::error_code rewatch(int descriptor, IoEvents events);
  void unwatch(int descriptor);

  // Timers; ids are never 0 and never reused (0: the engine is closed). What is due already counts as due
  // now: equal times come in the order of starting. @loop_thread
  std::uint64_t start_timer(TimePoint when, std::function<void()> function);
  bool cancel_timer(std::uint64_t id);

  // Says that a source or a post has work: wakes a sleeping loop, once until it polls again. What is
  // announced must show in Source::has_work(). @threadsafe
  const std::shared_ptr<Waker>& waker() const noexcept { return waker_; }

  // I/O operations that are open (model calls): run_until_idle() waits for them. @loop_thread
  void add_pending(int count) noexcept { pending_ += count; }

  // One object of type T per engine, made on first need, e.g. the HTTP transport. It is released by close().
  // @loop_thread
  template <typename T, typename Make>
  std::shared_ptr<T> service(Make&& make) {
    for (auto& [type, object] : services_)
      if (type == std::type_index(typeid(T))) return std::static_pointer_cast<T>(object);
    std::shared_ptr<T> made = std::forward<Make>(make)();
    prepare_to_retire();
    services_.emplace_back(std::type_index(typeid(T)), made);
    return made;
  }

  // Calls the host's log sink; what it logs itself meanwhile is dropped. @loop_thread
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) noexcept;

  // Runs a callback of the host: an exception ends here, as a log record naming `what` (G16). True when it
  // returned normally. Until then poll() and its like do nothing.
  template <typename Function>
  bool guarded(std::string_view what, Function&& function) noexcept {
    const Calling calling(*this);
    try {
      std::forward<Function>(function)();
      return true;
    } catch (const std::exception& error) {
      report_throw(what, error.what());
    } catch (...) {
      report_throw(what, "not a std::exception");
    }
    return false;
  }

 private:
  // Counts the callbacks that are running.
  class Calling {
   public:
    explicit Calling(Engine& engine) noexcept : engine_(engine) { ++engine_.calling_; }
    ~Calling() {
      if (--engine_.calling_ == 0 && engine_.silent_ && !engine_.in_poll_) engine_.end_silence();
    }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    Engine& engine_;
  };

  // The budgets of one poll: how far into it each stage may go.
  struct Shares;

  void report_throw(std::string_view what, std::string_view why) noexcept;

  // The stages of a poll, in this order (engine_poll.cpp). After each callback they look at closed_.
  void run_stages(Duration budget);
  void run_controls(Budget& budget);
  void run_io(Budget& budget);
  void deliver_ready(Budget& budget);
  void expect(const Ready& ready) const noexcept;
  void run_timers(TimePoint now, Budget& budget);
  void run_posts(Budget& budget);
  void run_rounds(Budget& control, Budget& budget);
  bool step_source(Source& source, Budget& control, Budget& budget);
  bool finish_poll();

  bool has_ready() const;
  bool is_idle() const;

  // Driving (engine_run.cpp).
  void run_by_hand(TimePoint end);
  void move_clock(ManualClock& clock, TimePoint end);
  void rest(TimePoint end, TimePoint real_end);
  void wait(Duration at_most);
  void wait_until(TimePoint end);

  // Within a callback nothing is driven (docs/design/nested-loops.md). refuses() is true there. Its first
  // call within a callback makes the descriptor and on_wake silent, so that a nested loop of the host can
  // sleep; end_silence() reverses that when the callback has returned.
  bool refuses() noexcept;
  void end_silence() noexcept;

  // Descriptors (engine_descriptors.cpp). ensure_open() opens what is not open yet. False when the system has
  // too few descriptors for that. It may call the log sink, which may close the engine.
  bool ensure_open();
  bool open_poller();
  bool open_wake();
  bool open_host_descriptor();
  void report_lack(int error);

  // retire() keeps a source or service that is removed during a poll until the end of that poll. Destructors
  // call it, so it must not allocate: prepare_to_retire() makes room for each source and service before it is
  // added.
  void prepare_to_retire();
  void retire(std::shared_ptr<void> object);
  void release_retired();

  SystemClock system_clock_;
  const Clock* clock_;
  LoopBackend backend_;
  Duration poll_budget_;
  std::size_t max_idle_connections_;
  LogSink log_;
  std::mt19937_64 random_;
  std::uint64_t trees_ = 0;

  std::atomic<bool> closed_{false};
  std::atomic<std::thread::id> loop_thread_{std::this_thread::get_id()};
  bool in_poll_ = false;
  std::uint32_t steps_ = 0;  // of the last poll
  int calling_ = 0;
  bool logging_ = false;
  int pending_ = 0;

  std::unique_ptr<Poller> poller_;  // null until something has to be waited for
  bool stand_in_ = false;           // poller_ is poll(2), because epoll could not be opened
  bool wake_watched_ = false;
  bool host_asked_ = false;   // poll_descriptor() was called
  int host_descriptor_ = -1;  // what it returns
  bool all_open_ = false;     // the poller, the wake-up and, if asked for, host_descriptor_ are open
  bool lacking_ = false;      // they are not, because the system refused: it has been logged
  TimePoint retry_at_{};      // while lacking_: when poll() tries again
  bool silent_ = false;       // refuses() was called within the callback that is running
  std::vector<Ready> ready_;  // found by the poller, from next_ready_ on not delivered yet
  std::size_t next_ready_ = 0;

  TimerQueue timers_;
  PostQueue posts_;
  std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();

  std::vector<std::shared_ptr<Source>> sources_;  // null: removed during this poll
  std::size_t cursor_ = 0;                        // whose turn the next round is
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> services_;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace agentcore::loop
