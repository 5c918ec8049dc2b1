#include "turn/tool_calls.hpp"

#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/background_tasks.hpp"
#include "turn/call_endings.hpp"
#include "turn/permissions.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_port.hpp"
#include "turn/turn_runner.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::turn {
namespace {

using State = PendingCall::State;

// Why a call whose arguments never came does not begin; "" if it may, with {}. `why`: what the schema says of
// {}. A model that was told in this turn, and writes the same call without arguments again, means it.
std::string problem_without_arguments(const TurnResult& result, const ToolCallRecord& call,
                                      const std::string& why) {
  if (!why.empty()) return "the call has no arguments: " + why;
  const auto was_told = [&call](const ToolCallRecord& earlier) {
    return earlier.round < call.round && earlier.tool == call.tool && earlier.window_id == call.window_id &&
           earlier.outcome == ToolOutcome::not_started && earlier.message.ends_with(tools::no_arguments);
  };
  const bool is_told = std::any_of(result.calls.begin(), result.calls.end(), was_told);
  return is_told ? std::string() : std::string(tools::no_arguments);
}

}  // namespace

void ToolCalls::list(Turn turn, std::vector<tools::AskedCall> calls, std::string words) {
  records_.list(turn, std::move(calls), std::move(words));
}

// All results are written before an observer is called: were the turn to end in one, also by a kill after a
// flush(), no call would be left that could begin.
void ToolCalls::refuse_all(Turn turn, const std::string& why) {
  std::vector<PendingCall>& calls = turn.active().calls;
  std::vector<std::size_t> refused;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!context_.claims.claim(CallRecords::key_of(turn, calls[i]))) continue;  // a verb has ended it
    records_.write_refusal(turn, calls[i], why);
    refused.push_back(i);
  }
  for (const std::size_t i : refused) records_.emit_refusal(turn, turn.active().calls[i]);
}

Next ToolCalls::run_next(Turn turn) {
  const std::size_t at_once = std::max<std::size_t>(turn.spec().limits.parallel_tools, 1);
  release_stored(turn);
  std::vector<PendingCall>& calls = turn.active().calls;
  for (PendingCall& call : calls)
    if (call.ending) return endings_.apply(turn, call);
  std::size_t busy = 0, waiting = calls.size(), approved = calls.size();
  for (std::size_t i = calls.size(); i-- > 0;) {
    const State state = calls[i].state;
    busy += state == State::asking || state == State::storing || state == State::running;
    if (state == State::waiting) waiting = i;
    if (state == State::approved) approved = i;
  }
  const bool may_begin = approved < calls.size() || (waiting < calls.size() && busy < at_once);
  if (may_begin && turn.parks(core::Withheld::all)) return Next::wait;
  if (approved < calls.size()) return begin(turn, approved);
  if (waiting < calls.size() && busy < at_once) return start(turn, waiting);
  // It continues in on_result(), on_approval(), on_timeout() or ParkedTurns::go_on().
  if (busy != 0) return Next::wait;
  take_answer(turn);
  turn.active().calls.clear();
  turn.active().phase = Phase::asked;
  return Next::proceed;
}

Next ToolCalls::ask_again(Turn turn, bool& all_ask) {
  const std::uint32_t round = turn.active().tool_turns;
  const std::vector<RestoredQuestion> questions = turn.active().questions;
  std::set<std::string_view> begun;  // the ids of calls
  for (const RestoredQuestion& question : questions) {
    if (!begun.insert(question.call_id).second) continue;
    std::vector<PendingCall>& calls = turn.active().calls;
    const auto call = std::find_if(calls.begin(), calls.end(), [&](const PendingCall& one) {
      return one.state == State::waiting && CallRecords::step_of(turn, one).call_id == question.call_id;
    });
    all_ask = all_ask && call != calls.end();
    if (call == calls.end()) continue;
    const std::uint64_t before = desk_.list().added();
    const auto index = static_cast<std::size_t>(call - calls.begin());
    Next next = start(turn, index, question.is_approval ? Begin::later : Begin::now);
    if (next == Next::proceed && !question.is_approval &&
        turn.active().calls[index].state == State::approved) {
      const core::Withheld withheld = turn.withheld();
      context_.hub.porch.deliver();  // ToolStarted comes before its tool
      // A call that an observer withholds begins in run_next().
      if (turn.is_admitted() && turn.withheld() > withheld) continue;
      next = turn.is_admitted() ? begin(turn, index) : Next::ended;
      if (next == Next::proceed && !turn.is_admitted()) next = Next::ended;
    }
    all_ask = all_ask && desk_.list().added() != before;
    if (next != Next::proceed) return next;
    if (turn.active().tool_turns != round) break;
  }
  return Next::wait;
}

// A commit may have ended since, also one of a flush() by the host's code within this turn. A call that came
// after that commit was made waits for the next one.
void ToolCalls::release_stored(Turn turn) const noexcept {
  events::ChangeListener* const changes = context_.hub.changes;
  for (PendingCall& call : turn.active().calls) {
    if (call.state != State::storing) continue;
    if (!changes || changes->may_begin(turn.node(), CallRecords::step_of(turn, call).call_id))
      call.state = State::approved;
    else
      turn.active().parked = true;
  }
}

// The first result that ends the turn is its answer.
void ToolCalls::take_answer(Turn turn) {
  ActiveTurn& active = turn.active();
  const auto first = std::find_if(active.calls.begin(), active.calls.end(),
                                  [](const PendingCall& call) { return call.ends_turn; });
  if (first == active.calls.end()) return;
  active.result->text = CallRecords::step_of(turn, *first).message;
  active.answer.reasoning.clear();
  active.answer.order.clear();
  active.answer.finish_reason = FinishReason::complete;
  active.tool_ends_turn = true;
}

// Begins one call, asks for its approval, or writes the result that it cannot begin.
Next ToolCalls::start(Turn turn, std::size_t index, Begin when) {
  PendingCall& call = turn.active().calls[index];
  if (is_over(turn, call)) return endings_.apply(turn, call);
  if (std::string why = look_up(turn, call); !why.empty()) return refuse(turn, call, std::move(why));
  if (!turn.is_admitted()) return Next::ended;  // no policy runs behind a closed gate
  Verdict verdict = permissions_.check(turn, call);
  if (!turn.is_admitted()) return Next::ended;
  if (is_over(turn, call)) return endings_.apply(turn, call);
  if (verdict.permission == Permission::allow)
    return when == Begin::now ? begin(turn, index) : Next::proceed;  // else by run_next()
  if (verdict.permission == Permission::ask) return ask_approval(turn, call, std::move(verdict.covers));
  return refuse(turn, call, "denied: " + verdict.reason);
}

// Why the call cannot begin, worded for the model (X31); "" when it can.
std::string ToolCalls::look_up(Turn turn, PendingCall& call) {
  const AgentSpec& spec = turn.spec();
  ToolCallRecord& step = CallRecords::step_of(turn, call);
  call.found = tools::registry_of(spec.tools).find(step.window_id, step.tool);
  if (!call.found.error.empty()) return call.found.error;
  nlohmann::json arguments;
  std::string why = tools::parse_arguments(call.arguments, arguments);
  if (!why.empty()) return why;
  const schema::Schema& schema = *call.found.entry.schema;
  why = display(schema.check(arguments));
  // Without parameters nothing can be missing: many servers send no arguments for {} then.
  const bool is_cut =
      !turn.active().simulated && tools::is_without_arguments(call.arguments) && schema.names_members();
  if (is_cut) why = problem_without_arguments(*turn.active().result, step, why);
  if (is_cut && !why.empty()) return why;
  // From here on observers receive the arguments of the tool, not the text of the model.
  call.arguments = arguments.dump();
  const bool in_background =
      call.found.entry.tool->spec.mode == ToolMode::async && spec.limits.background_tasks > 0;
  step.mode = in_background ? ToolMode::async : ToolMode::sync;
  return why;
}

// Registers the call, before any part of it begins (I1).
OperationId ToolCalls::open(Turn turn, PendingCall& call) {
  const ToolCallRecord& step = CallRecords::step_of(turn, call);
  auto info = std::make_unique<OperationInfo>(OperationInfo{step.call_id, step.window_id, step.tool,
                                                            turn.spec().tools, step.round, step.index,
                                                            CallRecords::request_of(step, call)});
  const OperationId id = context_.operations.open(turn.node(), Operation::Kind::tool_call, turn.epoch(),
                                                  turn.number(), std::move(info));
  context_.claims.set_operation(CallRecords::key_of(turn, call), id, context_.operations[id].stop);
  return id;
}

// False: the call waits until the store has that it begins (Persistence), and the turn is parked: a stop ends
// it as one that a pause has parked. Other calls of the answer go on, and wait for the same commit.
bool ToolCalls::is_stored(Turn turn, PendingCall& call) noexcept {
  events::ChangeListener* const changes = context_.hub.changes;
  if (!changes || call.found.entry.tool->spec.replay != ToolReplay::never) return true;
  if (changes->may_begin(turn.node(), CallRecords::step_of(turn, call).call_id)) return true;
  call.state = State::storing;
  turn.active().parked = true;
  return false;
}

// Starts the tool of a call that may begin.
Next ToolCalls::begin(Turn turn, std::size_t index) {
  PendingCall& call = turn.active().calls[index];
  ToolCallRecord& step = CallRecords::step_of(turn, call);
  if (call.task) return tasks_.begin(turn, index);
  if (is_over(turn, call)) return endings_.apply(turn, call);
  if (!is_stored(turn, call)) return Next::proceed;
  if (step.mode == ToolMode::async)  // the id of the task is the result: the call ends here
    return context_.claims.claim(CallRecords::key_of(turn, call)) ? tasks_.start(turn, index)
                                                                  : endings_.apply(turn, call);
  if (!call.operation) call.operation = open(turn, call);
  const OperationId id = call.operation;
  if (!call.start_emitted) {
    // The tool starts in the next phase, which asks the gates, pauses and verbs again: a stopper either finds
    // the operation, or its closed gate is read then.
    call.state = State::approved;
    records_.emit_start(turn, call);
    return Next::proceed;
  }
  // All allocations come first: once a call is `running`, its tool is started.
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  static_cast<void>(tools::parse_arguments(call.arguments, arguments));
  CallRecords::UnknownEffect unknown;
  // The last one: when a completion is dropped, it needs memory for the result that says so.
  const auto completion = tools::make_completion(port_.scope_of(turn.node(), id, *tool));
  call.begin = completion->scope->begin;
  records_.set_begun(turn, call, std::move(unknown));

  const events::Porch::Beginning beginning(context_.hub.porch);
  tools::start_call(*tool, arguments, completion);
  return Next::proceed;
}

// The call of the present turn that has that operation, or null.
PendingCall* ToolCalls::find(const core::Node& node, OperationId id) noexcept {
  ActiveTurn* const active = active_turn(node);
  if (!active) return nullptr;
  const auto found = std::find_if(active->calls.begin(), active->calls.end(),
                                  [&](const PendingCall& call) { return call.operation == id; });
  return found == active->calls.end() ? nullptr : &*found;
}

bool ToolCalls::has_begun(const Operation& operation) noexcept {
  if (operation.kind == Operation::Kind::background) return operation.info && operation.info->begin;
  const PendingCall* const call = find(*operation.node, operation.id);
  return !call || call->state == State::running;
}

void ToolCalls::on_result(core::Node& node, OperationId id, ToolResult result) {
  const std::uint64_t number = context_.operations[id].turn;
  const std::shared_ptr<core::CallBegin> begin = context_.operations[id].info->begin;
  std::optional<DiscardReason> late;
  runner_.run(node, [&] { return take_result(node, id, result, late); });
  // A call that has not begun has no result that could be dropped.
  if (late && !begin->is_withdrawn()) context_.discard(node, number, 0, LateResult::tool_result, *late);
  // If take_result() threw, the operation may still be registered.
  if (context_.operations.find(id)) context_.operations.close(id);
}

// Sets `late` if no turn takes the result.
Next ToolCalls::take_result(core::Node& node, OperationId id, ToolResult& result,
                            std::optional<DiscardReason>& late) {
  Operation& operation = context_.operations[id];
  const bool in_turn = find(node, id) != nullptr;
  const bool first = in_turn && context_.claims.claim({operation.agent, operation.info->id});
  const bool by_host = context_.claims.has_host_result({operation.agent, operation.info->id});
  const SharedOrBorrowed<ToolRegistry> tools = std::move(operation.info->tools);
  const std::uint64_t number = operation.turn;
  const CallNames names{operation.info->id, operation.info->window_id, operation.info->tool};
  operation.over = true;  // it asks nothing any more
  desk_.close_all(id);
  // An observer may end the turn: checked again after each call into the host's code.
  const auto is_expected = [&] { return first && find(node, id) && Turn(node).is_admitted(); };
  if (result.launch) context_.hub.porch.deliver();  // an observer may end the turn before the launch
  if (is_expected() && tools) context_.follow_up(node, number, *tools, names, result);
  // An observer may have ended the turn, and the operation with it.
  std::optional<DiscardReason> ended_by = DiscardReason::turn_over;
  if (const Operation* const left = context_.operations.find(id)) {
    ended_by = left->late;
    context_.operations.close(id);
  }
  PendingCall* const call = find(node, id);
  if (in_turn && !first && !ended_by)  // a verb was first, and its second half is still to come
    ended_by = by_host ? DiscardReason::completed_by_host : DiscardReason::cancelled;
  if (!first || !call || !Turn(node).is_admitted()) late = ended_by.value_or(why_refused(node));
  if (!call) return Next::wait;
  call->operation = {};
  const Turn turn(node);
  if (!turn.is_admitted()) return Next::ended;
  if (!first) return endings_.apply(turn, *call);
  context_.note_accepted(node);
  records_.set_result(turn, *call, CallRecords::outcome_of(*call, CallRecords::Result::given), result);
  return Next::proceed;
}

void ToolCalls::on_timeout(core::Node& node, OperationId id, const ToolResult& result) {
  Operation& operation = context_.operations[id];
  if (!context_.claims.claim({operation.agent, operation.info->id})) return;  // finish() follows
  operation.end(DiscardReason::timed_out);
  const bool has_begun = operation.info->has_begun();
  context_.operations.cut(id);
  desk_.close_all(id);
  if (!find(node, id)) return;
  runner_.run(node, [&] {
    const Turn turn(node);
    if (!turn.is_admitted()) return Next::ended;
    PendingCall& call = *find(node, id);
    call.operation = {};
    if (!has_begun && context_.operations.find(id)) context_.operations.close(id);  // nothing comes
    records_.set_result(turn, call, CallRecords::outcome_of(call, CallRecords::Result::none), result);
    return Next::proceed;
  });
}

// Asks if this call may run. No part of it begins before the user has approved it. From now on neither its
// tool (PendingCall::found) nor its arguments change: what is approved is what runs.
Next ToolCalls::ask_approval(Turn turn, PendingCall& call, Coverage covers) {
  call.operation = open(turn, call);
  call.state = State::asking;
  const ToolCallRecord& step = CallRecords::step_of(turn, call);
  AskedQuestion asked;
  asked.operation = call.operation;
  asked.question.kind = QuestionKind::approval;
  asked.question.call_id = step.call_id;
  asked.question.window_id = step.window_id;
  asked.question.tool = step.tool;
  asked.question.text = call.arguments;
  asked.closed = [this, id = call.operation](const Answer& answer) { on_approval(id, answer); };
  asked.covers = std::move(covers);
  desk_.ask(turn.node(), std::move(asked), context_.limits.question_timeout);
  return Next::proceed;
}

void ToolCalls::on_approval(OperationId id, const Answer& answer) {
  Operation* const operation = context_.operations.find(id);
  if (!operation || answer.outcome == QuestionOutcome::cancelled) return;
  core::Node& node = *operation->node;
  if (!find(node, id)) return;
  const AgentEntry entry(context_, node);
  runner_.run(node, [&] {
    const Turn turn(node);
    return turn.is_admitted() ? take_approval(turn, *find(node, id), answer) : Next::ended;
  });
  context_.end_activity(node);
}

Next ToolCalls::take_approval(Turn turn, PendingCall& call, const Answer& answer) {
  if (answer.outcome == QuestionOutcome::answered) {
    call.state = State::approved;
    return Next::proceed;
  }
  std::string why = answer.outcome == QuestionOutcome::timed_out ? "nobody approved the call in time"
                    : answer.text.empty()                        ? "the person refused the call"
                                          : "the person refused the call: " + answer.text;
  return refuse(turn, call, std::move(why));
}

// True if the loop or a verb has ended the call.
bool ToolCalls::is_over(Turn turn, const PendingCall& call) const noexcept {
  return context_.claims.is_over(CallRecords::key_of(turn, call));
}

// The tool of the call does not start, unless a verb has ended the call before.
Next ToolCalls::refuse(Turn turn, PendingCall& call, std::string why) {
  if (!context_.claims.claim(CallRecords::key_of(turn, call))) return endings_.apply(turn, call);
  if (call.operation) context_.operations.close(std::exchange(call.operation, {}));
  records_.refuse(turn, call, std::move(why));
  return Next::proceed;
}

void ToolCalls::finish(core::Node& node, std::string_view call_id) noexcept {
  ActiveTurn* const active = active_turn(node);
  if (!active) return;
  const auto found = std::find_if(active->calls.begin(), active->calls.end(), [&](const PendingCall& call) {
    return call.state != State::done && active->result->calls[call.step].call_id == call_id;
  });
  if (found == active->calls.end()) return;
  runner_.run(node, [&] {
    const Turn turn(node);
    return turn.is_admitted() ? endings_.apply(turn, *found) : Next::ended;
  });
}

void ToolCalls::forget(const core::Node& node, std::uint64_t turn) noexcept {
  for (std::size_t dropped = context_.claims.remove_turn(node.id()); dropped != 0; --dropped)
    context_.discard(node, turn, 0, LateResult::tool_result, DiscardReason::turn_over);
}

void ToolCalls::cancel(core::Node& node, std::uint64_t turn, const std::vector<PendingCall>& calls,
                       const TurnResult& result, DiscardReason late) noexcept {
  std::size_t dropped = context_.claims.remove_turn(node.id());  // first: from now on no verb finds them
  for (const PendingCall& call : calls)
    if (call.operation) context_.operations[call.operation].end(late);
  for (const PendingCall& call : calls)
    if (call.task) tasks_.cancel(call.task);
  for (const PendingCall& call : calls) {
    if (!call.operation) continue;
    context_.operations.cut(call.operation);
    desk_.close_all(call.operation);
    // No part of the call has begun: no outcome will come.
    if (!call.has_begun()) context_.operations.close(call.operation);
  }
  for (const PendingCall& call : calls) {
    if (!call.start_emitted || call.state == State::done) continue;
    const ToolCallRecord& step = result.calls[call.step];
    context_.log(
        LogLevel::info, "Tool execution was cancelled",
        {{"agent", context_.name_of(node)}, {"tool", step.tool}, {"outcome", to_string(step.outcome)}});
    ToolResult ended{.success = false};  // without memory for its text
    context_.engine.guarded("the end of a call", [&] { ended.message = step.message; });
    context_.hub.emit(node, [&](Agent agent) {
      return ToolEnded{std::move(agent), turn, step.call_id, step.outcome, std::move(ended)};
    });
  }
  for (const PendingCall& call : calls) dropped += call.ending && call.ending->by_host;
  for (; dropped != 0; --dropped) context_.discard(node, turn, 0, LateResult::tool_result, late);
}

}  // namespace agentcore::detail::turn
