// A system that has no descriptor left for the loop, or refuses to watch one.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/no_descriptors.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace agentcore;
using namespace loop_test;
using detail::loop::IoEvents;
using test::NoDescriptors;

namespace {

// A Runtime that writes down what it logs.
struct Logged {
  explicit Logged(LoopBackend backend) : runtime(options(backend)) {}

  RuntimeOptions options(LoopBackend backend) {
    RuntimeOptions made = with(backend, &clock);
    made.log = [this](const LogRecord& record) {
      log.push_back(std::string(to_string(record.level)) + " " + std::string(record.message));
      for (const auto& field : record.fields) log.back() += " " + std::string(field.value);
    };
    return made;
  }

  testing::ManualClock clock;
  std::vector<std::string> log;
  Runtime runtime;
};

const std::string warning =
    "warning the system has no descriptor left for the loop: it looks for work every 10 ms Too many open "
    "files";
const std::string recovered = "info the loop has its descriptors";

}  // namespace

TEST_CASE("without a descriptor the loop runs by its deadline and logs it once and recovers",
          "[loop][Q2][G16]") {
  const auto backend = EACH_BACKEND();
  Logged logged(backend);
  Runtime& runtime = logged.runtime;
  const Pipe pipe;
  Handler handler([&](int, IoEvents) { REQUIRE(pipe.read()); });
  const int needed = backend == LoopBackend::epoll ? 3 : 1;
  const int spare = GENERATE(0, 1, 2);
  if (spare >= needed) return;
  CAPTURE(spare);
  NoDescriptors none;
  none.release(spare);
  REQUIRE(runtime.poll_descriptor() == -1);
  CHECK(runtime.poll_descriptor() == -1);
  CHECK(logged.log == std::vector<std::string>{warning});

  // Everything is served at the next deadline at the latest.
  REQUIRE_FALSE(detail::loop::engine_of(runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  for (int i = 1; i <= 3; ++i) {
    const auto deadline = runtime.next_deadline();
    REQUIRE(deadline);
    CHECK(*deadline > runtime.now());
    CHECK(*deadline <= runtime.now() + 10ms);
    REQUIRE(pipe.write());
    logged.clock.advance(*deadline - runtime.now());
    runtime.poll();
    CHECK(handler.calls == i);
  }
  CHECK(logged.log == std::vector<std::string>{warning});

  none.release(10);
  logged.clock.advance(10ms);
  runtime.poll();
  const int descriptor = runtime.poll_descriptor();
  REQUIRE(descriptor >= 0);
  CHECK(logged.log == std::vector<std::string>{warning, recovered});
  CHECK_FALSE(runtime.next_deadline());
  // The descriptor stands for posts of other threads and, with epoll, for what was watched before.
  std::thread([&] { runtime.post([] {}); }).join();
  CHECK(readable(descriptor));
  runtime.poll();
  CHECK_FALSE(readable(descriptor));
  REQUIRE(pipe.write());
  CHECK(readable(descriptor) == (backend == LoopBackend::epoll));
  runtime.poll();
  CHECK(handler.calls == 4);
}

TEST_CASE("a poll tries to open the missing descriptors only every 10 ms", "[loop]") {
  Logged logged(LoopBackend::epoll);
  NoDescriptors none;
  REQUIRE(logged.runtime.poll_descriptor() == -1);
  none.release(10);
  const auto before = logged.log.size();
  logged.clock.advance(9ms);
  logged.runtime.poll();
  CHECK(logged.log.size() == before);
  logged.clock.advance(1ms);
  logged.runtime.poll();
  CHECK(logged.log.size() == before + 1);
}

TEST_CASE("a failed allocation while the loop recovers stays inside poll() and is retried", "[loop][G16]") {
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    CAPTURE(n);
    const auto before = open_descriptors();
    {
      Logged logged(LoopBackend::epoll);
      const Pipe pipe;
      Handler handler([&](int, IoEvents) { REQUIRE(pipe.read()); });
      NoDescriptors none;
      REQUIRE(logged.runtime.poll_descriptor() == -1);
      REQUIRE_FALSE(
          detail::loop::engine_of(logged.runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
      none.release(10);
      logged.clock.advance(10ms);
      {
        const test::FailingAllocation failing(n);
        logged.runtime.poll();
        failed = failing.failed();
      }
      logged.clock.advance(10ms);
      logged.runtime.poll();
      const int descriptor = logged.runtime.poll_descriptor();
      REQUIRE(descriptor >= 0);
      REQUIRE(pipe.write());
      CHECK(readable(descriptor));
      logged.runtime.poll();
      CHECK(handler.calls == 1);
    }
    CHECK(open_descriptors() == before);
  }
}

TEST_CASE("run_for serves descriptors and timers without a descriptor of its own and recovers", "[loop]") {
  Logged logged(EACH_BACKEND());
  const Pipe pipe;
  Handler handler([&](int, IoEvents) { REQUIRE(pipe.read()); });
  NoDescriptors none;
  REQUIRE_FALSE(detail::loop::engine_of(logged.runtime)->watch(pipe.read_end(), IoEvents::readable, handler));
  const Timer timer = logged.runtime.call_after(1h, [&] { REQUIRE(pipe.write()); });
  logged.runtime.run_for(1h);
  logged.runtime.run_for(0ns);
  CHECK(handler.calls == 1);
  CHECK(logged.log == std::vector<std::string>{warning});
  none.release(10);
  logged.runtime.run_for(1h);
  CHECK(logged.log == std::vector<std::string>{warning, recovered});
}

TEST_CASE("a log sink may destroy the Runtime when a missing descriptor is logged", "[loop][Q3]") {
  std::unique_ptr<Runtime> runtime;
  RuntimeOptions options = with(EACH_BACKEND());
  options.log = [&](const LogRecord&) { runtime.reset(); };
  runtime = std::make_unique<Runtime>(std::move(options));
  const bool by_watch = GENERATE(true, false);
  const Pipe pipe;
  Handler handler;
  const NoDescriptors none;
  const auto engine = by_watch ? detail::loop::engine_of(*runtime) : nullptr;
  if (by_watch)
    CHECK(engine->watch(pipe.read_end(), IoEvents::readable, handler) == std::errc::operation_canceled);
  else
    CHECK(runtime->poll_descriptor() == -1);
  CHECK(runtime == nullptr);
}

TEST_CASE("a watch that the system refuses returns the reason", "[loop]") {
  Runtime runtime(with(LoopBackend::epoll));
  Handler handler;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);  // epoll takes no regular file
  REQUIRE(file >= 0);
  CHECK(detail::loop::engine_of(runtime)->watch(file, IoEvents::readable, handler).value() == EPERM);
  CHECK(detail::loop::engine_of(runtime)->rewatch(file, IoEvents::writable).value() == ENOENT);
  CHECK(detail::loop::engine_of(runtime)->watch(-1, IoEvents::readable, handler).value() == EBADF);
  ::close(file);
}
