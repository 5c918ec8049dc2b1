#include "turn/question_desk.hpp"

#include "tools/contain.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace agentcore::detail::turn {
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

// The number that the question had before a restart.
std::optional<std::uint64_t> take_number(const core::Node& node, const OpenQuestion& question,
                                         std::uint64_t hash) noexcept {
  ActiveTurn* const active = active_turn(node);
  if (!active) return std::nullopt;
  const bool is_approval = question.kind == QuestionKind::approval;
  const auto found = std::find_if(active->questions.begin(), active->questions.end(), [&](const auto& one) {
    return one.is_approval == is_approval && one.call_id == question.call_id &&
           one.hash.value_or(hash) == hash;
  });
  if (found == active->questions.end()) return std::nullopt;
  const std::uint64_t number = found->number;
  active->questions.erase(found);
  return number;
}

}  // namespace

void QuestionDesk::on_ask(const Operation& operation, Question question,
                          std::function<void(const Answer&)> closed) {
  core::Node& node = *operation.node;
  if (operation.over || !is_admitted_now(operation)) return refuse(closed);
  const bool asked = context_.engine.guarded("a question", [&] {
    AskedQuestion made;
    made.operation = operation.id;
    made.question.call_id = operation.call->names.id;
    made.question.window_id = operation.call->names.window_id;
    made.question.tool = operation.call->names.tool;
    made.question.text = std::move(question.text);
    made.question.choices = std::move(question.choices);
    made.closed = closed;
    ask(node, std::move(made), question.timeout.value_or(context_.limits.question_timeout));
  });
  if (!asked) refuse(closed);  // there was no memory to ask
}

void QuestionDesk::refuse(const std::function<void(const Answer&)>& closed) noexcept {
  if (context_.hub.closed()) return;
  tools::contain(context_.engine, "a question's callback", [&] { closed({QuestionOutcome::cancelled, {}}); });
}

void QuestionDesk::ask(core::Node& node, AskedQuestion question, Duration timeout) {
  question.question.agent_id = context_.table.names().name_of(node, node.id());
  question.agent = node.id();
  question.turn = context_.operations[question.operation].turn;
  question.hash = question_hash(question.question);
  const std::optional<std::uint64_t> number = take_number(node, question.question, question.hash);
  AskedQuestion& asked = questions_.add(std::move(question), number);
  try {
    asked.clock = loop::WaitClock(timeout, [this, id = asked.question.id] { on_timeout(id); });
    if (!core::paused_by(node)) asked.clock.run(context_.engine);
  } catch (...) {  // a question must not stay open without its time-out
    static_cast<void>(questions_.take(asked.question.id));
    throw;
  }
  context_.listener.on_waiting(node);
  context_.hub.emit(node, [&](Agent agent) {
    return QuestionAsked{std::move(agent), asked.turn, asked.question};
  });
}

bool QuestionDesk::run(loop::PollBudget& budget) {
  return questions_.visit_some(budget, [this](AskedQuestion& asked) {
    const core::Node* const node = context_.find(asked.agent);
    if (node && core::paused_by(*node))
      asked.clock.halt(context_.engine);
    else
      asked.clock.run(context_.engine);
  });
}

// A loop that is late may read the timer before an answer that was posted in time. So the question times out
// after what was posted until now. Without memory for that it times out at once.
void QuestionDesk::on_timeout(const std::string& question_id) noexcept {
  const AskedQuestion* const asked = questions_.find(question_id);
  const core::Node* const node = asked ? context_.find(asked->agent) : nullptr;
  const bool posted = node && context_.engine.guarded("a question's time-out", [&] {
    // The agent's handle keeps this object.
    context_.engine.post([this, question_id, keep = context_.hub.handle(*node)] { expire(question_id); });
  });
  if (!posted) expire(question_id);
}

// A pause may have begun that run() has not read yet, or not for this question.
void QuestionDesk::expire(std::string_view question_id) noexcept {
  AskedQuestion* const asked = questions_.find(question_id);
  if (!asked) return;
  const core::Node* const node = context_.find(asked->agent);
  if (node && core::paused_by(*node)) return asked->clock.halt(context_.engine);
  close(*questions_.take(question_id), {QuestionOutcome::timed_out, {}});
}

Errc QuestionDesk::answer(std::string_view question_id, const Answer& answer) {
  const AskedQuestion* const asked = questions_.find(question_id);
  if (!asked) return questions_.was_closed(question_id) ? Errc::question_closed : Errc::question_not_found;
  const core::NodeId agent = asked->agent;
  const core::Node* const node = context_.find(agent);
  if (!node) return Errc::question_closed;
  context_.table.leases().check(*node);
  const core::GateView view = core::look_again(*node, core::generation_of(agent));
  if (!view.open()) return refusal_of(view.effective);
  const Operation* const operation = context_.operations.find(asked->operation);
  if (!operation || !is_admitted_now(*operation)) return Errc::question_closed;  // its turn is ended
  if (close(*questions_.take(question_id), answer)) return Errc::none;
  if (!context_.find(agent)) return Errc::question_closed;
  return refusal_of(core::look_again(*node, core::generation_of(agent)).effective);
}

// Removed from the list: nothing else closes it. True: the tool that asked received this answer.
bool QuestionDesk::close(AskedQuestion question, const Answer& answer) noexcept {
  core::Node* const node = context_.find(question.agent);
  if (!node) return false;
  const AgentAction action(context_, *node);
  const auto is_open = [&] {
    const Operation* const operation = context_.operations.find(question.operation);
    return operation && is_admitted_now(*operation);
  };
  const bool real = is_open();
  context_.listener.on_waiting(*node);
  const QuestionOutcome outcome = real ? answer.outcome : QuestionOutcome::cancelled;
  context_.hub.emit(*node, [&](Agent agent) {
    return QuestionClosed{std::move(agent), question.turn, question.question.id, outcome};
  });
  if (context_.hub.closed()) return false;
  // An observer may have stopped the agent just now: then the answer is not needed any more.
  const bool given = real && is_open();
  const Answer cancelled{QuestionOutcome::cancelled, {}};
  const Answer& passed = given ? answer : cancelled;
  // In a step the callback comes after QuestionClosed. Within a callback answer() has to know at once whether
  // the tool got the answer.
  if (context_.hub.porch.holds() && !context_.hub.porch.is_calling()) try {
      context_.hub.porch.call("a question's callback",
                              [closed = question.closed, passed] { closed(passed); });
      return given;
    } catch (...) {  // there is no memory to keep it: it is called at once
    }
  tools::contain(context_.engine, "a question's callback", [&] { question.closed(passed); });
  return given;
}

void QuestionDesk::close_all(OperationId id) noexcept {
  const core::NodeId agent = context_.operations[id].agent;
  while (auto question = questions_.take_of(agent, id))
    close(std::move(*question), {QuestionOutcome::cancelled, {}});
}

}  // namespace agentcore::detail::turn
