// LingeringCalls: calls that have ended for the turn, but whose clients or tools have not.
#pragma once

#include "turn/turn_context.hpp"

#include <cstdint>

namespace agentcore::detail::turn {

// A verb may end a call, or its whole turn, before the client or the tool reacts to the stop token. The agent
// works on, and the operation stays registered for the grace period of the tree; of more than
// TreeOptions::max_lingering_calls the oldest is given up at once. A stop of the agent waits for them as for
// any operation. All @loop_thread.
class LingeringCalls {
 public:
  explicit LingeringCalls(TurnContext& context) : context_(context) {}

  // A verb has ended the call of a registered operation: starts the grace period.
  void add(OperationId id) noexcept;
  // The turn with that number was interrupted: starts the grace period of each of its calls that is in
  // flight. Nothing is given up before its end was reported, because an observer of that may end other calls.
  void watch_all(const core::Node& node, std::uint64_t turn) noexcept;
  // After that end was reported: gives up the calls of the turn for whose grace period there was no memory,
  // and those that are too many.
  void give_up_left(const core::Node& node, std::uint64_t turn) noexcept;
  // As add(), and without memory for a grace period the call stays until give_up_unwatched().
  void watch(OperationId id) noexcept;
  // After the end of that turn, or of its model call, was reported: gives up the model calls for whose grace
  // period there was no memory.
  void give_up_unwatched(const core::Node& node, std::uint64_t turn) noexcept;
  // Closes a registered operation that did not end in time, and emits Abandoned. Its outcome will be dropped.
  void give_up(OperationId id) noexcept;

 private:
  bool start_grace(OperationId id) noexcept;
  void give_up_unwatched(const core::Node& node, std::uint64_t turn,
                         bool (*counts)(const Operation&) noexcept) noexcept;
  void on_grace_over(OperationId id) noexcept;
  void limit(const core::Node& node) noexcept;
  void note_abandoned(const core::Node& node, OperationId id, TaskKind kind, std::uint64_t turn,
                      const Call* call) noexcept;

  TurnContext& context_;
};

}  // namespace agentcore::detail::turn
