// TurnEnds: the one place that ends a turn.
#pragma once

#include "turn/budget_ledger.hpp"
#include "turn/call_records.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace agentcore::detail::turn {

class LingeringCalls;
class ToolCalls;
class UsageAccounting;

// Every end of a turn has this order: its question is marked in the history, the turn is removed from the
// agent's data, its usage is settled, TurnEnded is emitted, and the agent's state follows. Functions that
// return Next return `ended`. All @loop_thread.
class TurnEnds {
 public:
  TurnEnds(TurnContext& context, BudgetLedger& ledger, UsageAccounting& usage, CallRecords& records,
           ToolCalls& calls, LingeringCalls& lingering)
      : context_(context),
        ledger_(ledger),
        usage_(usage),
        records_(records),
        calls_(calls),
        lingering_(lingering) {}

  // The answer has no calls: waiting_llm -> processing -> idle.
  Next complete(Turn turn);
  // The answer, or the next step, is refused; earlier steps stay. `reason`: why the model ended the answer.
  Next fail(Turn turn, ChatError error, FinishReason reason = FinishReason::tool_calls);
  // The model call did not complete: waiting_llm -> idle (B12). A call that its client cancelled by itself
  // counts as aborted.
  Next fail_call(Turn turn, ChatOutcome outcome);
  // A budget refuses: reports the owner of that budget, which is then stopped and this turn with it. If that
  // agent cannot be stopped, or too much is only reserved, the turn fails.
  Next end_for_budget(Turn turn, BudgetVerdict verdict);

  // Ends the turn that was refused: as aborted, interrupted or stopped, according to the packed state and the
  // gates, or as failed at its deadline. Cuts its calls, closes its questions. The outcomes of its operations
  // come later. Does nothing if the turn is over.
  void interrupt(Turn turn) noexcept;
  // Starts the timer of the turn's deadline, if it has one. `ended`: the deadline has passed.
  Next watch_deadline(Turn turn);
  // A part of the turn threw: the turn ends as failed, and the agent can take its next message.
  void break_off(Turn turn, Errc code, std::string_view why) noexcept;

  // Ends the turn in progress if it was interrupted. True: it did.
  bool end_refused(core::Node& node) noexcept;
  // Notifies the tree that a turn of `node` may have ended.
  void report(core::Node& node) noexcept { context_.end_activity(node); }

  // Stops those whose budgets the calls of the last turn have exceeded, however it has ended.
  void stop_exhausted(core::Node& node) noexcept;
  // Frees the turns that ended early. To be called when no function of a turn is on the stack.
  void free_ended() noexcept;

 private:
  bool leave(Turn turn) noexcept;
  void on_deadline(core::NodeId agent, std::uint64_t number) noexcept;
  bool end_at_deadline(Turn turn) noexcept;
  void end_early(Turn turn, TurnOutcome outcome, Errc code, std::string_view why) noexcept;
  void cut(Turn turn, ActiveTurn& ended, DiscardReason late) noexcept;
  void mark_question(Turn turn, Interruption why) noexcept;
  std::unique_ptr<ActiveTurn> take_out(Turn turn) noexcept;
  void emit_end(Turn turn, const ActiveTurn& ended) noexcept;
  void follow_end(Turn turn) noexcept;

  TurnContext& context_;
  BudgetLedger& ledger_;
  UsageAccounting& usage_;
  CallRecords& records_;
  ToolCalls& calls_;
  LingeringCalls& lingering_;
  std::unique_ptr<ActiveTurn> ended_;  // a list: see ActiveTurn::next_ended
};

}  // namespace agentcore::detail::turn
