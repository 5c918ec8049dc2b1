// The simulator: scripts that once failed, a sample of fresh ones, and the simulator itself.
#include "sim/bytes.hpp"
#include "sim/generator.hpp"
#include "sim/random.hpp"
#include "sim/run.hpp"
#include "sim/situations.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <agentcore/provider.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using namespace agentcore::sim;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("no script that once failed fails", "[sim]") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AGENTCORE_SIM_CORPUS)) {
    if (entry.path().extension() != ".sim") continue;
    ++files;
    CAPTURE(entry.path().filename().string());
    const Script script = script_from(text_of(entry.path()));
    CHECK(script.commands.size() > 1);
    CHECK(run(script).problem == "");
  }
  CHECK(files >= 4);
}

TEST_CASE("nothing is wrong in the runs of some seeds", "[sim]") {
  const int seeds = agentcore::test::amount(3000, 300);
  for (int seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = run(script_of_seed(static_cast<std::uint64_t>(seed)));
    INFO("agentcore-sim --seed " << seed << " --runs 1");
    REQUIRE(outcome.problem == "");
  }
}

TEST_CASE("a seed gives the same run each time", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Script script = script_of_seed(seed);
    CHECK(script == script_of_seed(seed));
    const Outcome first = run(script), second = run(script);
    CHECK(first.hash == second.hash);
    CHECK(first.counts.done == second.counts.done);
  }
}

TEST_CASE("a script is the same after it was written and read", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Script script = script_of_seed(seed);
    CHECK(script_from(to_string(script)) == script);
  }
  CHECK(script_from("# a comment\n\n  poll # another\n").commands == std::vector{Command{}});
  CHECK_THROWS_WITH(script_from("poll\nfly 1 2"), "line 2 is no command of a simulation: \"fly 1 2\"");
  CHECK_THROWS_AS(script_from("poll 1 2 3 4"), std::invalid_argument);
  CHECK_THROWS_AS(script_from("in NoEvent: poll"), std::invalid_argument);
  CHECK_THROWS_AS(script_from("set nothing 1"), std::invalid_argument);
}

TEST_CASE("any bytes are a script, and a script is the same after it was bytes", "[sim]") {
  const auto is_same = [](Script script) { CHECK(script_of_bytes(bytes_of(script)) == script); };
  for (std::uint64_t seed = 1; seed <= 60; ++seed) is_same(script_of_seed(seed));
  for (const auto& entry : std::filesystem::directory_iterator(AGENTCORE_SIM_CORPUS)) {
    CAPTURE(entry.path().filename().string());
    is_same(script_from(text_of(entry.path())));
  }
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::uint8_t> bytes(random.below(600));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    const Script script = script_of_bytes(bytes);
    is_same(script);
    CHECK(run(script).problem == "");
  }
}

#ifndef SANITIZED  // it looks at the generator, and takes minutes there
// A generator whose verbs are all refused would find nothing.
TEST_CASE("each command takes effect in some run, and each callback has a command", "[sim]") {
  Counts all;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) all.add(run(script_of_seed(seed)).counts);
  // Those that note no outcome, and an approval of a fork's grant.
  const std::vector<Act> silent = {Act::poll,
                                   Act::poll_until_quiet,
                                   Act::poll_without_budget,
                                   Act::time_passes,
                                   Act::next_timer,
                                   Act::model_text,
                                   Act::model_reasoning,
                                   Act::model_answers,
                                   Act::model_calls,
                                   Act::model_is_cut,
                                   Act::model_fails,
                                   Act::server_sends,
                                   Act::server_errors,
                                   Act::server_resets,
                                   Act::server_closes,
                                   Act::server_garbage,
                                   Act::tool_done,
                                   Act::tool_fails,
                                   Act::tool_dropped,
                                   Act::tool_progress,
                                   Act::tool_asks,
                                   Act::store_refuses,
                                   Act::store_is_unknown,
                                   Act::callback_throws,
                                   Act::destroy_tree,
                                   Act::restart,
                                   Act::kill,
                                   Act::run_job};
  for (std::size_t i = 0; i < act_count; ++i) {
    const Act act = Act(i);
    if (std::ranges::find(silent, act) != silent.end()) continue;
    CAPTURE(to_string(act));
    CHECK(all.done[std::string(to_string(act)) + ": done"] >= 5);
  }
  CHECK(all.done["commit refused"] >= 100);
  CHECK(all.done["commit of unknown outcome"] >= 100);
  CHECK(all.done["calm: done"] >= 500);
  CHECK(all.done["run_job: ran"] != 0);
  for (std::size_t i = 0; i < act_count; ++i) {
    for (int state = 0; is_verb(Act(i)) && state < agentcore::agent_state_count; ++state) {
      CAPTURE(to_string(Act(i)), to_string(agentcore::AgentState(state)));
      CHECK(all.coverage.count(Act(i), agentcore::AgentState(state)) != 0);
    }
  }
  std::size_t unmet = 0;
  for (std::size_t i = 0; i < act_count; ++i)
    for (std::size_t wait = 0; is_verb(Act(i)) && wait < wait_count; ++wait)
      unmet += all.coverage.count(Act(i), Wait(wait)) == 0 ? 1 : 0;
  CHECK(unmet <= 25);
  CHECK(all.coverage.size() >= 1700);
  for (Act act = Act::model_text; act <= Act::server_garbage; act = Act(static_cast<int>(act) + 1)) {
    CAPTURE(to_string(act));
    CHECK(all.done[std::string(to_string(act)) + ": sent"] != 0);
  }
  for (const agentcore::Provider& provider : agentcore::providers()) {
    CAPTURE(provider.name);
    CHECK(all.done["sent to " + std::string(provider.name)] != 0);
  }
  for (const std::string end :
       {"transfer  200", "transfer  429", "transfer  5", "transfer cancelled 0", "transfer cancelled 200",
        "transfer connect_timeout", "transfer first_byte_timeout", "transfer stall_timeout",
        "transfer network_error", "transfer resolve_failed", "transfer tls_error"}) {
    CAPTURE(end);
    const auto first = all.done.lower_bound(end);
    CHECK((first != all.done.end() && first->first.starts_with(end)));
  }
  for (const std::string fault : {"a call of the disk fails", "the disk is full", "a lock is held",
                                  "the process dies within a change of the disk"}) {
    CAPTURE(fault);
    CHECK(all.done[fault] != 0);
  }
  for (std::size_t fault = 0; fault < process_fault_count; ++fault) {
    CAPTURE(process_fault_names[fault]);
    CHECK(all.done["a call for a program fails: " + std::string(process_fault_names[fault])] != 0);
  }
  for (const std::string_view fault : socket_fault_names) {
    CAPTURE(fault);
    CHECK(all.done["a call for a socket fails: " + std::string(fault)] != 0);
  }
  for (const std::string end : {"exits with 0", "exits with 3", "ends by signal 15", "ends by signal 9",
                                "ends by signal 11", "gets SIGTERM", "gets SIGKILL", "is reaped"}) {
    CAPTURE(end);
    CHECK(all.done["a program " + end] >= 3);
  }
  CHECK(all.done["a process writes where nothing reads"] != 0);
  const std::vector<std::string_view> rare = {"WindowClosed", "Abandoned", "ContextTrimmed",
                                              "CompactionChanged"};
  for (std::size_t i = 1; i < place_count(); ++i) {
    const Place place{static_cast<std::uint8_t>(i)};
    CAPTURE(to_string(place));
    if (is_event(place) && to_string(place) != "WindowClosed")  // no simulated tool has a window
      CHECK(all.done["event " + std::string(to_string(place))] != 0);
    if (std::ranges::find(rare, to_string(place)) == rare.end())
      CHECK(all.done["in " + std::string(to_string(place))] != 0);
  }
}

#endif

TEST_CASE("the way to each wait brings the first agent there", "[sim]") {
  for (std::size_t wait = 0; wait < wait_count; ++wait) {
    if (Wait(wait) == Wait::next_step) continue;  // only within a poll
    CAPTURE(to_string(Wait(wait)));
    Random random(wait + 1);
    std::uint64_t there = 0;
    for (int i = 0; i < 60; ++i) {
      Script script;
      script.setup[Knob::models] = random.once_in(2) ? 1 + random.below(19) : 0;
      add_way_to(Wait(wait), script, random);
      script.commands.push_back({.act = Act::renew});
      there += run(script).counts.coverage.count(Act::renew, Wait(wait));
    }
    CHECK(there >= 20);
  }
}

TEST_CASE("a script that fails is made as small as possible", "[sim]") {
  // It "fails" if an agent is stopped after a message was sent.
  const auto fails = [](const Script& script) {
    const auto sent = std::ranges::find(script.commands, Act::send, &Command::act);
    return std::ranges::find(sent, script.commands.end(), Act::stop, &Command::act) != script.commands.end();
  };
  Script script = script_of_seed(1);
  for (std::uint64_t seed = 1; !fails(script); ++seed) script = script_of_seed(seed);
  REQUIRE(script.commands.size() > 10);
  const Script small = smallest(script, fails, 3000);
  CHECK(fails(small));
  CHECK(to_string(small) == "send\nstop\n");
}
