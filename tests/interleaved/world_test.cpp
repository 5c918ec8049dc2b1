// Scripts: they replay, they shrink, and those that were kept and a sample of seeds find nothing.
#include "interleaved/run.hpp"
#include "interleaved/seeds.hpp"
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace agentcore::interleaved;

TEST_CASE("a seed gives the same script, and the same steps", "[interleaved]") {
  Seeds seeds;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Script script = seeds.script(seed);
    CHECK(to_text(Seeds().script(seed)) == to_text(script));
    CHECK(to_text(script_from(to_text(script))) == to_text(script));
    const Result first = run(script, {.trace = true}), second = run(script, {.trace = true});
    CHECK(first.hash == second.hash);
    CHECK(first.trace == second.trace);
    CHECK(seeds.run(seed).hash == first.hash);
  }
}

TEST_CASE("each thread does its commands, whichever is the first", "[interleaved]") {
  for (const std::string order : {"0 1", "1 0"})
    CHECK(run(script_from("order " + order + "\n1: send\n1: stop\n")).counts.at("stop") == 1);
}

TEST_CASE("a script that fails is made as small as it can be", "[interleaved]") {
  const auto shows = [](const Script& script) {
    bool polls = false, interrupted = false;
    for (const auto& thread : script.threads)
      for (const Command& command : thread) {
        polls = polls || command.act == Act::poll;
        interrupted = interrupted || !command.falls.empty();
      }
    return polls && interrupted && run(script).problem.empty();
  };
  std::uint64_t seed = 1;
  while (!shows(generate(seed))) ++seed;
  const Script smallest = shrink(generate(seed), shows);
  CHECK(smallest.size() <= 3);
  CHECK(smallest.agents == 1);
}

TEST_CASE("scripts that have found something find nothing any more", "[interleaved]") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AGENTCORE_INTERLEAVED_CORPUS)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    INFO(entry.path());
    CHECK(run(script_from(text.str())).problem == "");
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("a sample of seeds finds nothing, and each command and callback occurs", "[interleaved]") {
  std::map<std::string, std::uint64_t> counts;
  Seeds seeds;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    const Result result = seeds.run(seed);
    INFO("seed " << seed);
    REQUIRE(result.problem == "");
    for (const auto& [what, count] : result.counts) counts[what] += count;
  }
  for (std::uint32_t act = 0; act < static_cast<std::uint32_t>(Act::count); ++act)
    CHECK(counts[std::string(name(static_cast<Act>(act)))] > 20);
  for (std::uint32_t moment = 1; moment < static_cast<std::uint32_t>(Moment::count); ++moment)
    CHECK(counts["in " + std::string(name(static_cast<Moment>(moment)))] > 5);
}
