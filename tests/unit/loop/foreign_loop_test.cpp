// A foreign loop that watches Runtime::poll_descriptor() alone: it misses no timer.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/no_descriptors.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

using namespace agentcore;
using namespace loop_test;

namespace {

// A loop of a host that knows the descriptor and nothing else.
struct DescriptorLoop {
  explicit DescriptorLoop(Runtime& driven) : runtime(driven), descriptor(driven.poll_descriptor()) {
    REQUIRE(descriptor >= 0);
  }
  // Waits for the descriptor and polls, until `done` is true. Fails where the descriptor does not wake it.
  template <typename Done>
  void run_until(Done&& done) {
    while (!done()) {
      pollfd watched{descriptor, POLLIN, 0};
      REQUIRE(::poll(&watched, 1, 20'000) == 1);
      ++wakes;
      runtime.poll();
    }
  }
  Runtime& runtime;
  const int descriptor;
  int wakes = 0;
};

// The timers of the system that the process holds.
std::size_t system_timers() {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += std::filesystem::read_symlink(entry, error) == "anon_inode:[timerfd]";
  return count;
}

// From now on timerfd_create() fails in this thread, as in a sandbox that does not know it.
bool forbid_system_timers() {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the system call
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timerfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// As fast as the system's clock, but not known to be it.
struct OtherClock final : Clock {
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

}  // namespace

TEST_CASE("the descriptor alone wakes a foreign loop for a timer", "[loop][timerfd][Q2][CARD2]") {
  Runtime runtime;
  const bool asked_before = GENERATE(true, false);
  if (asked_before) REQUIRE(runtime.poll_descriptor() >= 0);
  bool called = false;
  const TimePoint start = runtime.now();
  const Timer timer = runtime.call_after(20ms, [&] { called = true; });
  DescriptorLoop loop(runtime);
  CHECK_FALSE(readable(loop.descriptor));
  loop.run_until([&] { return called; });
  CHECK(runtime.now() - start >= 20ms);
  CHECK(loop.wakes <= 2);
  CHECK_FALSE(readable(loop.descriptor));
}

TEST_CASE("the descriptor follows the earliest timer, whatever is started and cancelled",
          "[loop][timerfd][Q2]") {
  Runtime runtime;
  DescriptorLoop loop(runtime);
  std::vector<std::string> called;
  const Timer late = runtime.call_after(1h, [&] { called.push_back("late"); });
  Timer cancelled = runtime.call_after(1ms, [&] { called.push_back("cancelled"); });
  const Timer second = runtime.call_after(10ms, [&] { called.push_back("second"); });
  const Timer first = runtime.call_after(5ms, [&] { called.push_back("first"); });
  CHECK(cancelled.cancel());
  loop.run_until([&] { return called.size() == 2; });
  CHECK(called == std::vector<std::string>{"first", "second"});
  CHECK(loop.wakes <= 6);
  CHECK_FALSE(readable(loop.descriptor));
}

TEST_CASE("timers that are started within polls and moved with every step are all called",
          "[loop][timerfd][Q2]") {
  RuntimeOptions options;
  options.seed = 7;
  Runtime runtime(std::move(options));
  DescriptorLoop loop(runtime);
  constexpr std::size_t wanted = 300;
  std::size_t called = 0;
  Timer time_out;  // as of a connection: moved with each byte
  std::array<Timer, 4> timers;
  std::function<void(std::size_t)> start = [&](std::size_t index) {
    const Duration delay(static_cast<Duration::rep>(runtime.random() % 1'000'000));
    timers[index] = runtime.call_after(delay, [&, index] {
      ++called;
      time_out = runtime.call_after(10s, [] {});
      if (runtime.random() % 2 == 0)
        start(index);
      else
        runtime.post([&, index] { start(index); });
    });
  };
  for (std::size_t index = 0; index < timers.size(); ++index) start(index);
  loop.run_until([&] { return called >= wanted; });
  CHECK(called >= wanted);
}

TEST_CASE("a nested loop in a callback is woken by a timer once, and the timer is called after the callback",
          "[loop][timerfd][Q2][Q3]") {
  Runtime runtime;
  DescriptorLoop loop(runtime);
  int called = 0, wakes = 0;
  const Timer timer = runtime.call_after(2ms, [&] { ++called; });
  const auto dialog = [&] {
    wait_readable(loop.descriptor);  // the timer is due
    for (; wakes < 1000 && readable(loop.descriptor); ++wakes) CHECK_FALSE(runtime.poll());
    const Timer other = runtime.call_after(0ns, [&] { ++called; });
    CHECK_FALSE(readable(loop.descriptor));
    CHECK(called == 0);
  };
  if (GENERATE(true, false)) {
    runtime.post(dialog);
    runtime.poll();
  } else {
    REQUIRE(detail::loop::engine_of(runtime)->guarded("an observer", dialog));
  }
  CHECK(wakes == 1);
  loop.run_until([&] { return called == 1; });
  CHECK_FALSE(readable(loop.descriptor));
}

TEST_CASE("the timer of the system is opened with the descriptor, and goes with the Runtime",
          "[loop][timerfd][G13][G16]") {
  const std::size_t before = system_timers();
  {
    Runtime runtime;
    const Pipe pipe;
    Handler handler;
    REQUIRE_FALSE(
        detail::loop::engine_of(runtime)->watch(pipe.read_end(), detail::loop::IoEvents::readable, handler));
    const Timer timer = runtime.call_after(1ms, [] {});
    CHECK(runtime.run_until_idle());
    CHECK(system_timers() == before);
    CHECK(runtime.poll_descriptor() >= 0);
    CHECK(system_timers() == before + 1);
  }
  CHECK(system_timers() == before);
}

TEST_CASE("the descriptor does not report timers of another clock or with poll(2): next_deadline does",
          "[loop][timerfd][Q2]") {
  const std::size_t before = system_timers();
  testing::ManualClock manual;
  OtherClock other;
  const std::string kind = GENERATE("manual", "other", "poll");
  CAPTURE(kind);
  RuntimeOptions options;
  if (kind == "manual") options.clock = &manual;
  if (kind == "other") options.clock = &other;
  if (kind == "poll") options.backend = LoopBackend::poll;
  Runtime runtime(std::move(options));
  const int descriptor = runtime.poll_descriptor();
  REQUIRE(descriptor >= 0);
  bool called = false;
  const Timer timer = runtime.call_after(1ms, [&] { called = true; });
  manual.advance(1ms);
  const auto deadline = runtime.next_deadline();
  REQUIRE(deadline);
  while (runtime.now() < *deadline) continue;
  CHECK_FALSE(readable(descriptor));
  CHECK(system_timers() == before);
  runtime.poll();
  CHECK(called);
}

TEST_CASE("without a descriptor for its timer there is no descriptor for the host, until there is one",
          "[loop][timerfd][Q2]") {
  Runtime runtime;
  bool called = false;
  const Timer timer = runtime.call_after(1ms, [&] { called = true; });
  {
    test::NoDescriptors none;
    none.release(3);  // four are needed
    CHECK(runtime.poll_descriptor() == -1);
    const auto deadline = runtime.next_deadline();
    REQUIRE(deadline);
    CHECK(*deadline <= runtime.now() + 10ms);
    none.release(1);
    REQUIRE(runtime.poll_descriptor() >= 0);
  }
  DescriptorLoop(runtime).run_until([&] { return called; });
  CHECK(called);
}

TEST_CASE("where the system forbids its timers the descriptor works without, and the log says so once",
          "[loop][timerfd][Q2]") {
  bool forbidden = false, has_deadline = false, called = false;
  int descriptor = -1;
  std::vector<std::string> log;
  std::thread([&] {
    forbidden = forbid_system_timers();
    RuntimeOptions options;
    options.log = [&](const LogRecord& record) { log.emplace_back(record.message); };
    Runtime runtime(std::move(options));
    descriptor = runtime.poll_descriptor();
    const Timer timer = runtime.call_after(0ns, [&] { called = true; });
    const auto deadline = runtime.next_deadline();
    has_deadline = deadline && *deadline <= runtime.now();
    runtime.poll();
    static_cast<void>(runtime.poll_descriptor());
  }).join();
  REQUIRE(forbidden);
  CHECK(descriptor >= 0);
  CHECK(has_deadline);
  CHECK(called);
  CHECK(log ==
        std::vector<std::string>{"the system has no timer for poll_descriptor(): wait for next_deadline()"});
}

TEST_CASE("an attempt to drive the loop on another thread during a poll leaves the descriptor as it is",
          "[loop][Q3][threads]") {
  Runtime runtime;
  const DescriptorLoop loop(runtime);
  const auto engine = detail::loop::engine_of(runtime);
  const Pipe pipe;
  Handler handler([&](int descriptor, detail::loop::IoEvents) { engine->unwatch(descriptor); });
  REQUIRE_FALSE(engine->watch(pipe.read_end(), detail::loop::IoEvents::readable, handler));
  bool drove = true, was_readable = false;
  runtime.post([&] {
    REQUIRE(pipe.write());
    std::thread([&] { drove = runtime.poll(); }).join();
    was_readable = readable(loop.descriptor);
  });
  runtime.poll();
  CHECK_FALSE(drove);
  CHECK(was_readable);
}

TEST_CASE("a lease has a timer of the system that runs while the machine sleeps",
          "[loop][timerfd][sleep][lease]") {
  const auto timers_of_boot_time = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
      std::ifstream info(entry.path());
      const std::string text{std::istreambuf_iterator<char>(info), {}};
      count += text.find("clockid: " + std::to_string(CLOCK_BOOTTIME) + "\n") != text.npos;
    }
    return count;
  };
  const LoopBackend backend = EACH_BACKEND();
  {
    Runtime runtime(with(backend));
    AgentTree tree(runtime);
    const bool watches = GENERATE(true, false);
    if (watches) REQUIRE(runtime.poll_descriptor() >= 0);
    REQUIRE(tree.create({.id = "lasting", .limits = {.lease = 1h}}));
    bool is_over = false, timed = false;
    const Timer end = runtime.call_after(1ms, [&] {
      is_over = true;
      timed = timers_of_boot_time() == 1;
    });
    while (!is_over) runtime.run_for(1ms);
    CHECK(timed);
    const Agent agent = tree.create({.id = "a", .limits = {.lease = 1ms}}).value();
    while (agent.state().value() != AgentState::stopped) runtime.run_for(1ms);
    const int descriptor = runtime.poll_descriptor();
    while (runtime.poll()) continue;
    CHECK_FALSE(readable(descriptor));  // the timer has ended, and makes it readable no more
  }
  CHECK(timers_of_boot_time() == 0);
}
