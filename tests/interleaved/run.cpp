#include "interleaved/run.hpp"

#include "interleaved/world.hpp"
#include "support/observe/counted_heap.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace agentcore::interleaved {
namespace {

std::string_view rule_of(std::string_view problem) {
  return problem.substr(0, problem.find(':'));
}

// Removes what is not needed, the larger parts first.
class Shrinking {
 public:
  Shrinking(Script script, std::function<bool(const Script&)> still_fails)
      : script_(std::move(script)), still_fails_(std::move(still_fails)) {}

  Script result() {
    for (std::size_t before = script_.size() + 1; before > script_.size();) {
      before = script_.size();
      remove_threads();
      for (std::size_t length = 8; length > 0; length /= 2) remove_commands(length);
      remove_falls();
      simplify();
    }
    return script_;
  }

 private:
  bool try_out(const std::function<void(Script&)>& change) {
    Script smaller = script_;
    change(smaller);
    if (++runs_ > most_runs || !still_fails_(smaller)) return false;
    script_ = std::move(smaller);
    return true;
  }
  void remove_threads() {
    for (std::size_t i = script_.threads.size(); i-- > 0;)
      if (!script_.threads[i].empty()) try_out([i](Script& smaller) { smaller.threads[i].clear(); });
  }
  void remove_commands(std::size_t length) {
    for (std::size_t i = 0; i < script_.threads.size(); ++i)
      for (std::size_t at = script_.threads[i].size(); at-- > 0;)
        if (at + length <= script_.threads[i].size())
          try_out([&](Script& smaller) {
            const auto first = smaller.threads[i].begin() + static_cast<std::ptrdiff_t>(at);
            smaller.threads[i].erase(first, first + static_cast<std::ptrdiff_t>(length));
          });
  }
  void remove_falls() {
    for (std::size_t i = 0; i < script_.threads.size(); ++i)
      for (std::size_t at = 0; at < script_.threads[i].size(); ++at)
        for (std::size_t fall = script_.threads[i][at].falls.size(); fall-- > 0;)
          try_out([&](Script& smaller) {
            auto& falls = smaller.threads[i][at].falls;
            falls.erase(falls.begin() + static_cast<std::ptrdiff_t>(fall));
          });
  }
  void simplify() {
    for (const auto knob : {&Script::lease, &Script::handler, &Script::deaf, &Script::warm})
      if (script_.*knob != 0) try_out([knob](Script& smaller) { smaller.*knob = 0; });
    while (script_.agents > 1 && try_out([](Script& smaller) {
             --smaller.agents;
             smaller.warm = std::min(smaller.warm, smaller.agents);
           })) {
    }
    for (std::size_t i = 0; i < script_.threads.size(); ++i)
      for (std::size_t at = 0; at < script_.threads[i].size(); ++at) {
        if (script_.threads[i][at].moment != Moment::now)
          try_out([&](Script& smaller) { smaller.threads[i][at].moment = Moment::now; });
        for (const auto number : {&Command::a, &Command::b})
          if (script_.threads[i][at].*number != 0)
            try_out([&](Script& smaller) { smaller.threads[i][at].*number = 0; });
      }
  }

  static constexpr int most_runs = 3'000;
  Script script_;
  const std::function<bool(const Script&)> still_fails_;
  int runs_ = 0;
};

}  // namespace

Result run(const Script& script, Keeps keeps) {
  std::optional<test::KeepsFreedMemory> memory;
  if (keeps.steps) memory.emplace();
  // After a deadlock the threads keep it for ever.
  const auto world = std::make_shared<World>(script);
  std::vector<std::function<void(Scheduler&)>> threads;
  for (std::uint32_t i = 0; i < script.threads.size(); ++i)
    threads.emplace_back([world, i](Scheduler& scheduler) { world->run(scheduler, i); });
  Outcome outcome = Scheduler::run(script.schedule(), std::move(threads), keeps);
  Result result{world->problem(),        outcome.hash,    outcome.steps,
                outcome.switches,        world->counts(), std::move(outcome.trace),
                std::move(outcome.taken)};
  if (outcome.end == Ending::deadlock) result.problem = "deadlock: " + outcome.who;
  if (outcome.end == Ending::endless) result.problem = "endless: " + outcome.who;
  return result;
}

Script shrink(Script script, std::function<bool(const Script&)> still_fails) {
  return Shrinking(std::move(script), std::move(still_fails)).result();
}

Script shrink(Script script, std::string_view problem) {
  const std::string rule(rule_of(problem));
  return shrink(std::move(script),
                [rule](const Script& smaller) { return rule_of(run(smaller).problem) == rule; });
}

}  // namespace agentcore::interleaved
