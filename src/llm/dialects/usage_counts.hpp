// UsageCounts: the counts of a call's usage that its provider has sent so far.
#pragma once

#include <agentcore/chat.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::llm {

// A stream may send its counts in several objects. Each count in an object replaces the one before, also by
// 0; a count that is not in it stays. So the parts of a sum are kept apart until the end.
struct UsageCounts {
  using Count = std::optional<std::uint64_t>;

  Count prompt = {};         // all of it; with `apart`: without what was written to the cache or read from it
  Count cache_written = {};  // with `apart` only
  Count cache_read = {};
  Count completion = {};
  Count reasoning = {};
  Count total = {};
  bool apart = false;  // the three counts of the prompt do not contain each other (Anthropic)

  // Takes the counts of a newer object of the same answer. A total belongs to the counts beside it: a newer
  // object with a part and without a total makes the older total void.
  void merge(const UsageCounts& newer) noexcept;

  // The sums. A total that is larger than its parts adds the rest to the completion: xAI and Gemini count
  // reasoning in the total only.
  Usage usage() const noexcept;
};

}  // namespace agentcore::llm
