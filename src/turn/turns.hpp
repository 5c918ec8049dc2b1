// Turns: the turn engine of a tree, wired from its parts.
#pragma once

#include "turn/answer_check.hpp"
#include "turn/budget_clocks.hpp"
#include "turn/budget_ledger.hpp"
#include "turn/call_ends.hpp"
#include "turn/compactor.hpp"
#include "turn/lingering_calls.hpp"
#include "turn/model_calls.hpp"
#include "turn/parked_turns.hpp"
#include "turn/permissions.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_calls.hpp"
#include "turn/tool_port.hpp"
#include "turn/turn_context.hpp"
#include "turn/turn_ends.hpp"
#include "turn/turn_restorer.hpp"
#include "turn/turn_runner.hpp"
#include "turn/usage_accounting.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {

// What the tree sees of the turn engine. docs/design/architecture.md shows the way of a message through its
// parts, function by function.
//
// Every part checks the gate with Turn::check() and returns Next::ended where it is refused; TurnEnds alone
// ends a turn. A closed tree, and a tree whose Runtime was destroyed, is a closed gate. All @loop_thread.
class Turns final : private events::PorchListener {
 public:
  Turns(core::AgentTable& table, events::EventHub& hub, loop::Engine& engine, core::TreeLifetime& lifetime,
        TurnListener& listener, Messages messages, Registries registries, TurnLimits limits)
      : context_(table, hub, engine, lifetime, listener, messages, registries, limits) {
    hub.porch.listener = this;
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // See TurnRunner.
  void prepare(core::Node& node, bool simulated, bool delegated, std::size_t parts, std::uint32_t attempt) {
    runner_.prepare(node, simulated, delegated, parts, attempt);
  }
  void begin(core::Node& node, Message&& message, bool simulated, MessageId id, std::uint32_t epoch,
             TimePoint deadline) {
    runner_.begin(node, std::move(message), simulated, id, epoch, deadline);
  }

  // Ends the turn in progress if it began before `epoch`: as aborted or stopped, according to the gates.
  void interrupt_before(core::Node& node, std::uint32_t epoch) noexcept;
  // Ends the turn in progress, as interrupted, unless it is one of a MessageHandler.
  void interrupt(core::Node& node) noexcept;
  // Ends the turn in progress if it was interrupted. True: it did.
  bool end_refused(core::Node& node) noexcept;
  // The turns from which beginnings are withheld.
  ParkedTurns& parked() noexcept { return parked_; }
  // The turns of an earlier process.
  TurnRestorer& restorer() noexcept { return restorer_; }
  // Ends everything of an agent that is stopped: its turn and its background tasks (X17). The outcomes come
  // later.
  void stop(core::Node& node) noexcept;
  // Abandons the operation in that slot, which did not end within the grace period; its outcome will be
  // dropped.
  void abandon(std::uint32_t slot) noexcept;

  // The second halves of the verbs that end a tool call or a task. They do nothing if it is gone.
  void finish_call(core::NodeId agent, std::string_view call_id) noexcept;
  void finish_task(std::string_view task_id) noexcept { call_ends_.finish_task(task_id); }
  // A message was steered: asks the model again if its call was ended for it.
  void finish_steer(core::Node& node) noexcept { model_calls_.finish_cut(node); }

  // Questions, approvals and grants, and background tasks, for AgentTree.
  QuestionDesk& questions() noexcept { return desk_; }
  Permissions& permissions() noexcept { return permissions_; }
  // Everything that refers to these agents: operations in flight, lingering ones included, questions, claims,
  // kept results and origins (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  std::vector<RunningTask> tasks() const;

  // See AnswerChecks.
  Result<std::shared_ptr<const AnswerCheck>> answer_check(const ResponseFormat& format) {
    return answer_checks_.get(format);
  }

  // See BudgetClocks.
  void grant(core::Node& node, const Budget& budget, bool subtree) { clocks_.grant(node, budget, subtree); }

  EndedTurns& ended() noexcept { return context_.ended_turns; }
  TurnEnds& ends() noexcept { return ends_; }
  const Operations& operations() const noexcept { return context_.operations; }

  // The tree is closed and no function of it is on the stack: forgets questions and results, and stops all
  // clocks.
  void clear();

 private:
  // events::PorchListener
  void go_on(core::NodeId agent, std::uint64_t turn) noexcept override { runner_.go_on(agent, turn); }
  void on_activity_ended(core::NodeId agent) noexcept override;
  void end_activity(core::Node& node) noexcept;
  void on_delivered_delta(core::NodeId agent, std::uint32_t epoch, std::string_view text) noexcept override {
    model_calls_.on_delivered_delta(agent, epoch, text);
  }
  void on_refused_delta(core::OperationId call) noexcept override { model_calls_.on_refused_delta(call); }

  TurnContext context_;
  AnswerChecks answer_checks_;
  BudgetLedger ledger_;
  BudgetClocks clocks_{context_, ledger_};
  UsageAccounting usage_{context_, ledger_};
  Compactor compactor_{context_, usage_};
  QuestionDesk desk_{context_};
  Permissions permissions_{context_, desk_};
  LingeringCalls lingering_{context_};
  // These refer to each other: no constructor may use its arguments.
  CallEnds call_ends_{context_, desk_, lingering_, runner_};
  ToolPort port_{context_, call_ends_, desk_};
  ToolCalls tool_calls_{context_, permissions_, port_, desk_, call_ends_, runner_};
  TurnEnds ends_{context_, ledger_, usage_, call_ends_, lingering_};
  ModelCalls model_calls_{context_, usage_, compactor_, ends_, lingering_, runner_};
  TurnRunner runner_{context_, ledger_, model_calls_, tool_calls_, call_ends_, ends_};
  ParkedTurns parked_{context_, desk_, clocks_, runner_};
  TurnRestorer restorer_{context_, tool_calls_, ends_, runner_};
};

}  // namespace agentcore::detail::turn
