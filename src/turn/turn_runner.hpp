// TurnRunner: drives the steps of a turn.
#pragma once

#include "core/packed_state.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"
#include "turn/turn_ends.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::tools {
struct ReadAnswer;
}

namespace agentcore::detail::turn {

class CallEnds;
class ModelCalls;
class ToolCalls;

// A turn repeats these steps until an answer has no tool calls: context trimmed and rendered -> model call ->
// answer written -> tool calls parsed -> run in order -> results written. A step checks the gate with the
// epoch of the turn's beginning and returns Next::ended where it is refused; then the runner ends the turn.
// The history and the turn's result are at every moment in the state that they need if the turn ends then, so
// ending it takes no repair. All @loop_thread.
class TurnRunner {
 public:
  TurnRunner(TurnContext& context, BudgetLedger& ledger, ModelCalls& model_calls, ToolCalls& tool_calls,
             CallEnds& call_ends, TurnEnds& ends)
      : context_(context),
        ledger_(ledger),
        model_calls_(model_calls),
        tool_calls_(tool_calls),
        call_ends_(call_ends),
        ends_(ends) {}

  // Allocates the initial data of the turn that a message begins, which may be a simulated answer or come
  // from a tool call (Cell::is_delegated). If it throws, nothing has changed. Afterwards begin() needs no
  // memory until it has emitted TurnStarted, so that no message is lost.
  void prepare(core::Node& node, bool simulated, bool delegated, std::size_t parts, std::uint32_t attempt);
  // Takes the idle agent into the first state of that turn, and returns the packed state with the epoch of
  // the turn; begin() follows. Returns the state of a free slot if a verb came after `epoch`.
  static core::PackedState claim(core::Node& node, std::uint32_t epoch, bool simulated,
                                 bool delegated) noexcept;
  // Takes the agent back to `idle`, unless a verb came first: no turn begins.
  static void unclaim(core::Node& node, std::uint32_t epoch) noexcept;
  // Begins the turn that was claimed; the agent is the active agent.
  // `deadline`: SendOptions::deadline, or no_limit.
  void begin(core::Node& node, Message&& message, bool simulated, MessageId id, std::uint32_t epoch,
             TimePoint deadline);
  // Runs the next phases of that turn, unless it is over.
  void go_on(core::NodeId agent, std::uint64_t number) noexcept;
  // The last model call has no effect: the model is asked again, unless a budget or an observer ends the
  // turn. `reason`: what is wrong with its answer.
  Next ask_again(Turn turn, ReaskCause cause, std::string reason);
  // The turn of a MessageHandler that is running: its agent, or null, and its message.
  const core::Node* handling() const noexcept { return handling_; }
  MessageId handled_message() const noexcept { return handled_message_; }

  // Runs `part`, which continues the turn of `node` and returns Next, then acts on the result. If anything
  // throws, usually for a lack of memory, the turn ends as failed.
  template <typename Part>
  void run(core::Node& node, Part&& part) noexcept {
    try {
      follow(node, std::forward<Part>(part)());
    } catch (const std::bad_alloc&) {
      break_off(node, Errc::out_of_memory, "out of memory");
    } catch (const std::exception& error) {
      break_off(node, Errc::callback_failed, error.what());
    } catch (...) {
      break_off(node, Errc::callback_failed, "not a std::exception");
    }
  }

 private:
  void follow(core::Node& node, Next next);
  void break_off(core::Node& node, Errc code, std::string_view why) noexcept;
  Next run_phases(Turn turn);
  Next run_phase(Turn turn);
  Next admit(Turn turn);
  Next take_answer(Turn turn);
  Next leave_call(Turn turn);
  tools::ReadAnswer read_answer(Turn turn, const std::string& text) const;
  Next take_cut_calls(Turn turn, tools::ReadAnswer answer);
  Next follow_cut_calls(Turn turn);
  Next take_words(Turn turn, std::string text);
  Next take_invalid(Turn turn, std::string text, std::string problem);
  bool may_repair(Turn turn) const noexcept;
  Next repair(Turn turn, ReaskCause cause, RefusedAnswer refused, std::string reason);
  Next check_budget(Turn turn);
  void emit_start(core::Node& node, MessageId id, std::uint32_t epoch, AgentState to);
  void run_handler(core::Node& node, const Message& message, MessageId id, std::uint32_t epoch);
  std::shared_ptr<const TurnResult> ended_result(core::Node& node, std::uint32_t epoch) const noexcept;
  std::shared_ptr<const TurnResult> call_handler(core::Node& node, const Message& message);

  TurnContext& context_;
  BudgetLedger& ledger_;
  ModelCalls& model_calls_;
  ToolCalls& tool_calls_;
  CallEnds& call_ends_;
  TurnEnds& ends_;
  const core::Node* handling_ = nullptr;
  MessageId handled_message_;
};

}  // namespace agentcore::detail::turn
