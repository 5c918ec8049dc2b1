// Runtime: the loop-side engine that the host drives.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/log.hpp>
#include <agentcore/subscription.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace agentcore {

// How the loop waits for descriptors.
enum class LoopBackend : unsigned char {
  automatic,  // epoll where there is one, else poll
  epoll,      // one descriptor stands for all: a foreign loop watches poll_descriptor()
  poll,       // portable; poll_descriptor() shows only wake-ups, so the host must wait with run_for()
};

struct RuntimeOptions {
  const Clock* clock = nullptr;  // null: the steady clock. Must outlive the Runtime and all that uses it.
  std::uint64_t seed = 0;        // of random(); 0: taken from the system
  LoopBackend backend = LoopBackend::automatic;
  // About how long one poll() may take; not negative. More than an hour counts as an hour. A poll exceeds it
  // only to shut down the connections of calls that were stopped: 15 to 45 us each.
  Duration poll_budget = std::chrono::milliseconds(4);
  // How many idle connections all HTTP clients of this Runtime together keep open for their next calls. 0:
  // each call opens a connection of its own. Above the limit, the connections that have been idle longest are
  // closed. A connection that its server closes is closed by one of the next polls, and all are closed when
  // the last client is destroyed.
  std::uint32_t max_idle_connections = 8;
  LogSink log = {};  // empty: nothing is logged
};

// One Runtime belongs to one loop thread: whoever calls poll(). All callbacks of everything built on it run
// there, inside poll(), run_for() or run_until_idle(). It makes no thread, installs no signal handler, keeps
// no global state (G16), and opens its first descriptor when something first has to be waited for.
//
// Nothing is driven while a callback runs, not even other agents. So a callback must not run a loop of its
// own that waits for agents. In particular, do not open a modal dialog in a callback: post the opening to
// your own loop (Qt: QMetaObject::invokeMethod with Qt::QueuedConnection), or open it without waiting for it.
// The callback then returns, and while the dialog's loop runs it drives the agents as the main loop does. A
// nested loop that runs in a callback all the same does not spin: the descriptor and on_wake are silent, and
// next_deadline() is nullopt, until the callback has returned.
//
// Declare it before what is built on it. It may all the same be destroyed first, even in a callback: the
// poll() that is running then returns, and what is left becomes inert: its functions return `runtime_gone`.
//
// Functions that take a function to call later throw std::invalid_argument when it is empty.
class Runtime {
 public:
  // Throws std::invalid_argument when an option is out of range.
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Does what is ready now, for about RuntimeOptions::poll_budget, and never blocks: stops and other control
  // operations first (C13), then descriptors, timers, posted functions, then agents, one step per agent per
  // round (Q5). Returns true when more is ready than fitted in. Called from within a callback it does nothing
  // and returns false, as run_for() and run_until_idle() do. @loop_thread
  bool poll();

  // The same, with `budget` in place of RuntimeOptions::poll_budget for this call: for a game that gives the
  // loop the rest of its frame. A negative budget counts as 0: each stage still takes one step, so the loop
  // makes progress. More than an hour counts as an hour. @loop_thread
  bool poll(Duration budget);

  // Drives the loop, sleeping while there is nothing to do, until `duration` has passed, and polls at least
  // once. It then returns even if work is left, which stays for the next call. @loop_thread
  //
  // With a ManualClock it moves that clock from timer to timer instead of sleeping, and at each of these
  // times polls until nothing is ready. Endless work (a function that posts itself, a timer that starts
  // itself again without delay) does not stop the clock: after 100,000 polls in a row that left something
  // ready, or about six million steps of agents, the clock moves on after each further poll.
  void run_for(Duration duration);

  // Drives the loop until nothing is ready, no timer runs, and no agent has anything in flight (model calls,
  // tools, questions, background tasks), or until `limit` has passed. True when it became idle. A ManualClock
  // is moved as by run_for(); where no timer runs, it waits for what is in flight, at most for `limit` of
  // real time. @loop_thread
  bool run_until_idle(Duration limit = std::chrono::seconds(60));

  // For a foreign loop: a descriptor that is readable whenever poll() has something to do; answer with
  // poll(). Together with next_deadline() all that an adapter needs. Valid as long as the Runtime.
  //
  // -1: the system has no descriptor left for it (EMFILE, ENFILE, ENOMEM), which is logged once as a warning.
  // No work is lost, but no descriptor becomes readable. Until it can be opened, next_deadline() is at most
  // 10 ms away, and each poll() at that time tries again. Ask again after every poll() while it is -1.
  // @loop_thread
  int poll_descriptor();

  // When poll() should next be called even if the descriptor stays silent; in the past or now when work is
  // ready; nullopt when no timer runs, and in a callback, where poll() does nothing. Ask again after every
  // poll() and every call into agentcore. @loop_thread
  std::optional<TimePoint> next_deadline() const;

  // `wake` is called, on whatever thread caused it, when a silent loop got work; then not again before the
  // next poll(). It must be quick, must not throw, and must not call back into agentcore: post a message to
  // your own loop. One subscriber at a time; a later one takes over. @loop_thread
  Subscription on_wake(std::function<void()> wake);

  // Runs `function` on the loop thread, in one of the next poll()s, in the order of posting. Dropped uncalled
  // when the Runtime goes first. @threadsafe
  void post(std::function<void()> function);

  // Runs `function` once, `delay` from now (below 0: now), unless the Timer is dropped before. @loop_thread
  Timer call_after(Duration delay, std::function<void()> function);

  TimePoint now() const noexcept;        // @threadsafe
  std::uint64_t random();                // 64 bits from the seeded generator. @loop_thread
  bool on_loop_thread() const noexcept;  // @threadsafe. Before the first poll(): the thread that made it.

  // What the library's own parts build on (declared in src/loop/engine.hpp).
  const std::shared_ptr<loop::Engine>& engine() const noexcept { return engine_; }

 private:
  std::shared_ptr<loop::Engine> engine_;
};

// A pending call of Runtime::call_after(). Dropping it cancels the call. May outlive its Runtime.
// @loop_thread
class [[nodiscard]] Timer {
 public:
  Timer() = default;
  Timer(std::weak_ptr<loop::Engine> engine, std::uint64_t id) : engine_(std::move(engine)), id_(id) {}
  Timer(Timer&& other) noexcept : engine_(std::move(other.engine_)), id_(std::exchange(other.id_, 0)) {}
  Timer& operator=(Timer&& other) noexcept;
  ~Timer() { cancel(); }

  // True when the call was still to come.
  bool cancel() noexcept;

 private:
  std::weak_ptr<loop::Engine> engine_;
  std::uint64_t id_ = 0;
};

}  // namespace agentcore
