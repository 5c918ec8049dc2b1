// TurnEnds: the one place that ends a turn.
#pragma once

#include "turn/budget_ledger.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace agentcore::detail::turn {

class CallEnds;
class LingeringCalls;
class UsageAccounting;

// How a turn ends.
enum class TurnEnd : std::uint8_t {
  completed,       // its answer has no calls, or the result of a tool is the answer
  failed,          // its answer, or the next step, is refused; earlier steps stay
  failed_call,     // its model call failed, or cannot be made
  cancelled_call,  // its model call was cancelled by the client itself: it counts as aborted (B12)
  refused,     // a check refused it: aborted, interrupted or stopped, according to the packed state and the
               // gates, or `deadline`
  deadline,    // its deadline has passed: it fails
  broken_off,  // a part of it threw: it fails, and the agent can take its next message
};

// Every end of a turn has this order: its state is left, by which a verb of another thread has ended the turn
// or finds it over; its question is marked in the history, the turn is removed from the agent's data, what it
// has in flight is cut, its usage is settled, TurnEnded is emitted, and the agent's state follows. Functions
// that return Next return `ended`. All @loop_thread.
class TurnEnds {
 public:
  TurnEnds(TurnContext& context, BudgetLedger& ledger, UsageAccounting& usage, CallEnds& calls,
           LingeringCalls& lingering)
      : context_(context), ledger_(ledger), usage_(usage), calls_(calls), lingering_(lingering) {}

  // Ends the turn, unless it is over. If a verb came first, it ends as `refused`. The outcomes of what it has
  // in flight come later. `error` and `reason`: of an end that fails; why the model ended the answer. Throws
  // std::bad_alloc only with `completed`, before the turn is over; otherwise texts stay empty without memory.
  Next end(Turn turn, TurnEnd how, ChatError error = {}, FinishReason reason = FinishReason::tool_calls);
  // A budget refuses: reports the owner of that budget, which is then stopped and this turn with it. If that
  // agent cannot be stopped, or too much is only reserved, the turn fails.
  Next end_for_budget(Turn turn, BudgetVerdict verdict);

  // Starts the timer of the turn's deadline, if it has one. `ended`: the deadline has passed.
  Next watch_deadline(Turn turn);
  // Ends the turn in progress if it was interrupted. True: it did.
  bool end_refused(core::Node& node) noexcept;
  // Notifies the tree that a turn of `node` may have ended.
  void report(core::Node& node) noexcept { context_.end_activity(node); }

  // Stops those whose budgets the calls of the last turn have exceeded, however it has ended.
  void stop_exhausted(core::Node& node) noexcept;
  // Frees the turns that ended early. To be called when no function of a turn is on the stack.
  void free_ended() noexcept;

 private:
  TurnEnd settle_end(Turn turn, TurnEnd how, ChatError& error, FinishReason& reason) noexcept;
  static bool leave(Turn turn, TurnEnd how) noexcept;
  static TurnOutcome outcome_of(Turn turn, TurnEnd how) noexcept;
  static void write_answer(Turn turn);
  void mark_question(Turn turn, TurnEnd how, TurnOutcome outcome) noexcept;
  void cut(Turn turn, TurnEnd how, ActiveTurn& ended, DiscardReason late) noexcept;
  void write_error(const core::Node& node, TurnEnd how, ActiveTurn& ended, ChatError error,
                   FinishReason reason) noexcept;
  void emit_end(Turn turn, const ActiveTurn& ended) noexcept;
  void follow_end(core::Node& node, TurnEnd how, TurnOutcome outcome) noexcept;
  void on_deadline(core::NodeId agent, std::uint64_t number) noexcept;

  TurnContext& context_;
  BudgetLedger& ledger_;
  UsageAccounting& usage_;
  CallEnds& calls_;
  LingeringCalls& lingering_;
  std::unique_ptr<ActiveTurn> ended_;  // a list: see ActiveTurn::next_ended
};

}  // namespace agentcore::detail::turn
