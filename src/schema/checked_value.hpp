// CheckedValue: one value that is checked against a schema, with its place and the output for the reason.
#pragma once

#include "schema/facts.hpp"
#include "schema/reasons.hpp"
#include "schema/schema.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace agentcore::detail::schema {

using nlohmann::json;

inline constexpr std::size_t max_reason = 800;  // bytes

// The state that one check shares.
struct CheckRun {
  const SchemaFacts& facts;
  std::string_view root;  // what reasons call the value
  std::size_t steps = 0;
  std::size_t nested = 0;
  const char* refused = nullptr;  // what is wrong if a limit is exceeded; then nothing fits any more

  // False if the check has taken more than max_check_steps.
  bool spend(std::size_t cost) {
    steps += cost;
    if (steps > max_check_steps) refused = " takes too long to check: make it smaller";
    return !refused;
  }
};

enum class PatternMatch : unsigned char {
  matches,
  differs,
  too_long,  // the text is too long, or the check has taken too many steps: it was not matched
};

// On the stack of one check. Without an output for the reason no reason is made.
struct CheckedValue {
  const json& value;
  Place place;
  CheckRun& run;
  std::string* reason;

  // Writes the reason. Always false, so that a check can end with it.
  bool fail(const std::string& words, const std::string& more = {}) const {
    return fail_at(place, words + more);
  }
  bool fail_of_member(const std::string& key, const std::string& words) const {
    return fail_at({&place, &key, 0}, words);
  }

  bool at_least(std::size_t size, std::uint64_t least, const char* noun) const {
    return size >= least || fail(": must have at least ", count_words(least, noun));
  }
  bool at_most(std::size_t size, std::uint64_t most, const char* noun) const {
    return size <= most || fail(": must have at most ", count_words(most, noun));
  }

  PatternMatch match(const std::string& pattern, const std::string& subject) const {
    const auto found = run.facts.patterns.find(pattern);
    if (found == run.facts.patterns.end() || subject.size() > max_matched_bytes)
      return PatternMatch::too_long;
    if (!run.spend(found->second.steps(subject.size()))) return PatternMatch::too_long;
    return found->second.matches(subject) ? PatternMatch::matches : PatternMatch::differs;
  }

 private:
  bool fail_at(const Place& where, const std::string& words) const {
    if (reason && !run.refused) *reason = cut(to_words(where, run.root) + words, max_reason);
    return false;
  }
};

inline constexpr const char* too_long_to_match = ": is too long to be matched with its pattern";

}  // namespace agentcore::detail::schema
