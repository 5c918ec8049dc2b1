// TreeRecord: what a store keeps of a tree as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::detail::persist {

struct TreeRecord {
  static constexpr std::uint64_t format_now = 1;

  std::uint64_t format = format_now;
  std::uint64_t next_key = 1;      // of agents
  std::uint64_t next_spec = 1;     // of specs
  std::uint64_t next_segment = 1;  // of histories
  std::uint64_t generation = 0;    // the highest of all agents so far
  std::uint64_t sequence = 0;      // the highest of the ids of messages so far: MessagePool::sequence_of()
  std::uint64_t questions = 0;     // the highest number of a question so far
  std::uint64_t grants = 0;        // the highest id of a grant so far
  std::string identity;            // of the tree, in the idempotency keys of its tool calls
  bool stopped = false;            // by stop_all()
  bool stop_unsettled = false;     // and that had not settled
  bool paused = false;             // by pause_all()
  // No record of a conversation is without an agent. False: an earlier version has written the store, which
  // may have left some.
  bool swept = false;
  std::uint64_t epoch = 0;  // of the owner: OwnedStore

  bool operator==(const TreeRecord&) const = default;
};

std::string to_json(const TreeRecord& record);
// Throws nlohmann::json::exception.
TreeRecord read_tree(std::string_view text);

}  // namespace agentcore::detail::persist
