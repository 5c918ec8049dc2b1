// Questions to people: asked, and closed exactly once.
#include "tools/contain.hpp"
#include "turn/turns.hpp"

#include <utility>

namespace agentcore::turn {
namespace {

Errc refusal_of(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::agent_stopping;
    case AgentState::stopped:
      return Errc::agent_stopped;
    case AgentState::terminating:
      return Errc::agent_terminating;
    default:
      return Errc::question_closed;
  }
}

}  // namespace

void Turns::on_ask(const tools::CallScope& call, Question question,
                   std::function<void(const Answer&)> closed) {
  Flight* const flight = find(call.key.slot, call.key.serial);
  if (!flight || flight->over || !core::look(*flight->node, core::generation_of(flight->agent)).open()) {
    if (!hub_.closed())
      tools::contain(engine_, "a question's callback", [&] { closed({QuestionOutcome::cancelled, {}}); });
    return;
  }
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  const bool is_asked = engine_.guarded("a question", [&] {
    AskedQuestion asked;
    asked.question.call_id = flight->info->id;
    asked.question.tool = flight->info->tool;
    asked.question.text = std::move(question.text);
    asked.question.choices = std::move(question.choices);
    asked.closed = closed;
    ask(node, call.key.slot, std::move(asked), question.timeout.value_or(limits_.question_timeout));
  });
  if (is_asked || hub_.closed()) return;  // else there was no memory to ask: the question is closed at once
  tools::contain(engine_, "a question's callback", [&] { closed({QuestionOutcome::cancelled, {}}); });
  if (engine_.closed()) hub_.close();
}

void Turns::ask(core::Node& node, std::uint32_t slot, AskedQuestion question, Duration timeout) {
  question.question.agent_id = table_.names().name_of(node, node.id());
  question.agent = node.id();
  question.turn = flights_[slot].turn;
  question.flight = slot + 1;
  AskedQuestion& asked = questions_.add(std::move(question));
  if (timeout > Duration::zero()) try {
      const std::uint64_t timer =
          engine_.start_timer(loop::later(engine_.now(), timeout), [this, id = asked.question.id] {
            if (auto late = questions_.take(id)) close(std::move(*late), {QuestionOutcome::timed_out, {}});
          });
      asked.timer = Timer(engine_.weak_from_this(), timer);
    } catch (...) {  // a question must not stay open without its time-out
      static_cast<void>(questions_.take(asked.question.id));
      throw;
    }
  hub_.tell(node, [&](Agent agent) { return QuestionAsked{std::move(agent), asked.turn, asked.question}; });
}

AnswerResult Turns::answer(std::string_view question_id, Answer answer) {
  const AskedQuestion* const asked = questions_.find(question_id);
  if (!asked)
    return {false, questions_.was_closed(question_id) ? Errc::question_closed : Errc::question_not_found};
  const core::Node* const node = table_.find(asked->agent);
  if (!node) return {false, Errc::question_closed};
  const core::GateView view = core::look_again(*node, core::generation_of(asked->agent));
  if (!view.open()) return {false, refusal_of(view.seen)};
  const core::NodeId agent = asked->agent;
  if (close(*questions_.take(question_id), answer)) return {true, Errc::none};
  if (hub_.closed()) return {false, Errc::question_closed};
  return {false, refusal_of(core::look_again(*node, core::generation_of(agent)).seen)};
}

// It was taken out of the list: nobody else closes it. True: whoever asked got this answer.
bool Turns::close(AskedQuestion question, const Answer& answer) noexcept {
  core::Node* const node = hub_.closed() || engine_.closed() ? nullptr : table_.find(question.agent);
  if (!node) return false;
  const Entered entered(*this, *node);
  const auto is_open = [&] { return core::look(*node, core::generation_of(question.agent)).open(); };
  const bool real = is_open();
  const QuestionOutcome outcome = real ? answer.outcome : QuestionOutcome::cancelled;
  hub_.tell(*node, [&](Agent agent) {
    return QuestionClosed{std::move(agent), question.turn, question.question.id, outcome};
  });
  if (hub_.closed()) return false;
  // An observer may have stopped it just now: then the answer is for nobody.
  const bool given = real && is_open();
  const Answer cancelled{QuestionOutcome::cancelled, {}};
  tools::contain(engine_, "a question's callback", [&] { question.closed(given ? answer : cancelled); });
  if (engine_.closed()) hub_.close();
  return given;
}

// What a call still asks is asked for nobody.
void Turns::close_questions(std::uint32_t slot) noexcept {
  const core::NodeId agent = flights_[slot].agent;
  while (!hub_.closed()) {
    auto question = questions_.take_of(agent, slot + 1);
    if (!question) return;
    close(std::move(*question), {QuestionOutcome::cancelled, {}});
  }
}

// May this call run? Until a person says so nothing of it begins.
void Turns::ask_approval(core::Node& node, std::size_t index, std::uint32_t slot) {
  const ActiveTurn& turn = *active_turn(node);
  const PendingCall& call = turn.calls[index];
  const InteractionStep& step = turn.result->steps[call.step];
  AskedQuestion asked;
  asked.question.kind = QuestionKind::approval;
  asked.question.call_id = step.call_id;
  asked.question.tool = step.action_id;
  asked.question.text = call.arguments;
  asked.closed = [this, slot, serial = flights_[slot].serial](const Answer& answer) {
    on_approval(slot, serial, answer);
  };
  ask(node, slot, std::move(asked), limits_.question_timeout);
}

void Turns::on_approval(std::uint32_t slot, std::uint64_t serial, const Answer& answer) {
  Flight* const flight = find(slot, serial);
  if (!flight || answer.outcome == QuestionOutcome::cancelled) return;
  core::Node& node = *flight->node;
  PendingCall* const call = pending(node, slot);
  if (!call || !may_go_on(node, flight->epoch)) return;
  attempt(node, [&] {
    if (answer.outcome == QuestionOutcome::answered) {
      call->state = PendingCall::State::approved;
    } else {
      flights_.close(std::exchange(call->flight, 0) - 1);
      const std::string why = answer.outcome == QuestionOutcome::timed_out
                                  ? "nobody approved the call in time"
                              : answer.text.empty() ? "the person refused the call"
                                                    : "the person refused the call: " + answer.text;
      set_result(node, *call, ToolOutcome::not_started, ToolResult::failed(why));
    }
    if (!hub_.closed() && is_active(node)) advance(node);
  });
  if (!hub_.closed()) owner_.let_go(node);
}

}  // namespace agentcore::turn
