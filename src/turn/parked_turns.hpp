// ParkedTurns: the turns that may not go on while beginnings are withheld, and how they continue.
#pragma once

#include "turn/budget_clocks.hpp"
#include "turn/turn_context.hpp"

namespace agentcore::detail::turn {

class QuestionDesk;
class TurnRunner;

// When an agent is at rest: nothing of it runs. What that means depends on what is withheld.
enum class Rest : std::uint8_t {
  paused,      // what has begun only waits, for a person or for the end of the pause
  after_step,  // no operation is in flight, and its turn, if there is one, waits for its next step
  after_turn,  // no operation is in flight, and no turn in progress
};

// A turn that may not begin its next step, or a tool call, is parked (ActiveTurn::parked): no operation would
// begin that later. Where less is withheld, go_on() must be called for each agent. All @loop_thread.
class ParkedTurns {
 public:
  ParkedTurns(TurnContext& context, QuestionDesk& desk, BudgetClocks& clocks, TurnRunner& runner)
      : context_(context), desk_(desk), clocks_(clocks), runner_(runner) {}

  // Agents were paused or unpaused: run() updates the clocks of questions, and calls the clients of model
  // calls.
  void note_pause() noexcept;
  // Does what is left of that, as long as the budget lasts. False: something is left. A client may destroy
  // the tree. Throws std::bad_alloc; to be called again then.
  bool run(loop::PollBudget& budget);
  bool has_work() const noexcept;
  // What is withheld from the agent may have changed: updates the clocks of its budgets, and continues its
  // turn if it is parked. Throws std::bad_alloc; to be called again then.
  void go_on(core::Node& node);
  // True if nothing of the agent runs, in the sense of `rest`.
  bool is_at_rest(const core::Node& node, Rest rest) const noexcept;
  // True if the turn of the agent waits for a deferred stop to take effect, which withholds its next step.
  static bool waits_for_stop(const core::Node& node) noexcept;

 private:
  bool waits(const Operation& operation) const noexcept;

  TurnContext& context_;
  QuestionDesk& desk_;
  BudgetClocks& clocks_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
