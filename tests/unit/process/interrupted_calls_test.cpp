// Calls of the system that a signal of the host interrupts.
#include "loop/engine.hpp"
#include "process/processes.hpp"
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"

#include <cerrno>
#include <memory>
#include <string>

using namespace agentcore;
using namespace agentcore::test;
namespace platform = agentcore::detail::platform;

namespace {

// Each second call fails.
class InterruptedCalls final : public platform::ProcessSystem {
 public:
  platform::Spawned spawn(const SubprocessCommand& command) override { return system_->spawn(command); }
  platform::Descriptor open_exit_descriptor(platform::ProcessId pid) noexcept override {
    return system_->open_exit_descriptor(pid);
  }
  bool signal_group(platform::ProcessId leader, platform::Signal signal) noexcept override {
    return system_->signal_group(leader, signal);
  }
  bool signal(platform::ProcessId pid, platform::Signal signal) noexcept override {
    return system_->signal(pid, signal);
  }
  platform::ChildState look_at(platform::ProcessId pid) noexcept override {
    return is_interrupted(looks) ? platform::ChildState::unknown : system_->look_at(pid);
  }
  platform::ChildState reap(platform::ProcessId pid, platform::ExitStatus& status) noexcept override {
    return is_interrupted(reaps) ? platform::ChildState::unknown : system_->reap(pid, status);
  }
  std::ptrdiff_t read(const platform::Descriptor& descriptor, std::span<char> buffer) noexcept override {
    return is_interrupted(reads) ? -1 : system_->read(descriptor, buffer);
  }
  std::size_t bytes_held(const platform::Descriptor& descriptor) noexcept override {
    return system_->bytes_held(descriptor);
  }
  std::ptrdiff_t write(const platform::Descriptor& descriptor, std::string_view bytes) noexcept override {
    return is_interrupted(writes) ? -1 : system_->write(descriptor, bytes);
  }
  Duration await_readable(int descriptor, Duration at_most) noexcept override {
    return system_->await_readable(descriptor, at_most);
  }

  int looks = 0, reaps = 0, reads = 0, writes = 0;

 private:
  static bool is_interrupted(int& count) noexcept {
    errno = EINTR;
    return ++count % 2 == 1;
  }

  const std::shared_ptr<platform::ProcessSystem> system_ = platform::make_process_system();
};

}  // namespace

TEST_CASE("a program loses no output and no exit status to interrupted calls", "[tools][G13]") {
  ToolFixture fixture(loop_test::with(EACH_BACKEND()));
  const auto calls = std::make_shared<InterruptedCalls>();
  detail::process::Processes::install(*detail::loop::engine_of(*fixture.runtime), calls);
  SubprocessCommand command = script("cat; echo end; exit 3");
  command.input = "the input\n";
  const auto call = fixture.start(program(command, EACH_WATCH()));
  CHECK(fixture.runtime->run_until_idle());
  REQUIRE(fixture.has_result(call));
  CHECK(fixture.result_of(call).message ==
        "the program exited with code 3\nstandard output:\nthe input\nend\n");
  CHECK(no_children());
  for (const int count : {calls->looks, calls->reaps, calls->reads, calls->writes}) CHECK(count >= 2);
}

TEST_CASE("a system that is installed has all programs of its engine", "[tools]") {
  ToolFixture fixture;
  const auto calls = std::make_shared<InterruptedCalls>();
  detail::process::Processes::install(*detail::loop::engine_of(*fixture.runtime), calls);
  for (int i = 1; i <= 2; ++i) {
    CHECK(fixture.run(program(script("echo out"))).success);
    CHECK(calls->reaps >= 2 * i);
  }
  calls->reaps = 0;
  CHECK(ToolFixture().run(program(script("echo out"))).success);
  CHECK(calls->reaps == 0);
}
