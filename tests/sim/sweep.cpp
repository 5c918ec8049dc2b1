#include "sim/sweep.hpp"

#include "sim/random.hpp"
#include "sim/run.hpp"
#include "support/observe/counted_heap.hpp"

#include <algorithm>
#include <charconv>

namespace agentcore::sim {
namespace {

// What was wrong in a run, or the bytes that it has left behind. A run before it has made what stays.
std::string problem_of(const Script& script, const Faults& faults) {
  const std::size_t before = test::live_heap();
  std::string problem = run(script, false, faults).problem;
  if (!problem.empty()) return problem;
  const std::size_t after = test::live_heap();
  return after == before ? "" : "G13: " + std::to_string(after - before) + " bytes are left";
}

// True if that went wrong, which ends the sweep.
bool goes_wrong(Sweep& sweep, const Script& script, const Faults& faults) {
  ++sweep.runs;
  sweep.problem = problem_of(script, faults);
  if (sweep.problem.empty()) return false;
  sweep.faults = faults;
  return true;
}

Sweep begun(const Script& script) {
  Sweep sweep;
  sweep.counts = run(script).fault_counts;
  goes_wrong(sweep, script, {});
  return sweep;
}

std::optional<std::size_t> count_from(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The text up to `mark`, which is removed from `text` with it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

Sweep sweep_each(const Script& script, std::size_t step) {
  Sweep sweep = begun(script);
  if (!sweep.problem.empty()) return sweep;
  for (std::size_t kind = 0; kind < fault_count; ++kind) {
    const bool is_many = FailedCall(kind) == FailedCall::allocation || FailedCall(kind) == FailedCall::disk;
    for (std::size_t n = 1; n <= sweep.counts[kind]; n += is_many ? step : 1) {
      Faults faults;
      faults.of[kind].first = n;
      if (goes_wrong(sweep, script, faults)) return sweep;
    }
  }
  return sweep;
}

Sweep sweep_pairs(const Script& script, std::size_t runs, std::uint64_t seed) {
  Sweep sweep = begun(script);
  if (!sweep.problem.empty()) return sweep;
  Random random(seed);
  const auto any = [&](std::size_t count) {
    return 1 + random.below(static_cast<std::uint32_t>(std::max<std::size_t>(count, 1)));
  };
  while (sweep.runs <= runs) {
    const std::size_t one = random.below(fault_count), other = random.below(fault_count);
    Faults faults;
    faults.of[one].first = any(sweep.counts[one]);
    if (one == other)
      faults.of[one].then = any(random.once_in(2) ? 30 : sweep.counts[one]);  // soon after it, or at any time
    else
      faults.of[other].first = any(sweep.counts[other]);
    if (goes_wrong(sweep, script, faults)) return sweep;
  }
  return sweep;
}

std::string to_string(const Faults& faults) {
  std::string text;
  for (std::size_t kind = 0; kind < fault_count; ++kind) {
    const Failures& failures = faults.of[kind];
    if (failures.first == 0) continue;
    if (!text.empty()) text += ',';
    text.append(fault_names[kind]).append(1, ':') += std::to_string(failures.first);
    if (failures.then != 0) text += ':' + std::to_string(failures.then);
  }
  return text;
}

std::optional<Faults> faults_from(std::string_view text) {
  Faults faults;
  while (!text.empty()) {
    std::string_view one = cut(text, ',');
    const auto* const kind = std::ranges::find(fault_names, cut(one, ':'));
    const auto first = count_from(cut(one, ':'));
    const auto then = one.empty() ? std::size_t{0} : count_from(one);
    if (kind == fault_names.end() || !first || !then) return std::nullopt;
    faults.of[static_cast<std::size_t>(kind - fault_names.begin())] = {*first, *then};
  }
  return faults;
}

}  // namespace agentcore::sim
