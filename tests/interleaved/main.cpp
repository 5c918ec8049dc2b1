// agentcore-sim-threads: runs the scripts of seeds, or one script, under a scheduler.
//
// usage: agentcore-sim-threads [--seed N] [--runs N] [--seconds N] [--counts]
//        agentcore-sim-threads --seed N --print | --trace
//        agentcore-sim-threads --script FILE [--trace] [--shrink]
#include "interleaved/run.hpp"
#include "interleaved/seeds.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

using namespace agentcore::interleaved;

namespace {

struct Options {
  std::uint64_t seed = 1, runs = 0, seconds = 0;
  std::string script;
  bool print = false, trace = false, shrink = false, counts = false;
};

std::optional<Options> options_from(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--print") {
      options.print = true;
    } else if (word == "--trace") {
      options.trace = true;
    } else if (word == "--shrink") {
      options.shrink = true;
    } else if (word == "--counts") {
      options.counts = true;
    } else if (word == "--script" && has_value) {
      options.script = words[++i];
    } else if ((word == "--seed" || word == "--runs" || word == "--seconds") && has_value) {
      const std::uint64_t value = std::strtoull(words[++i], nullptr, 10);
      (word == "--seed" ? options.seed : word == "--runs" ? options.runs : options.seconds) = value;
    } else {
      return {};
    }
  }
  return options;
}

void print_trace(const Result& result) {
  for (const std::string& line : result.trace) std::cout << "  " << line << '\n';
  std::cout << result.steps << " steps, " << result.switches << " switches, hash " << result.hash << '\n';
}

int report(const Script& script, const Result& failed, bool shrinks) {
  const Script smallest = shrinks ? shrink(script, failed.problem) : script;
  const Result again = run(smallest, {.trace = true});
  std::cout << again.problem << '\n';
  print_trace(again);
  std::cout << "TEST_CASE(\"...\", \"[interleaved]\") {\n  CHECK(run(script_from(R\"(\n"
            << to_text(smallest) << ")\")).problem == \"\");\n}\n";
  return 1;
}

int run_one(const Script& script, const Options& options) {
  if (options.print) {
    std::cout << to_text(script);
    return 0;
  }
  const Result result = run(script, {.trace = options.trace});
  if (!result.problem.empty()) return report(script, result, options.shrink);
  if (options.trace) print_trace(result);
  std::cout << "nothing was wrong\n";
  return 0;
}

int run_many(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t runs = 0, steps = 0, switches = 0;
  Seeds seeds;
  for (; runs < options.runs; ++runs) {
    if (options.seconds != 0 && seconds() > static_cast<double>(options.seconds)) break;
    const Result result = seeds.run(options.seed + runs);
    steps += result.steps;
    switches += result.switches;
    for (const auto& [what, count] : result.counts) counts[what] += count;
    if (result.problem.empty()) continue;
    std::cout << "seed " << options.seed + runs << " after " << runs + 1 << " runs: " << result.problem
              << std::endl;
    return report(seeds.script(options.seed + runs), result, true);
  }
  std::cout << runs << " runs from seed " << options.seed << ", " << steps << " steps, " << switches
            << " switches, in " << static_cast<int>(seconds()) << " s: nothing was wrong\n";
  if (options.counts)
    for (const auto& [what, count] : counts) std::cout << what << ": " << count << '\n';
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto options = options_from(count, words);
  if (!options) {
    std::cerr
        << "usage: agentcore-sim-threads [--seed N] [--runs N] [--seconds N] [--counts] [--print] [--trace]\n"
           "                             [--script FILE] [--shrink]\n";
    return 2;
  }
  int code = 0;
  if (!options->script.empty()) {
    std::ifstream file(options->script);
    std::stringstream text;
    text << file.rdbuf();
    code = run_one(script_from(text.str()), *options);
  } else if (options->runs == 0) {
    code = run_one(Seeds().script(options->seed), *options);
  } else {
    code = run_many(*options);
  }
  std::cout.flush();
  std::_Exit(code);  // threads of a deadlock wait for ever
}
