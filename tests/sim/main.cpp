// agentcore-sim: runs scripts of the simulator. docs/design/simulation.md says how to read what it prints.
#include "sim/generator.hpp"
#include "sim/run.hpp"
#include "sim/sweep.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include <unistd.h>

using namespace agentcore::sim;

namespace {

constexpr const char* usage =
    "usage: agentcore-sim [--seed N] [--runs N] [--seconds N] [--trace] [--counts]\n"
    "       agentcore-sim --script FILE [--trace] [--shrink] [--faults LIST | --sweep N | --pairs N]\n"
    "  --seed N     the first seed; default 1\n"
    "  --runs N     how many seeds, from the first on; default 1000\n"
    "  --seconds N  ends earlier, after that time\n"
    "  --go-on      prints what is wrong with each seed that fails, and runs the others\n"
    "  --print      prints the script of the first seed, and runs nothing\n"
    "  --script F   runs the commands in a file instead\n"
    "  --trace      prints what happened\n"
    "  --shrink     of a script that fails: looks for a smaller one (seeds that fail always do that)\n"
    "  --faults L   these calls fail, e.g. allocation:17 or commit_refused:2,allocation:17:3 (and the third "
    "after)\n"
    "  --sweep N    runs the script once for each call that can fail; of the allocations for each N-th\n"
    "  --pairs N    runs it N times with two calls failing, chosen by --seed\n"
    "  --counts     prints how often what was done\n"
    "SIGINT and SIGTERM end it after the seed that runs, with what it has found until then.\n";

// A script with faults is not made smaller: their numbers would mean other calls.
int report(const Script& script, const Outcome& outcome, bool shrink, const Faults& faults = {}) {
  std::cout << outcome.problem << '\n';
  const Script small = shrink && faults == Faults() ? shrunk(script, outcome.problem) : script;
  const Outcome again = run(small, true, faults);
  for (const std::string& line : again.trace) std::cout << "  " << line << '\n';
  std::cout << as_test(small, again.problem);
  return 1;
}

void print(const Counts& counts) {
  for (const auto& [what, count] : counts.done) std::cout << count << '\t' << what << '\n';
  std::cout << to_string(counts.coverage);
}

int report(const Script& script, const Sweep& sweep) {
  std::size_t count = 0;
  for (const std::size_t calls : sweep.counts) count += calls;
  if (sweep.problem.empty()) {
    std::cout << "ok, " << sweep.runs << " runs, " << count << " calls that can fail\n";
    return 0;
  }
  std::cout << "--faults " << to_string(sweep.faults) << '\n';
  return report(script, run(script, true, sweep.faults), false, sweep.faults);
}

// Where a run crashes or hangs, its seed is all that is known.
volatile std::uint64_t running_seed = 0;

extern "C" void print_seed(int signal_number) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "seed %llu: signal %d\n",
                                   static_cast<unsigned long long>(running_seed), signal_number);
  if (length > 0) static_cast<void>(!write(STDOUT_FILENO, text, static_cast<std::size_t>(length)));
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// The seed that runs is the last one then. A second signal ends the process at once.
volatile std::sig_atomic_t interrupted_by = 0;

extern "C" void interrupt(int signal_number) {
  interrupted_by = signal_number;
  std::signal(signal_number, SIG_DFL);
}

constexpr unsigned seconds_of_a_run = 300;

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1, runs = 1000, seconds = 0;
  std::uint64_t step = 0, pairs = 0;
  Faults faults;
  std::string file;
  bool trace = false, shrink = false, counts = false, prints = false, goes_on = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (option == "--seed")
      seed = number();
    else if (option == "--runs")
      runs = number();
    else if (option == "--seconds")
      seconds = number();
    else if (option == "--trace")
      trace = true;
    else if (option == "--shrink")
      shrink = true;
    else if (option == "--counts")
      counts = true;
    else if (option == "--go-on")
      goes_on = true;
    else if (option == "--print")
      prints = true;
    else if (option == "--sweep")
      step = number();
    else if (option == "--pairs")
      pairs = number();
    else if (option == "--faults" && i + 1 < argc && faults_from(argv[i + 1]))
      faults = *faults_from(argv[++i]);
    else if (option == "--script" && i + 1 < argc)
      file = argv[++i];
    else
      return std::fputs(usage, stderr), 2;
  }
  if (prints) return std::cout << to_string(script_of_seed(seed)), 0;
  if (!file.empty()) {
    std::ifstream in(file);
    if (!in) return std::cerr << file << ": cannot be read\n", 2;
    const Script script = script_from(std::string(std::istreambuf_iterator<char>(in), {}));
    if (step != 0) return report(script, sweep_each(script, step));
    if (pairs != 0) return report(script, sweep_pairs(script, pairs, seed));
    if (faults != Faults()) run(script);  // allocates what stays until the process ends, as in a sweep
    const Outcome outcome = run(script, trace, faults);
    for (const std::string& line : outcome.trace) std::cout << line << '\n';
    if (!outcome.problem.empty()) return report(script, outcome, shrink, faults);
    std::cout << "ok, hash " << std::hex << outcome.hash << '\n';
    return 0;
  }
  for (const int signal_number : {SIGSEGV, SIGABRT, SIGFPE, SIGALRM}) std::signal(signal_number, print_seed);
  for (const int signal_number : {SIGINT, SIGTERM}) std::signal(signal_number, interrupt);
  Counts all;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0, failed = 0;
  for (; done < runs && interrupted_by == 0; ++done) {
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (seconds != 0 && passed > std::chrono::seconds(seconds)) break;
    const Script script = script_of_seed(seed + done);
    running_seed = seed + done;
    alarm(seconds_of_a_run);
    const Outcome outcome = run(script, trace);
    alarm(0);
    for (const std::string& line : outcome.trace) std::cout << line << '\n';
    all.add(outcome.counts);
    if (outcome.problem.empty()) continue;
    std::cout << "seed " << seed + done << " after " << done + 1 << " runs: ";
    if (goes_on) {
      std::cout << outcome.problem << std::endl;
      ++failed;
      continue;
    }
    return report(script, outcome, true);
  }
  if (counts) print(all);
  std::cout << done << " runs from seed " << seed << ": "
            << (failed == 0 ? "nothing was wrong" : std::to_string(failed) + " failed") << std::endl;
  if (interrupted_by != 0) std::raise(interrupted_by);
  return failed == 0 ? 0 : 1;
}
