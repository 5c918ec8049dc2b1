// The kinds of records that a tree keeps in its store, and their keys. docs/design/store.md.
#pragma once

#include <agentcore/store.hpp>

#include <cstdint>

namespace agentcore::detail::persist {

// The values are part of the format of stores.
enum class Kind : std::uint64_t {
  tree = 1,     // one: TreeRecord
  spec = 2,     // owner: a number of the spec
  agent = 3,    // owner: the key of the agent, in the order of creation
  context = 4,  // owner: the key of the agent; only where not all messages are sent
  mail = 5,     // owner: the key of the agent; number: rising in the order of taking
  grant = 6,    // owner: the key of the agent; number: from 0, in the order of approval
  history = 7,  // owner: a segment, which several agents may share; number: of the message in it
};

constexpr RecordKey key_of(Kind kind, std::uint64_t owner = 0, std::uint64_t number = 0) noexcept {
  return {static_cast<std::uint64_t>(kind), owner, number};
}
constexpr RecordKey last_of(Kind kind, std::uint64_t owner) noexcept {
  return RecordKey::last_of(static_cast<std::uint64_t>(kind), owner);
}
constexpr RecordKey last_of(Kind kind) noexcept {
  return RecordKey::last_of(static_cast<std::uint64_t>(kind));
}

}  // namespace agentcore::detail::persist
