// Seeds: what each seed stands for.
#pragma once

#include "interleaved/run.hpp"
#include "interleaved/script.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace agentcore::interleaved {

// Eight seeds in a row have the same commands. The first one has any falls. Each of the next ones has what
// the last run has shown: two threads have come to the same object one after the other, one of them to change
// it; a fall before the first access lets the second one come first. So a schedule is likely to differ from
// the one before in something that the library can see, also if only one step of a thousand can show it.
class Seeds {
 public:
  static constexpr std::uint64_t in_a_row = 8;

  // Quick for the seed after the last one, and for those with other commands.
  Script script(std::uint64_t seed);
  Result run(std::uint64_t seed);

 private:
  std::optional<std::uint64_t> seed_;  // of what follows
  Script script_;
  std::vector<Step> taken_;
};

// A step before which another thread could do what it has done later, and the other order may have another
// effect: the same object, and one of the two accesses changes it.
struct Race {
  Step step;
  detail::core::Place before;  // the step of the thread before it; none: another thread was before it
};
// In the order of the run.
std::vector<Race> races(const std::vector<Step>& taken);

}  // namespace agentcore::interleaved
