// Fixtures for the loop's tests: both backends and a scripted source.
#pragma once

#include "loop/engine.hpp"
#include "support/drive/pipes.hpp"

#include <agentcore/runtime.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace loop_test {

using namespace std::chrono_literals;

struct Handler final : agentcore::detail::loop::IoHandler {
  explicit Handler(std::function<void(int, agentcore::detail::loop::IoEvents)> function = nullptr)
      : react(std::move(function)) {}
  void on_io(int descriptor, agentcore::detail::loop::IoEvents events) override {
    ++calls;
    last = events;
    if (react) react(descriptor, events);
  }
  std::function<void(int, agentcore::detail::loop::IoEvents)> react;
  int calls = 0;
  agentcore::detail::loop::IoEvents last = agentcore::detail::loop::IoEvents::none;
};

// A source with a number of steps to do, one per round.
struct FakeSource final : agentcore::detail::loop::Source {
  explicit FakeSource(std::string source_name = "", std::vector<std::string>* record = nullptr)
      : name(std::move(source_name)), log(record) {}

  void run_control(agentcore::detail::loop::PollBudget& budget) override {
    while (controls > 0 && budget.spend()) {
      --controls;
      note("control");
      if (on_control) on_control();
    }
  }
  void run_round(agentcore::detail::loop::PollBudget& budget) override {
    if (steps == 0 || !budget.spend()) return;
    --steps;
    ++done;
    note("step");
    if (on_step) on_step();
  }
  bool has_work() const noexcept override {
    const bool found = controls > 0 || steps > 0;
    if (on_look) on_look();
    return found;
  }
  bool has_pending() const noexcept override { return pending; }

  void note(const char* what) const {
    if (log != nullptr) log->push_back(name + " " + what);
  }

  std::string name;
  std::vector<std::string>* log;
  std::function<void()> on_control, on_step;
  std::function<void()> on_look;  // called at the end of has_work()
  int controls = 0;
  long long steps = 0;
  long long done = 0;
  bool pending = false;
};

// A poll with these options has time for everything, so that the result does not depend on the machine's
// speed.
inline agentcore::RuntimeOptions with(agentcore::LoopBackend backend = agentcore::LoopBackend::automatic,
                                      agentcore::SharedOrBorrowed<agentcore::Clock> clock = {}) {
  agentcore::RuntimeOptions options;
  options.backend = backend;
  options.clock = clock;
  options.seed = 1;
  options.poll_budget = std::chrono::hours(1);
  return options;
}

inline std::unique_ptr<agentcore::detail::platform::Poller> make_poller(agentcore::LoopBackend backend) {
  return backend == agentcore::LoopBackend::epoll ? agentcore::detail::platform::make_epoll_poller()
                                                  : agentcore::detail::platform::make_poll_poller();
}

}  // namespace loop_test

// Runs the rest of a test case once for each backend that this system has.
#ifdef __linux__
#define EACH_BACKEND() GENERATE(agentcore::LoopBackend::epoll, agentcore::LoopBackend::poll)
#else
#define EACH_BACKEND() GENERATE(agentcore::LoopBackend::poll)
#endif
