// CallRecords: writes the outcomes of tool calls into the history and the turn's result.
#pragma once

#include "tools/protocol.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/tool.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace agentcore::detail::turn {

// All @loop_thread.
class CallRecords {
 public:
  explicit CallRecords(TurnContext& context) : context_(context) {}

  // Writes an answer with calls, and for each call a result that it did not happen, which later results
  // replace.
  void list(Turn turn, std::vector<tools::AskedCall> asked, std::string words);
  // How a call ends, from what is known of its begin (G9): the one function that says so. From then on a call
  // that waits for its begin never begins.
  enum class Result : std::uint8_t { none, given };
  static ToolOutcome outcome_of(const PendingCall& call, Result result) noexcept;
  // The texts that say so in the history and in the record.
  struct UnknownEffect {
    UnknownEffect();

    std::string in_history;
    std::string in_record;
  };
  // The tool of the call is about to start: until its result comes, the effect of the call is unknown.
  void set_begun(Turn turn, PendingCall& call, UnknownEffect&& unknown) noexcept;
  // The turn ends: writes of the calls that were handed over, and have not begun, that they never began.
  void withdraw(Turn turn) noexcept;
  // The end of a call: in the history and in the turn's steps. Emits ToolEnded if ToolStarted was emitted.
  void set_result(Turn turn, PendingCall& call, ToolOutcome outcome, ToolResult result, bool by_host = false);

  // The tool of the call does not start: the model receives the reason. Emits ToolRefused. Of a call that may
  // have begun before a restart the model reads that, too.
  void refuse(Turn turn, PendingCall& call, std::string reason);
  // The two parts of refuse().
  void write_refusal(Turn turn, PendingCall& call, std::string reason);
  void emit_refusal(Turn turn, const PendingCall& call);
  // Emits ToolStarted: ToolEnded follows, however the call ends.
  void emit_start(Turn turn, PendingCall& call);

  // The step of the turn's result that belongs to the call.
  static ToolCallRecord& step_of(Turn turn, const PendingCall& call) {
    return turn.active().result->calls[call.step];
  }
  // The entry of the call in CallClaims.
  static CallKey key_of(Turn turn, const PendingCall& call) noexcept {
    return {turn.node().id(), step_of(turn, call).call_id};
  }
  // A hash of what the call asks for. It was looked up.
  static std::uint64_t request_of(const ToolCallRecord& step, const PendingCall& call);
  // Cuts the texts of a result to TreeOptions::max_tool_result_bytes. Without memory they become empty.
  void limit(ToolResult& result) const noexcept;

 private:
  TurnContext& context_;
};

}  // namespace agentcore::detail::turn
