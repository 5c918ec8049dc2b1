#include "support/catch.hpp"
#include "support/drive/latch.hpp"
#include "support/drive/tool_fixture.hpp"

#include <agentcore/executor.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

ToolSpec named(std::string name) {
  ToolSpec spec;
  spec.name = std::move(name);
  return spec;
}

// Records its destruction.
struct Witness {
  explicit Witness(std::function<void()> told) : on_end(std::move(told)) {}
  ~Witness() { on_end(); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  std::function<void()> on_end;
};

// A pool of one thread that is busy until release.
struct BusyPool {
  explicit BusyPool() {
    pool->submit([this] {
      begun.count_down();
      go.wait();
    });
    begun.wait();
  }
  Latch begun{1}, go{1};
  std::shared_ptr<ThreadPool> pool = std::make_shared<ThreadPool>(1);
};

}  // namespace

TEST_CASE("a pool runs every job on its own threads and as many at a time as it has threads", "[tools]") {
  constexpr int threads = 4, jobs = 200;
  std::atomic<int> done{0};
  Latch all_at_once{threads};
  {
    ThreadPool pool(threads);
    for (int i = 0; i < threads; ++i) pool.submit([&] { all_at_once.arrive_and_wait(); });
    all_at_once.wait();
    Latch rest{jobs};
    for (int i = 0; i < jobs; ++i)
      pool.submit([&, loop = std::this_thread::get_id()] {
        if (std::this_thread::get_id() != loop) ++done;
        rest.count_down();
      });
    rest.wait();
  }
  CHECK(done == jobs);
}

TEST_CASE("a pool has 1 to 1024 threads", "[tools][G15]") {
  CHECK_THROWS_AS(ThreadPool(0), std::invalid_argument);
  CHECK_THROWS_AS(ThreadPool(1025), std::invalid_argument);
}

TEST_CASE("an exception of a job does not leave the pool", "[tools][G16]") {
  Latch after{1};
  ThreadPool pool(1);
  pool.submit([] { throw std::runtime_error("no"); });
  pool.submit([] { throw 7; });
  pool.submit([&] { after.count_down(); });
  after.wait();
  CHECK(pool.queued() == 0);
}

TEST_CASE("the destructor of a pool drops queued jobs and waits for running ones", "[tools][G13]") {
  std::atomic<bool> ran{false}, finished{false};
  std::atomic<int> dropped{0};
  Latch begun{1}, go{1};
  auto pool = std::make_unique<ThreadPool>(1);
  pool->submit([&] {
    begun.count_down();
    go.wait();
    finished = true;
  });
  begun.wait();
  for (int i = 0; i < 3; ++i) {
    // The last of them lets the running job go, so the pool cannot end before they are dropped. Each asks
    // for the queue, which takes the lock: they die outside of it.
    auto witness = std::make_shared<Witness>([&, raw = pool.get()] {
      CHECK(raw->queued() == 0);
      raw->submit([&] { ran = true; });
      if (++dropped == 3) go.count_down();
    });
    pool->submit([&ran, witness] { ran = true; });
  }
  CHECK(pool->queued() == 3);
  pool.reset();
  CHECK(finished);
  CHECK(dropped == 3);
  CHECK_FALSE(ran);
}

TEST_CASE("a blocking tool runs on the pool and delivers on the loop thread", "[tools][G16]") {
  ToolFixture fixture;
  const auto pool = std::make_shared<ThreadPool>(2);
  std::atomic<bool> on_loop{true};
  const Tool tool =
      make_blocking_tool(named("t"), pool, [&](const nlohmann::json& arguments, const ToolContext&) {
        on_loop = fixture.runtime->on_loop_thread();
        return ToolResult::done(arguments.dump());
      });
  const auto call = fixture.start(tool);
  CHECK_FALSE(fixture.has_result(call));
  CHECK(fixture.result_of(call).success);
  CHECK(fixture.result_of(call).message == "{}");
  CHECK_FALSE(on_loop);
  CHECK(fixture.owner.results.at(call.serial).thread == std::this_thread::get_id());
}

TEST_CASE("an exception of a blocking tool is a failed result", "[tools][G16]") {
  ToolFixture fixture;
  const auto pool = std::make_shared<ThreadPool>(1);
  const ToolResult told = fixture.run(make_blocking_tool(
      named("t"), pool,
      [](const nlohmann::json&, const ToolContext&) -> ToolResult { throw std::runtime_error("no disk"); }));
  CHECK_FALSE(told.success);
  CHECK(told.message == "the tool failed: no disk");
  const ToolResult odd = fixture.run(make_blocking_tool(
      named("t"), pool, [](const nlohmann::json&, const ToolContext&) -> ToolResult { throw 7; }));
  CHECK_FALSE(odd.success);
  CHECK(odd.message == "the tool failed: an exception that is no std::exception");
  // Of a tool that runs on the loop thread, too.
  const ToolResult here = fixture.run(
      make_tool(named("t"), [](const nlohmann::json&, const ToolContext&) -> ToolResult { throw 7; }));
  CHECK_FALSE(here.success);
  CHECK(here.message == "the tool failed: an exception that is no std::exception");
}

TEST_CASE("a pool begins its jobs in their order", "[tools]") {
  BusyPool busy;
  std::string order;  // of one thread
  Latch done(1);
  for (const char job : {'a', 'b', 'c', 'd'})
    busy.pool->submit([&order, &done, job] {
      order += job;
      if (order.size() == 4) done.count_down();
    });
  busy.go.count_down();
  done.wait();
  CHECK(order == "abcd");
}

TEST_CASE("a blocking tool needs an executor", "[tools]") {
  CHECK_THROWS_AS(make_blocking_tool(named("t"), nullptr,
                                     [](const nlohmann::json&, const ToolContext&) { return ToolResult{}; }),
                  std::invalid_argument);
}

TEST_CASE("a call whose job is dropped has failed", "[tools][G9]") {
  ToolFixture fixture;
  BusyPool busy;
  // The pool drops the call first and then waits for the job that runs, which a second witness releases.
  const auto call =
      fixture.start(make_blocking_tool(named("t"), busy.pool, [](const nlohmann::json&, const ToolContext&) {
        return ToolResult::done("ran");
      }));
  busy.pool->submit([witness = std::make_shared<Witness>([&] { busy.go.count_down(); })] {});
  busy.pool.reset();
  CHECK_FALSE(fixture.result_of(call).success);
  CHECK(fixture.result_of(call).message == "the tool dropped its call");
}

TEST_CASE("a queued call of a blocking tool is not started after a stop", "[tools][G5][G9]") {
  ToolFixture fixture;
  BusyPool busy;
  std::atomic<bool> ran{false};
  auto call =
      fixture.start(make_blocking_tool(named("t"), busy.pool, [&](const nlohmann::json&, const ToolContext&) {
        ran = true;
        return ToolResult{};
      }));
  call.stop.request_stop();
  busy.go.count_down();
  CHECK_FALSE(fixture.result_of(call).success);
  CHECK(fixture.result_of(call).message == "cancelled");
  CHECK_FALSE(ran);
}

TEST_CASE("a running blocking tool sees the stop token", "[tools][G5]") {
  ToolFixture fixture;
  const auto pool = std::make_shared<ThreadPool>(1);
  Latch begun{1}, stopped{1};
  auto call = fixture.start(
      make_blocking_tool(named("t"), pool, [&](const nlohmann::json&, const ToolContext& context) {
        const std::stop_callback heard(context.stop(), [&] { stopped.count_down(); });
        begun.count_down();
        stopped.wait();
        return ToolResult::failed("let go");
      }));
  begun.wait();
  call.stop.request_stop();
  CHECK(fixture.result_of(call).message == "let go");
}

TEST_CASE("a blocking tool may outlive the Runtime", "[tools][G13]") {
  ToolFixture fixture;
  BusyPool busy;
  fixture.start(make_blocking_tool(named("t"), busy.pool, [](const nlohmann::json&, const ToolContext&) {
    return ToolResult::done("late");
  }));
  fixture.runtime.reset();
  busy.go.count_down();
  busy.pool.reset();
  CHECK(fixture.owner.results.empty());
}
