// How a program is ended, and that nothing of it is left.
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Says "ready", then waits for SIGTERM and says "term" on its named pipe.
const std::string with_trap = "trap 'echo term >\"$F\"; exit 7' TERM; echo ready >\"$F\"; sleep 1000 & wait";
// Prints its pid and ignores SIGTERM.
const std::string deaf = "trap '' TERM; echo $$ >\"$F\"; while :; do sleep 1000; done";

RuntimeOptions on(Clock& clock) {
  RuntimeOptions options;
  options.clock = &clock;
  return options;
}

}  // namespace

TEST_CASE("a stop sends SIGTERM and the output after it is kept", "[tools][G5]") {
  Fifo fifo;
  ToolFixture fixture(loop_test::with(EACH_BACKEND()));
  auto call = fixture.start(program(script(with_trap, &fifo), EACH_WATCH()));
  CHECK(fifo.line() == "ready");
  call.stop.request_stop();
  CHECK(fifo.line() == "term");
  CHECK_FALSE(fixture.result_of(call).success);
  CHECK(fixture.result_of(call).message == "told to end, the program exited with code 7");
  CHECK(fixture.result_of(call).data == R"({"exit_code":7})");
  CHECK(no_children());
}

TEST_CASE("a program that exits with 0 after a stop has not succeeded", "[tools][G5][G9]") {
  Fifo fifo;
  ToolFixture fixture(loop_test::with(EACH_BACKEND()));
  auto call = fixture.start(program(
      script("trap 'echo half; exit 0' TERM; echo ready >\"$F\"; sleep 1000 & wait", &fifo), EACH_WATCH()));
  CHECK(fifo.line() == "ready");
  call.stop.request_stop();
  const ToolResult& result = fixture.result_of(call);
  CHECK_FALSE(result.success);
  CHECK(result.message == "told to end, the program exited with code 0\nstandard output:\nhalf\n");
  CHECK(result.data == R"({"exit_code":0})");
}

TEST_CASE("a stop from another thread reaches the program while the loop is busy", "[tools][G1][G5]") {
  Fifo fifo;
  ToolFixture fixture;
  auto call = fixture.start(program(script(with_trap, &fifo)));
  CHECK(fifo.line() == "ready");
  std::thread stopper([&] { call.stop.request_stop(); });
  CHECK(fifo.line() == "term");  // the loop has not been polled once
  stopper.join();
  CHECK(fixture.result_of(call).data == R"({"exit_code":7})");
}

TEST_CASE("a program that ignores SIGTERM is killed after the grace period and not before", "[tools][G5]") {
  Fifo fifo;
  testing::ManualClock clock;
  ToolFixture fixture(on(clock));
  SubprocessOptions options = running(script(deaf, &fifo));
  options.kill_grace = 3s;  // not the default
  auto call = fixture.start(make_subprocess_tool(program_spec(), options));
  const pid_t pid = fifo.pid();
  call.stop.request_stop();
  clock.advance(1s);  // the loop notices it late; the grace period counts from the stop
  for (int i = 0; i < 100; ++i) fixture.runtime->poll();
  clock.advance(1999ms);
  for (int i = 0; i < 100; ++i) fixture.runtime->poll();
  CHECK_FALSE(fixture.has_result(call));
  CHECK(exists(pid));
  REQUIRE(fixture.runtime->next_deadline());  // the kill is still to come
  CHECK(*fixture.runtime->next_deadline() <= clock.now() + 1ms);
  clock.advance(1ms);
  CHECK(fixture.result_of(call).data == R"({"signal":9})");
  CHECK(fixture.result_of(call).message == "told to end, the program was ended by signal 9 (SIGKILL)");
  CHECK_FALSE(exists(pid));
}

TEST_CASE("without a grace period a program that ignores SIGTERM is killed at once", "[tools][G5]") {
  Fifo fifo;
  ToolFixture fixture;
  SubprocessOptions options = running(script(deaf, &fifo));
  options.kill_grace = Duration(0);
  auto call = fixture.start(detail::tools::subprocess_tool(program_spec(), options, EACH_WATCH()));
  fifo.line();
  call.stop.request_stop();
  CHECK(fixture.result_of(call).data == R"({"signal":9})");
}

TEST_CASE("the processes that a program started end with it", "[tools][G13]") {
  const auto watch = EACH_WATCH();
  const bool stopped = GENERATE(false, true);
  Fifo fifo, go;
  ToolFixture fixture;
  // The grandchildren hold the output, and the named pipe open for writing; one of them ignores SIGTERM.
  SubprocessCommand command = script(
      "(trap '' TERM; echo ready >&3; sleep 1000) 3>\"$F\" & (echo ready >&3; sleep 1000) 3>\"$F\" & "
      "read x <\"$G\"; echo out",
      &fifo);
  command.environment.emplace_back("G", go.path());
  auto call = fixture.start(program(command, watch));
  CHECK(fifo.line() == "ready");
  CHECK(fifo.line() == "ready");
  if (stopped)
    call.stop.request_stop();
  else
    go.say("go\n");
  CHECK(fixture.result_of(call).success != stopped);
  CHECK(fixture.result_of(call).data == (stopped ? R"({"signal":15})" : R"({"exit_code":0})"));
  fifo.wait_closed();
  CHECK(no_children());
}

TEST_CASE("programs receive SIGTERM even if the host blocks or ignores signals", "[tools][G5]") {
  sigset_t all, before_mask;
  sigfillset(&all);
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGTERM, &ignored, &before);
  pthread_sigmask(SIG_BLOCK, &all, &before_mask);
  ToolFixture fixture;
  const ToolResult result = fixture.run(program(script("kill -TERM $$; exit 0")));
  pthread_sigmask(SIG_SETMASK, &before_mask, nullptr);
  sigaction(SIGTERM, &before, nullptr);
  CHECK(result.data == R"({"signal":15})");
}

TEST_CASE("a call that was stopped before its start runs no program", "[tools][G9]") {
  Fifo fifo;
  ToolFixture fixture;
  StopSource stop;
  stop.request_stop();
  const auto call = fixture.start(program(script("echo begun >\"$F\"", &fifo)), stop);
  REQUIRE(fixture.has_result(call));
  CHECK(fixture.result_of(call).message == "cancelled");
  fifo.say("nothing\n");
  CHECK(fifo.line() == "nothing");
}

TEST_CASE("a command callback that stops its own call starts no program", "[tools][G1][G9]") {
  ToolFixture fixture;
  StopSource stop;
  SubprocessOptions options;
  options.command = [&](const nlohmann::json&) {
    stop.request_stop();
    return command_of({"true"});
  };
  CHECK(fixture.result_of(fixture.start(make_subprocess_tool(program_spec(), options), stop)).message ==
        "cancelled");
}

// Its stop token is triggered in the next poll (StopCut::none).
TEST_CASE("a command callback that stops its agent and leaves the cut to the loop starts no program",
          "[tools][G1][G9]") {
  ToolFixture fixture;
  SubprocessOptions options;
  options.command = [&](const nlohmann::json&) {
    fixture.owner.refusal = Errc::agent_stopping;
    return command_of({"true"});
  };
  CHECK(fixture.run(make_subprocess_tool(program_spec(), options)).message == "cancelled");
}

TEST_CASE("a process that left the group is not waited for", "[tools][G9]") {
  Fifo fifo, go;
  ToolFixture fixture;
  SubprocessCommand command =
      script("setsid sh -c 'echo $$ >\"$F\"; exec sleep 1000' & read x <\"$G\"; echo out", &fifo);
  command.environment.emplace_back("G", go.path());
  const auto call = fixture.start(program(command, EACH_WATCH()));
  const pid_t stray = fifo.pid();
  go.say("go\n");
  CHECK(fixture.result_of(call).message == "out\n");  // although the stray holds the pipe
  CHECK(exists(stray));
  ::kill(stray, SIGKILL);
}

TEST_CASE("one stop ends many programs", "[tools][G5][G13]") {
  Fifo fifo;
  ToolFixture fixture;
  StopSource stop;
  std::vector<ToolFixture::Call> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(fixture.start(program(script(with_trap, &fifo)), stop));
  for (int i = 0; i < 20; ++i) CHECK(fifo.line() == "ready");
  stop.request_stop();
  for (int i = 0; i < 20; ++i) CHECK(fifo.line() == "term");
  for (const auto& call : calls) CHECK(fixture.result_of(call).data == R"({"exit_code":7})");
  CHECK(no_children());
}

TEST_CASE("the destructor of a Runtime ends its programs", "[tools][G13]") {
  const std::ptrdiff_t before = loop_test::open_descriptors();
  const auto watch = EACH_WATCH();
  {
    Fifo fifo;
    ToolFixture fixture;
    auto call = fixture.start(program(script("exec 3>\"$F\"; (" + deaf + ") & " + deaf, &fifo), watch));
    fifo.line();
    fifo.line();
    SECTION("from outside") {
      fixture.runtime.reset();
    }
    SECTION("from a callback") {
      fixture.runtime->post([&] { fixture.runtime.reset(); });
      fixture.runtime->poll();
    }
    SECTION("after a stop") {
      call.stop.request_stop();
      fixture.runtime->poll();
      fixture.runtime.reset();
    }
    CHECK(no_children());
    fifo.wait_closed();  // the grandchild has ended as well
    call.stop.request_stop();
    CHECK(fixture.owner.results.empty());
  }
  CHECK(loop_test::open_descriptors() == before);
}

TEST_CASE("a command callback may destroy the Runtime", "[tools][G13][G16]") {
  ToolFixture fixture;
  SubprocessOptions options;
  options.command = [&](const nlohmann::json&) {
    fixture.runtime.reset();
    return command_of({"true"});
  };
  fixture.start(make_subprocess_tool(program_spec(), options));
  CHECK(fixture.owner.results.empty());
  CHECK(no_children());
}

TEST_CASE("ended calls leave no process and no descriptor", "[tools][G13][I17]") {
  const auto watch = EACH_WATCH();
  ToolFixture fixture;
  fixture.run(program(command_of({"true"}), watch));
  const std::ptrdiff_t before = loop_test::open_descriptors();
  for (int i = 0; i < 20; ++i) {
    SubprocessCommand command = script(i % 2 == 0 ? "cat" : "exec <&- >&- 2>&-; exit 1");
    command.input = "text";
    fixture.run(program(command, watch));
    fixture.run(program(command_of({"no-such-program-anywhere"}), watch));
  }
  CHECK(loop_test::open_descriptors() == before);
  CHECK(no_children());
}

TEST_CASE("a stop may race with the end of the program", "[tools][G5][G9]") {
  ToolFixture fixture;
  for (int i = 0; i < 200; ++i) {
    auto call = fixture.start(program(command_of({"true"})));
    std::thread stopper([&call, i] {
      // About 10 us for each i; not std::this_thread::yield(), which takes milliseconds on a busy machine.
      for (int spin = 0; spin < i * 10'000; ++spin) static_cast<void>(call.stop.stop_requested());
      call.stop.request_stop();
    });
    fixture.result_of(call);
    stopper.join();
  }
  CHECK(no_children());
}
