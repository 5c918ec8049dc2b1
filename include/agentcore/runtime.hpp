// Runtime: the event loop that the host drives, and its timers.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/log.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/subscription.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace agentcore {

/// How the loop waits for descriptors. If the system has no epoll, the loop uses poll(2).
enum class LoopBackend : unsigned char {
  automatic,  ///< epoll if the system has it, else poll(2)
  epoll,      ///< one descriptor for everything: a foreign loop watches Runtime::poll_descriptor()
  /// poll(2): portable. Runtime::poll_descriptor() reports wake-ups only, neither the other descriptors nor
  /// timers, so the host must wait with Runtime::run_for().
  poll,
};

/// Why Runtime::run_for() or Runtime::run_until_idle() returned.
enum class RunEnd : unsigned char {
  idle,          ///< The loop is idle.
  limit,         ///< The time has passed; for run_until_idle(): and the loop is not idle.
  in_callback,   ///< It was called within a callback of this Runtime: nothing was done.
  wrong_thread,  ///< Another thread is in poll(), run_for() or run_until_idle(): nothing was done.
  runtime_gone,  ///< A callback has destroyed the Runtime.
  out_of_memory  ///< There was no memory to wait. Nothing is lost: the next call goes on.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(RunEnd end) noexcept;

/// The result of Runtime::run_until_idle(): true if the loop became idle.
///
///     agentcore::RunResult run = runtime.run_until_idle(std::chrono::seconds(10));
///     if (!run) std::fprintf(stderr, "not idle: %s\n", to_string(run.reason).data());
struct RunResult {
  RunEnd reason = RunEnd::idle;  ///< Why the function returned.

  /// True if the loop is idle.
  bool is_idle() const noexcept { return reason == RunEnd::idle; }
  /// The same.
  explicit operator bool() const noexcept { return is_idle(); }
};

/// The options of a Runtime.
struct RuntimeOptions {
  /// The clock of the Runtime; null: the steady clock of the system. A clock that is given by pointer must
  /// outlive the Runtime, and every call of a handle on another thread that began before its end.
  SharedOrBorrowed<Clock> clock = {};
  /// The seed of Runtime::random(). 0: a seed from the system.
  std::uint64_t seed = 0;
  /// How the loop waits for descriptors.
  LoopBackend backend = LoopBackend::automatic;
  /// The approximate maximum duration of one poll(). Not negative; more than one hour counts as one hour. A
  /// poll exceeds it by a single step that takes longer: a callback of the host; a commit to a store without
  /// RestoreOptions::executor; a call into libcurl, which reads the system's certificates when it opens
  /// connections with TLS (about 15 ms). And it shuts down the connections of all stopped calls, 15 to 45 us
  /// for each, whatever the budget.
  Duration poll_budget = std::chrono::milliseconds(4);
  /// The maximum number of idle connections that all HTTP clients of this Runtime together keep open for
  /// their next calls. 0: each call opens its own connection. Above the limit, the connections that have been
  /// idle longest are closed. If a server closes a connection, one of the next polls closes it too. All are
  /// closed when the last client is destroyed.
  std::uint32_t max_idle_connections = 8;
  /// Receives the log records, for example log_to_stderr(). Empty: nothing is logged.
  LogSink log = {};
};

/// The event loop. The thread that calls poll() is the loop thread. All callbacks of all objects that use
/// this Runtime are called there, inside poll(), run_for() or run_until_idle(), unless their description
/// specifies another thread. Some functions also report an event before they return, e.g. AgentTree::create()
/// and AgentTree::answer(). A Runtime creates no thread, installs no signal handler and keeps no global state
/// (G16). It opens its first descriptor when it first has to wait for something.
///
///     agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};  // else nothing is logged
///     agentcore::testing::ScriptedClient llm{runtime};
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
///     agentcore::Agent agent = tree.create().value();
///     if (!agent.send("Hello")) return 1;
///     runtime.run_until_idle();  // or: poll() from your own loop
///
/// Nested loops. While a callback runs, the Runtime drives nothing, not even other agents. A callback must
/// therefore not run a loop that waits for agents. In particular, do not open a modal dialog in a callback:
/// post the opening to your own loop (Qt: QMetaObject::invokeMethod with Qt::QueuedConnection), or open the
/// dialog without waiting for it. The callback then returns, and the loop of the dialog drives the agents as
/// the main loop does. If a callback runs a nested loop nevertheless, that loop does not spin: until the
/// callback has returned, the descriptor does not become readable, on_wake() reports nothing, and
/// next_deadline() returns nullopt.
///
/// Lifetime. Declare the Runtime before the objects that use it. It may still be destroyed before them, even
/// in a callback: the running poll() then returns, and the remaining objects do nothing more; their functions
/// return `runtime_gone`.
///
/// Threads. poll(), run_for() and run_until_idle() make the thread that calls them the loop thread, unless a
/// poll runs on another thread: then they do nothing. The functions that are marked with @loop_thread do
/// nothing on another thread: those with an error or a reason return Errc::wrong_thread, the others return
/// nothing (an empty Subscription or Timer, -1, 0), and the next poll logs the name of the function as an
/// error, once for each function. Destructors do their work on any thread, and are logged: there is no error
/// to return.
///
/// Forks. In a child of fork() nothing may be used that was made before. The destructors touch nothing there
/// that the child shares with its parent, and free nothing; call exec() or _exit(). New objects may be made.
///
/// Functions that take a function to call later throw std::invalid_argument if it is empty. What such a
/// function throws is caught and logged.
class AGENTCORE_API Runtime {
 public:
  /// Throws std::invalid_argument if an option is out of range.
  explicit Runtime(RuntimeOptions options = {});
  /// As the constructor, for hosts without exceptions. Errors: invalid_config, out_of_memory.
  static Result<std::unique_ptr<Runtime>> make(RuntimeOptions options = {});
  /// Drops all timers and posted functions without calling them. May be called in a callback.
  /// @loop_thread
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Does the work that is ready, for about RuntimeOptions::poll_budget, and never waits for work. The order:
  /// stops and other control operations, then descriptors, timers, posted functions, then agents, one step
  /// per agent and round. Returns true if more work is ready than the budget allowed. Within a callback it
  /// does nothing and returns false; run_for() and run_until_idle() do nothing, too.
  /// @loop_thread
  bool poll();

  /// As poll(), with `budget` instead of RuntimeOptions::poll_budget for this call, e.g. for a game that
  /// gives the loop the rest of its frame. A negative budget counts as 0: each stage still does one step, so
  /// the loop makes progress. More than one hour counts as one hour.
  /// @loop_thread
  bool poll(Duration budget);

  /// Drives the loop until `duration` has passed, and sleeps while nothing is ready. Polls at least once.
  /// Returns after `duration` even if work is left; the next call continues with it.
  ///
  /// A ManualClock is moved from timer to timer instead of sleeping; at each of these times the loop polls
  /// until nothing is ready. Endless work (a function that posts itself, a timer that starts itself again
  /// without delay) does not stop the clock: after 100,000 consecutive polls that left something ready, or
  /// about six million steps of agents, the clock moves on after each further poll.
  ///
  /// Returns RunEnd::limit when `duration` has passed, and otherwise why it returned earlier. Without memory
  /// it returns RunEnd::out_of_memory and throws nothing.
  /// @loop_thread
  RunEnd run_for(Duration duration);

  /// Drives the loop until it is idle, or until `limit` has passed. Idle: nothing is ready, no timer runs but
  /// those of leases (AgentLimits::lease), and no agent has an operation in flight (model call, tool call,
  /// question, background task). Without a limit it returns only then: it waits as long as a question to a
  /// person is open, or a tool without a time-out runs. The result says why it returned. A ManualClock is
  /// moved as by run_for(); while no timer runs, the function waits for operations in flight for at most
  /// `limit` of real time.
  /// @loop_thread
  RunResult run_until_idle(Duration limit = no_limit);

  /// A descriptor for a foreign loop: it is readable whenever poll() has work; call poll() then. It also
  /// becomes readable when the earliest timer is due, so an adapter needs only this function. Owned by the
  /// Runtime, and valid as long as the Runtime. It may be readable without work; poll() then does nothing.
  /// For Asio, libuv, libevent, GLib, Qt, SDL and games there are adapters: agentcore/adapters/.
  ///
  ///     pollfd watched{.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0};
  ///     ::poll(&watched, 1, -1);  // or your loop's wait, with your own descriptors beside it
  ///     runtime.poll();
  ///
  /// The descriptor does not report timers, and the host must wait until next_deadline() at most:
  ///
  /// - with a clock other than SystemClock (RuntimeOptions::clock), as the system's timers have no other;
  /// - if the system has no timerfd_create() or forbids it, which is logged once as a warning.
  ///
  /// With LoopBackend::poll the descriptor reports wake-ups alone, and no sockets: use run_for() instead.
  ///
  /// Returns -1 if the system has no descriptor left (EMFILE, ENFILE, ENOMEM), which is logged once as a
  /// warning. No work is lost, but no descriptor becomes readable. Until the descriptor can be opened,
  /// next_deadline() is at most 10 ms ahead, and each poll() at that time tries again. Call this function
  /// again after every poll() while it returns -1.
  ///
  /// @loop_thread
  int poll_descriptor();

  /// The time of the next poll() that is necessary even if the descriptor is not readable. Now or in the past
  /// if work is ready. nullopt if no timer runs, and within a callback, where poll() does nothing. Call it
  /// again after every poll() and after every call into agentcore. A host that watches poll_descriptor() does
  /// not need it, except in the cases named there.
  /// @loop_thread
  std::optional<TimePoint> next_deadline() const;

  /// Registers `wake`, which is called when work arrives for a loop that has none: from another thread, from
  /// a function of this library that the host calls outside of poll(), or from a timer that is due when it is
  /// started. It is then not called again before the next poll(). It is not called for timers that become due
  /// later, and for sockets: see next_deadline() and poll_descriptor(). It is called on the thread that
  /// caused the work, and never in parallel with itself: if work arrives while it runs, it is called once
  /// more on the same thread when it returns. It must be quick, must not throw, and must not call agentcore:
  /// post a message to your own loop. It may take locks of the host, also those under which other threads
  /// call agentcore. There is one subscriber at a time; a later one replaces it. Both this and resetting the
  /// Subscription wait for a call of the earlier one that is running on another thread: do not hold a lock
  /// meanwhile that `wake` takes. What arrives during that wait calls the later one when it is over, within
  /// this function.
  ///
  ///     Subscription wake = runtime.on_wake([&] { my_loop.post([&] { runtime.poll(); }); });
  ///
  /// @loop_thread
  Subscription on_wake(std::function<void()> wake);

  /// Calls `function` on the loop thread, in one of the next polls, in the order of posting. If the Runtime
  /// is destroyed before, the function is destroyed without a call.
  /// @threadsafe
  void post(std::function<void()> function);

  /// Calls `function` once, after `delay` (below 0: without delay), unless the Timer is destroyed or
  /// cancelled before.
  /// @loop_thread
  Timer call_after(Duration delay, std::function<void()> function);

  /// The current time of RuntimeOptions::clock.
  /// @threadsafe
  TimePoint now() const noexcept;

  /// 64 bits from the generator that RuntimeOptions::seed initialized.
  /// @loop_thread
  std::uint64_t random();

  /// True on the loop thread. Before the first poll(), the loop thread is the thread that created the
  /// Runtime.
  /// @threadsafe
  bool on_loop_thread() const noexcept;

 private:
  friend struct detail::loop::RuntimeAccess;
  std::shared_ptr<detail::loop::Engine> engine_;
};

/// A pending call of Runtime::call_after(). The destructor cancels the call. A Timer may outlive its Runtime.
///
///     agentcore::Timer timer = runtime.call_after(std::chrono::seconds(5), [] { std::puts("late"); });
///     // ...
///     timer.cancel();
///
/// @loop_thread
class [[nodiscard]] AGENTCORE_API Timer {
 public:
  /// A timer without a call.
  Timer() = default;
  /// Internal: Runtime::call_after() creates timers.
  Timer(std::weak_ptr<detail::loop::Engine> engine, std::uint64_t id) : engine_(std::move(engine)), id_(id) {}
  Timer(Timer&& other) noexcept : engine_(std::move(other.engine_)), id_(std::exchange(other.id_, 0)) {}
  /// Cancels the call of this timer, then takes over the call of `other`.
  Timer& operator=(Timer&& other) noexcept;
  /// Cancels the call.
  /// @loop_thread
  ~Timer() { end(); }

  /// Cancels the call. Returns true if the call was still pending. On another thread than that of the loop it
  /// does nothing.
  bool cancel() noexcept;

 private:
  void end() noexcept;

  std::weak_ptr<detail::loop::Engine> engine_;
  std::uint64_t id_ = 0;
};

}  // namespace agentcore
