// ModelCalls: sends the model calls of turns and receives their answers.
#pragma once

#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/llm_client.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::turn {

class Compactor;
class LingeringCalls;
class TurnEnds;
class TurnRunner;
class UsageAccounting;

// All @loop_thread.
class ModelCalls {
 public:
  ModelCalls(TurnContext& context, UsageAccounting& usage, Compactor& compactor, TurnEnds& ends,
             LingeringCalls& lingering, TurnRunner& runner)
      : context_(context),
        usage_(usage),
        compactor_(compactor),
        ends_(ends),
        lingering_(lingering),
        runner_(runner) {}

  // Writes what was steered, trims and renders the context, reserves in the budgets and calls the model. If
  // older messages are to be summarised, the call is one for that, instead of the step. `proceed`: send() is
  // next.
  Next start(Turn turn);
  // Calls the client. `proceed`: a message was steered, and start() is next.
  Next send(Turn turn);
  // True if the open model call, or its answer, is void, because a message was steered with SteerWhen::now.
  // Never if the call is a summary.
  bool is_cut(Turn turn) const noexcept;
  // Ends the open model call if it is void, and asks the model again.
  void finish_cut(core::Node& node) noexcept;
  // The answer has ended: text that was held back, because it could have begun a block of calls, is emitted
  // now.
  void emit_held_text(Turn turn);

  // Called by the client, through its sink. Calls after the end of the operation are ignored.
  void on_delta(OperationId id, std::string_view text);
  void on_reasoning(OperationId id, std::string_view text);
  void on_outcome(OperationId id, ChatOutcome outcome);

  // See events::PorchListener.
  void on_delivered_delta(core::NodeId agent, std::uint32_t epoch, std::string_view text) noexcept;
  void on_refused_delta(OperationId id) noexcept;

 private:
  bool write_steered(Turn turn);
  void give_up_call(Turn turn, DiscardReason late) noexcept;
  ChatRequest new_request(Turn turn);
  ChatRequest request_for(Turn turn);
  Next prepare(Turn turn, LlmClient& client, ChatRequest request);
  Next withdraw(Turn turn, Next next) noexcept;
  std::optional<Turn> turn_for_delta(Operation& operation) noexcept;
  bool is_held(bool ends_step) const noexcept;
  void emit_delta(Turn turn, std::string_view text, OperationId call) noexcept;
  void end_too_long(Turn turn, OperationId id);
  void end_long_summary(Turn turn, OperationId id);
  void discard_late(const core::Node& node, std::uint64_t turn, std::size_t deltas, ChatOutcome::Kind kind,
                    DiscardReason reason) noexcept;

  TurnContext& context_;
  UsageAccounting& usage_;
  Compactor& compactor_;
  TurnEnds& ends_;
  LingeringCalls& lingering_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
