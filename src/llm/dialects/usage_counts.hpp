// UsageCounts: the counts of a call's usage that its provider has sent so far.
#pragma once

#include <agentcore/chat.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::detail::llm {

// A stream may send its counts in several objects. Each count in an object replaces the earlier one, also by
// 0; a count that the object does not contain stays. So the parts of a sum are kept separately until the end.
struct UsageCounts {
  using Count = std::optional<std::uint64_t>;

  Count prompt = {};  // all of it; with `apart`: without the tokens written to or read from the cache
  Count cache_written = {};
  Count cache_read = {};
  Count completion = {};
  Count reasoning = {};
  Count total = {};
  bool apart = false;  // the three counts of the prompt do not contain each other (Anthropic)

  // Takes the counts of a newer object of the same answer. A total belongs to the counts of its object: a
  // newer object with a part and without a total removes the older total.
  void merge(const UsageCounts& newer) noexcept;

  // Returns the sums. If a total is larger than its parts, the rest counts as completion: xAI and Gemini
  // count reasoning in the total only.
  Usage usage() const noexcept;
};

}  // namespace agentcore::detail::llm
