// Numbers that a restore leaves out, because it does not know which ids were given after the last commit.
#pragma once

#include <cstdint>

namespace agentcore::detail::tree {

inline constexpr std::uint32_t generation_gap = 1U << 10;              // of the ids of agents
inline constexpr std::uint64_t sequence_gap = std::uint64_t{1} << 16;  // of the ids of messages
inline constexpr std::uint64_t question_gap = std::uint64_t{1} << 10;  // of the ids of questions
inline constexpr std::uint64_t grant_gap = std::uint64_t{1} << 10;     // of the ids of grants
inline constexpr std::uint64_t max_sequence = std::uint64_t{1} << 34;  // what an id has room for

}  // namespace agentcore::detail::tree
