// UsageCounts: what a provider has said of a call's usage so far, count by count.
#pragma once

#include <agentcore/chat.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::llm {

// A stream may say its counts in several objects. Each count that an object names replaces the one before,
// also by 0; a count that it does not name stays. So the parts of a sum are kept apart until the end.
struct UsageCounts {
  using Count = std::optional<std::uint64_t>;

  Count prompt = {};         // all of it; with `apart`: without what was written to the cache or read from it
  Count cache_written = {};  // with `apart` only
  Count cache_read = {};
  Count completion = {};
  Count reasoning = {};
  Count total = {};
  bool apart = false;  // the three counts of the prompt do not contain each other (Anthropic)

  // Takes what a newer object of the same answer says. A total is that of the counts beside it: a newer
  // object that names a part and no total makes the older total void.
  void merge(const UsageCounts& newer) noexcept;

  // All that was said, added up. What only the total counts belongs to the completion: xAI and Gemini count
  // thoughts there.
  Usage usage() const noexcept;
};

}  // namespace agentcore::llm
