// The ends of a turn: completed, failed, aborted, stopped.
#include "turn/turns.hpp"

#include <new>
#include <utility>

namespace agentcore::turn {
namespace {

// Without memory the text stays empty: the turn ends all the same.
void describe(InteractionResult& result, std::string_view error) noexcept {
  try {
    result.error = error;
  } catch (const std::bad_alloc&) {
    result.error.clear();
  }
}

}  // namespace

// waiting_llm -> processing -> idle.
void Turns::complete(core::Node& node) {
  TurnData& data = data_of(node);
  const std::uint32_t epoch = data.turn->epoch;
  const FinishReason reason = data.turn->answer.finish_reason;
  if (!data.turn->simulated)
    data.conversation.answer(data.turn->result->response, std::move(data.turn->answer.reasoning));
  auto result = leave(node);
  result->success = true;
  tell_end(node, TurnOutcome::completed, reason, {}, std::move(result));
  if (hub_.closed() || !step_to(node, epoch, AgentState::processing, AgentState::idle)) return;
  static_cast<void>(within_budget(node));
}

// waiting_llm -> idle (B12). A call that its client cancelled by itself counts as aborted.
void Turns::fail(core::Node& node, ChatOutcome outcome) {
  TurnData& data = data_of(node);
  const bool aborted = outcome.kind == ChatOutcome::Kind::cancelled;
  const std::uint32_t epoch = data.turn->epoch;
  // First, so that an abort by an observer of the end finds no call any more (A16).
  if (!change(node, epoch, AgentState::waiting_llm, AgentState::idle)) return interrupt(node);
  data.conversation.interrupt(aborted ? Interruption::aborted : Interruption::failed);
  auto result = leave(node);
  describe(*result, outcome.error.message.empty() ? "LLM call failed" : outcome.error.message);
  if (aborted) outcome.error = {};  // an outcome beside failure
  tell_end(node, aborted ? TurnOutcome::aborted : TurnOutcome::failed, outcome.finish_reason,
           std::move(outcome.error), std::move(result));
  // An observer of the end may have stopped it: then the stop is what is told next (X2).
  if (!hub_.closed() && core::admits(node, node.load().generation(), epoch))
    hub_.state(node, AgentState::idle, StopCause::user);
}

// The same in `processing`: the answer is refused, what was done before it stays.
void Turns::fail_acting(core::Node& node, Error error) {
  TurnData& data = data_of(node);
  const std::uint32_t epoch = data.turn->epoch;
  const bool simulated = data.turn->simulated;
  if (!simulated) data.conversation.interrupt(Interruption::failed);
  auto result = leave(node);
  describe(*result, error.message);
  tell_end(node, TurnOutcome::failed, FinishReason::tool_calls, std::move(error), std::move(result));
  if (!hub_.closed()) step_to(node, epoch, AgentState::processing, AgentState::idle);
}

void Turns::interrupt(core::Node& node) noexcept {
  if (!is_active(node)) return;
  const bool aborted = core::look(node, node.load().generation()).open();
  end_early(node, aborted ? TurnOutcome::aborted : TurnOutcome::stopped, Errc::none, {});
  // An abort by another thread may not have come to the loop yet, and the next turn may be faster.
  if (aborted && !hub_.closed() && node.load().state() == AgentState::idle &&
      core::look(node, node.load().generation()).open())
    hub_.state(node, AgentState::idle, StopCause::user);
}

// A part of the turn threw: the turn ends as failed, and the agent goes on.
void Turns::break_off(core::Node& node, Errc code, std::string_view why) noexcept {
  if (engine_.closed()) hub_.close();
  if (hub_.closed() || !is_active(node)) return;
  log(LogLevel::error, "a turn was broken off", {{"agent", name_of(node)}, {"why", why}});
  if (hub_.closed() || !is_active(node)) return;
  const std::uint32_t epoch = active_turn(node)->epoch;
  const AgentState from = node.load().state();
  const bool goes_on = core::admits(node, node.load().generation(), epoch) && can_process(from) &&
                       (from == AgentState::idle || change(node, epoch, from, AgentState::idle));
  if (!goes_on) return interrupt(node);
  end_early(node, TurnOutcome::failed, code, why);
  if (hub_.closed()) return;
  if (core::admits(node, node.load().generation(), epoch))
    hub_.state(node, AgentState::idle, StopCause::user);
  if (!hub_.closed()) owner_.schedule(node);
}

// Ends a turn that has no answer yet. Without memory the turn ends all the same, with empty texts.
void Turns::end_early(core::Node& node, TurnOutcome outcome, Errc code, std::string_view why) noexcept {
  TurnData& data = static_cast<TurnData&>(*node.data);
  const std::uint64_t number = node.turns;
  if (!data.turn->simulated)
    data.conversation.interrupt(outcome == TurnOutcome::aborted   ? Interruption::aborted
                                : outcome == TurnOutcome::stopped ? Interruption::stopped
                                                                  : Interruption::failed);
  // Before the cut: what comes from within it finds the turn ended.
  const std::unique_ptr<ActiveTurn> turn = std::exchange(data.turn, nullptr);
  const auto result = turn->result;
  if (turn->flight) {
    data.ending = turn.get();
    flights_.cut(turn->flight - 1);
    data.ending = nullptr;
  }
  cancel_calls(node, number, turn->calls, *result);
  if (hub_.closed()) return;
  // After the cut, because counting takes time: where thousands stop, each connection would stay open for
  // longer.
  settle(node, *turn);
  if (hub_.closed()) return;
  result->error = std::move(turn->stop_reason);
  result->response.clear();
  Error error{code};
  // The wording is fixed by requirements I4, I5 and I10.
  if (outcome == TurnOutcome::stopped)
    log(LogLevel::info, "Agent execution was cancelled", {{"agent", name_of(node)}});
  engine_.guarded("a turn's end", [&] {
    error.message = why;
    if (outcome == TurnOutcome::stopped) {
      InteractionStep step;
      step.type = "terminated";
      step.message = "Task was terminated by user";
      result->steps.push_back(std::move(step));
    }
    if (result->error.empty())
      result->error = outcome == TurnOutcome::aborted   ? "the call was aborted"
                      : outcome == TurnOutcome::stopped ? "Task terminated by user"
                                                        : why;
  });
  tell_end(node, outcome, FinishReason::unknown, std::move(error), result);
}

void Turns::interrupt_before(core::Node& node, std::uint32_t epoch) noexcept {
  const ActiveTurn* const turn = active_turn(node);
  if (!turn) return;
  const std::uint32_t age = (epoch - turn->epoch) & core::Word::epoch_mask;
  if (age != 0 && age <= core::Word::epoch_mask / 2) interrupt(node);
}

void Turns::stop(core::Node& node) noexcept {
  interrupt(node);
  if (!hub_.closed() && node.flights != 0) cancel_tasks(node);
}

// Takes what the turn did out of it, and counts what it used; from then on none is under way.
std::shared_ptr<InteractionResult> Turns::leave(core::Node& node) noexcept {
  TurnData& data = static_cast<TurnData&>(*node.data);
  const std::unique_ptr<ActiveTurn> turn = std::exchange(data.turn, nullptr);
  settle(node, *turn);
  return std::move(turn->result);
}

void Turns::tell_end(core::Node& node, TurnOutcome outcome, FinishReason reason, Error error,
                     std::shared_ptr<InteractionResult> result) noexcept {
  hub_.tell(node, [&](Agent agent) {
    const std::string_view text =
        outcome == TurnOutcome::completed ? std::string_view(result->response) : std::string_view();
    return TurnEnded{std::move(agent), node.turns,       outcome, text,        reason,
                     result->usage,    std::move(error), result,  result->cost};
  });
}

}  // namespace agentcore::turn
