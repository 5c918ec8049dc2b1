#include "sim/run.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace agentcore::sim {
namespace {

// "G12" of "G12: message 7 has no end".
std::string rule_of(const std::string& problem) {
  return problem.substr(0, problem.find(':'));
}

class Shrinker {
 public:
  Shrinker(Script script, const std::function<bool(const Script&)>& fails, std::size_t most)
      : best_(std::move(script)), fails_(fails), left_(most) {}

  Script smallest() {
    for (bool smaller = true; smaller && left_ != 0;) {
      smaller = remove_commands();
      smaller = simplify_setup() || smaller;
      smaller = simplify_commands() || smaller;
    }
    return best_;
  }

 private:
  bool try_it(Script script) {
    if (left_ == 0 || script == best_) return false;
    --left_;
    if (!fails_(script)) return false;
    best_ = std::move(script);
    return true;
  }

  // Halves first, single commands last.
  bool remove_commands() {
    bool any = false;
    for (std::size_t size = std::max<std::size_t>(best_.commands.size() / 2, 1); size != 0; size /= 2) {
      for (std::size_t at = 0; at < best_.commands.size();) {
        Script without = best_;
        const auto from = without.commands.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(size, without.commands.size() - at);
        without.commands.erase(from, from + static_cast<std::ptrdiff_t>(count));
        if (try_it(std::move(without)))
          any = true;
        else
          at += size;
      }
    }
    return any;
  }

  bool simplify_setup() {
    bool any = false;
    for (std::size_t i = 0; i < knob_count; ++i) {
      if (best_.setup.values[i] == 0) continue;
      Script simpler = best_;
      simpler.setup.values[i] = 0;
      any = try_it(std::move(simpler)) || any;
    }
    return any;
  }

  bool simplify_commands() {
    bool any = false;
    for (std::size_t at = 0; at < best_.commands.size(); ++at) {
      Script simpler = best_;
      simpler.commands[at].place = {};
      any = try_it(std::move(simpler)) || any;
      for (std::size_t i = 0; i < best_.commands[at].n.size(); ++i) {
        for (const std::uint32_t n : {0U, 1U, best_.commands[at].n[i] / 2, best_.commands[at].n[i] % 16}) {
          if (n >= best_.commands[at].n[i]) continue;
          simpler = best_;
          simpler.commands[at].n[i] = n;
          any = try_it(std::move(simpler)) || any;
        }
      }
    }
    return any;
  }

  Script best_;
  const std::function<bool(const Script&)>& fails_;
  std::size_t left_;
};

}  // namespace

Outcome run(const Script& script, bool with_trace, const Faults& faults) {
  World world(script.setup, faults);
  world.keep_trace(with_trace);
  std::string problem;
  try {
    for (const Command& command : script.commands) {
      world.run(command);
      if (!world.problem().empty()) break;
    }
    if (world.problem().empty()) world.finish();
    problem = world.problem();
  } catch (const std::exception& thrown) {
    problem = std::string("exception: ") + thrown.what();
  }
  return {std::move(problem), world.hash(), world.trace(), world.counts(), world.fault_counts()};
}

Script smallest(const Script& script, const std::function<bool(const Script&)>& fails, std::size_t most) {
  return Shrinker(script, fails, most).smallest();
}

Script shrunk(const Script& script, const std::string& problem) {
  constexpr std::size_t most_runs = 3000;
  return smallest(
      script, [rule = rule_of(problem)](const Script& one) { return rule_of(run(one).problem) == rule; },
      most_runs);
}

std::string as_test(const Script& script, const std::string& problem) {
  return "// " + problem + "\nTEST_CASE(\"...\", \"[sim]\") {\n  CHECK(run(script_from(R\"(\n" +
         to_string(script) + ")\")).problem.empty());\n}\n";
}

}  // namespace agentcore::sim
