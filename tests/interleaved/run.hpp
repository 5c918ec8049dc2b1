// What a script does: run it, and make one that fails smaller.
#pragma once

#include "interleaved/script.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::interleaved {

struct Result {
  std::string problem;  // "" if there is none; "G1: ..."
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  std::map<std::string, std::uint64_t> counts;  // of commands
  std::vector<std::string> trace;
  std::vector<Step> taken;
};

// With Keeps::steps no memory is used twice during the run: each object has a number of its own.
Result run(const Script& script, Keeps keeps = {});
// The smallest script that was found to break the same rule as `problem` says.
Script shrink(Script script, std::string_view problem);
// The same for any question about a script.
Script shrink(Script script, std::function<bool(const Script&)> still_fails);

}  // namespace agentcore::interleaved
