// Programs of the simulated system give the same results as real ones that do the same.
#include "process/processes.hpp"
#include "sim/network.hpp"
#include "sim/random.hpp"
#include "sim/sim_processes.hpp"
#include "sim/world.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/process_fixture.hpp"

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::sim;
using agentcore::test::Fifo;
using agentcore::test::ToolFixture;

namespace {

struct Step {
  enum class What {
    write_output,
    write_errors,
    close_output,
    ignore_term,
    fork,
    fork_leaver,
    stop,
    exit,
    die
  };
  What what = What::exit;
  std::uint32_t n = 0;
};

struct NoWatcher final : ProgramWatcher {
  void on_start(const std::shared_ptr<Program>& started) override { program = started; }
  void on_refused_start(const std::string&) override {}
  void on_signal(const Program&, Signal) override {}
  void on_reaped(const Program&, std::size_t left) override { CHECK(left == 0); }
  void on_misuse(const std::string& what) override { FAIL_CHECK(what); }

  std::shared_ptr<Program> program;
};

// What a shell does in the place of each step; empty: nothing.
using Lines = std::vector<std::string>;

std::vector<Step> any_steps(std::uint64_t seed) {
  Random random(seed);
  std::vector<Step> steps;
  for (std::uint32_t left = random.below(6); left != 0; --left)
    steps.push_back(
        {Step::What(random.below(static_cast<std::uint32_t>(Step::What::stop))), random.below(60)});
  const std::array ends{Step::What::stop, Step::What::exit, Step::What::exit, Step::What::die};
  steps.push_back({ends[random.below(4)], random.below(4)});
  return steps;
}

SubprocessOptions options_of(SubprocessCommand command) {
  SubprocessOptions options = test::running(std::move(command));
  options.kill_grace = Duration(0);
  options.max_output_bytes = 80;
  return options;
}

constexpr std::array signals{SIGSEGV, SIGABRT, SIGKILL, SIGHUP};
constexpr std::array signal_names{"SEGV", "ABRT", "KILL", "HUP"};

class Simulated {
 public:
  explicit Simulated(bool dies_late) {
    const auto& engine = detail::loop::engine_of(*fixture_.runtime);
    processes_ =
        std::make_shared<SimProcesses>(*network_, clock_, watcher_, ProcessHabits{dies_late, true, 0});
    engine->install_poller(std::make_unique<SimPoller>(network_, ReadyOrder::by_number));
    detail::process::Processes::install(*engine, processes_);
  }

  ToolResult run(const std::vector<Step>& steps, Lines& lines) {
    const auto call =
        fixture_.start(make_subprocess_tool(test::program_spec(), options_of(test::command_of({"program"}))));
    for (const Step& step : steps) {
      if (step.what == Step::What::stop) call_stop(call);
      lines.push_back(take(step));
      poll();
    }
    processes_->end_all();  // those that have left the group, too
    poll();
    return fixture_.result_of(call);
  }

 private:
  static void call_stop(const ToolFixture::Call& call) { StopSource(call.stop).request_stop(); }
  void poll() {
    for (int i = 0; i < 5; ++i) {
      fixture_.runtime->poll();
      processes_->settle();
    }
  }

  std::string written(bool to_errors, std::size_t size) {
    const std::string before = watcher_.program->written[to_errors ? 1 : 0];
    processes_->writes(0, to_errors, size);
    const std::string text = watcher_.program->written[to_errors ? 1 : 0].substr(before.size());
    if (text.empty()) return {};
    return "printf %s '" + text + (to_errors ? "' >&2" : "'");
  }

  std::string take(const Step& step) {
    switch (step.what) {
      case Step::What::write_output:
      case Step::What::write_errors:
        return written(step.what == Step::What::write_errors, step.n);
      case Step::What::close_output:
        return processes_->closes(0, 1) ? "exec 1>&-" : "";
      case Step::What::ignore_term:
        processes_->ignores_term(0);
        return "trap '' TERM";
      case Step::What::fork:
        processes_->forks(0);
        return "sleep 1000 &";
      case Step::What::fork_leaver:
        if (has_leaver_) return {};
        has_leaver_ = true;
        processes_->forks(0);
        processes_->leaves_group(static_cast<std::uint32_t>(processes_->count() - 1));
        return R"(setsid sh -c 'echo gone >"$F"; read end <"$L"' & read gone <"$G")";
      case Step::What::exit:
        processes_->exits(0, static_cast<int>(step.n));
        return "exit " + std::to_string(step.n);
      case Step::What::die:
        processes_->dies(0, signals[step.n % 4]);
        return std::string("kill -") + signal_names[step.n % 4] + " $$";
      default:
        return {};
    }
  }

  const std::shared_ptr<SimNetwork> network_ = std::make_shared<SimNetwork>();
  SimClock clock_;
  NoWatcher watcher_;
  std::shared_ptr<SimProcesses> processes_;
  ToolFixture fixture_{RuntimeOptions{.clock = &clock_}};
  bool has_leaver_ = false;
};

// A shell that does one line after the other, and says each time that it has.
ToolResult run_really(const std::vector<Step>& steps, const Lines& lines) {
  Fifo said, go, leaver;
  ToolFixture fixture;
  SubprocessCommand command =
      test::script(R"(while read -r line <"$G"; do eval "$line"; echo done >"$F"; done)", &said);
  command.environment.emplace_back("G", go.path());
  command.environment.emplace_back("L", leaver.path());
  const auto call = fixture.start(make_subprocess_tool(test::program_spec(), options_of(std::move(command))));
  const auto tell = [&](const std::string& line, bool goes_on) {
    go.say(line + "\n");
    if (line.starts_with("setsid ")) {
      CHECK(said.line() == "gone");
      go.say("go on\n");
    }
    if (goes_on) CHECK(said.line() == "done");
    for (int i = 0; i < 3; ++i) fixture.runtime->poll();
  };
  tell("", true);  // it runs
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].what == Step::What::stop)
      StopSource(call.stop).request_stop();
    else if (!lines[i].empty())
      tell(lines[i], steps[i].what < Step::What::stop);
  }
  return fixture.result_of(call);
}

}  // namespace

TEST_CASE("simulated programs give the same results as real ones", "[sim][fidelity]") {
  const auto seeds = test::amount<std::uint64_t>(60, 15);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const std::vector<Step> steps = any_steps(seed);
    Lines lines;
    const ToolResult simulated = Simulated(seed % 2 == 1).run(steps, lines);
    CAPTURE(lines);
    const ToolResult real = run_really(steps, lines);
    CHECK(simulated.success == real.success);
    CHECK(simulated.message == real.message);
    CHECK(simulated.data == real.data);
  }
  CHECK(test::no_children());
}
