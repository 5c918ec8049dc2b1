// Each call that can fail fails once, in each of the scenarios, and pairs of them: allocations of the
// library, commits and reads of the store, jobs of the executor.
#include "sim/run.hpp"
#include "sim/sweep.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace agentcore::sim;

namespace {

struct Scenario {
  std::string name;
  Script script;
};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const auto& entry : std::filesystem::directory_iterator(AGENTCORE_SIM_SCENARIOS)) {
    std::ifstream in(entry.path());
    all.push_back({entry.path().string(), script_from(std::string(std::istreambuf_iterator<char>(in), {}))});
  }
  std::ranges::sort(all, {}, &Scenario::name);
  return all;
}

std::size_t count_of(const FaultCounts& counts, FailedCall fault) {
  return counts[static_cast<std::size_t>(fault)];
}

}  // namespace

#ifndef RACES_WATCHED
TEST_CASE("nothing is wrong after any one failed call of a scenario", "[sim][G5][G16]") {
#ifdef SANITIZED
  const std::size_t step = 29;
#else
  const std::size_t step = agentcore::test::amount<std::size_t>(1, 13);
#endif
  FaultCounts all{};
  for (const Scenario& scenario : scenarios()) {
    const Sweep sweep = sweep_each(scenario.script, step);
    INFO("agentcore-sim --script " << scenario.name << " --faults " << to_string(sweep.faults));
    CHECK(sweep.problem == "");
    CHECK(count_of(sweep.counts, FailedCall::allocation) > 200);
    CHECK(count_of(sweep.counts, FailedCall::commit_refused) > 3);
    for (std::size_t kind = 0; kind < fault_count; ++kind) all[kind] += sweep.counts[kind];
  }
  for (std::size_t kind = 0; kind < fault_count; ++kind) {
    INFO(fault_names[kind]);
    CHECK(all[kind] != 0);
  }
}

TEST_CASE("nothing is wrong after two failed calls of a scenario", "[sim][G5][G16]") {
  const std::size_t runs = agentcore::test::amount<std::size_t>(1000, 50);
  for (const Scenario& scenario : scenarios()) {
    const Sweep sweep = sweep_pairs(scenario.script, runs, 1);
    INFO("agentcore-sim --script " << scenario.name << " --faults " << to_string(sweep.faults));
    CHECK(sweep.problem == "");
  }
}

// The opening of a store, call by call: SQLite reports a write-ahead log before it has written the file.
TEST_CASE("each early call of the disk below a store may fail", "[sim][G14]") {
  for (const Scenario& scenario : scenarios()) {
    if (scenario.script.setup[Knob::store] < 2) continue;
    for (std::size_t n = 1; n <= 60; ++n) {
      Faults faults;
      faults[FailedCall::disk].first = n;
      INFO("agentcore-sim --script " << scenario.name << " --faults " << to_string(faults));
      CHECK(run(scenario.script, false, faults).problem == "");
    }
  }
}

// A sweep in which no fault had an effect would find nothing.
TEST_CASE("a failed call changes what happens in a scenario", "[sim]") {
  const std::size_t step = agentcore::test::amount<std::size_t>(10, 50);
  for (const Scenario& scenario : scenarios()) {
    INFO(scenario.name);
    const Outcome whole = run(scenario.script);
    const std::size_t count = count_of(whole.fault_counts, FailedCall::allocation);
    std::size_t different = 0;
    for (std::size_t n = 1; n <= count; n += step) {
      Faults faults;
      faults[FailedCall::allocation].first = n;
      const Outcome outcome = run(scenario.script, false, faults);
      different += outcome.hash != whole.hash ? 1U : 0U;
      CHECK(outcome.hash == run(scenario.script, false, faults).hash);
    }
    CHECK(different > count / step / 8);
  }
}
#endif

TEST_CASE("a list of faults is the same after it was written and read", "[sim]") {
  Faults faults;
  faults[FailedCall::read].first = 3;
  faults[FailedCall::allocation] = {.first = 17, .then = 4};
  CHECK(to_string(faults) == "allocation:17:4,read:3");
  CHECK(faults_from("allocation:17:4,read:3") == faults);
  CHECK(faults_from("") == Faults());
  CHECK_FALSE(faults_from("nothing:1"));
  CHECK_FALSE(faults_from("read:x"));
  CHECK_FALSE(faults_from("read:1:x"));
}
