// TurnRestorer: what becomes of a turn that was in progress when the process ended.
#pragma once

#include "turn/stored_turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/store_events.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::turn {

class ToolCalls;
class TurnEnds;
class TurnRunner;
struct FoundCall;

// The conversation of the agent was loaded, and ends with the turn. All @loop_thread.
class TurnRestorer {
 public:
  TurnRestorer(TurnContext& context, ToolCalls& tool_calls, TurnEnds& ends, TurnRunner& runner)
      : context_(context), tool_calls_(tool_calls), ends_(ends), runner_(runner) {}

  // The identity of the tree (TurnContext::identity): that of the earlier process, or, if `stored` is empty,
  // a new one. Throws std::bad_alloc.
  const std::string& identify(const std::string& stored);
  // True if nothing of the turn was at work: it waited for people alone. So did a call that waits until one
  // of them has answered, also if an earlier restart could not tell whether it had begun.
  static bool waits_for_people(const core::Node& node, const StoredTurn& stored);
  // The turn ends as interrupted. Returns the calls whose effect is unknown. Throws std::bad_alloc.
  static std::vector<InterruptedCall> end(core::Node& node, const StoredTurn& stored);
  // The turn goes on: it is parked, and the agent is in the state of the turn. Returns the calls that had
  // begun. Throws std::bad_alloc.
  std::vector<InterruptedCall> resume(core::Node& node, const StoredTurn& stored);
  // The agent is in its tree, after resume(): asks again what the turn had asked people. Runs code of the
  // host. False: a call that had asked something does not ask anything now.
  bool ask_again(core::Node& node) noexcept;

 private:
  std::optional<TurnDeadline> deadline_of(const StoredTurn& stored) const;
  void add_call(core::Node& node, const FoundCall& found, std::vector<InterruptedCall>& interrupted);

  TurnContext& context_;
  ToolCalls& tool_calls_;
  TurnEnds& ends_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
