// Numbers that a restore leaves out, because it does not know which ids were given after the last commit.
#pragma once

#include "persist/tree_record.hpp"

#include <cstdint>

namespace agentcore::detail::tree {

inline constexpr std::uint32_t generation_gap = 1U << 10;              // of the ids of agents
inline constexpr std::uint64_t sequence_gap = std::uint64_t{1} << 16;  // of the ids of messages
inline constexpr std::uint64_t question_gap = std::uint64_t{1} << 10;  // of the ids of questions
inline constexpr std::uint64_t grant_gap = std::uint64_t{1} << 10;     // of the ids of grants
inline constexpr std::uint64_t max_sequence = std::uint64_t{1} << 34;  // what an id has room for

// The numbers from which the next run goes on.
inline persist::TreeRecord raised(persist::TreeRecord tree) noexcept {
  tree.generation += generation_gap;
  tree.sequence += sequence_gap;
  tree.questions += question_gap;
  tree.grants += grant_gap;
  return tree;
}

}  // namespace agentcore::detail::tree
