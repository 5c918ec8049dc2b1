#include "turn/tool_calls.hpp"

#include "core/message_items.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/call_ends.hpp"
#include "turn/permissions.hpp"
#include "turn/question_desk.hpp"
#include "turn/tool_port.hpp"
#include "turn/turn_runner.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::turn {
namespace {

using State = Call::State;

std::string new_task_id(loop::Engine& engine) {
  const auto high = static_cast<unsigned long long>(engine.random());
  const auto low = static_cast<unsigned long long>(engine.random());
  char id[38];
  std::snprintf(id, sizeof id, "task_%016llx%016llx", high, low);
  return id;
}

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

// The texts that say so in the history and in the record.
struct ToolCalls::UnknownEffect {
  std::string in_history = std::string(Conversation::interrupted);
  std::string in_record = in_history;
};

void ToolCalls::list(Turn turn, std::vector<tools::AskedCall> asked, std::string words) {
  TurnData& data = turn.data();
  ActiveTurn& active = turn.active();
  ++active.tool_turns;
  ++data.tool_turns;
  std::vector<ToolCall> calls;
  active.clear_calls();
  for (const tools::AskedCall& one : asked)
    calls.emplace_back(one.call).arguments = tools::as_object(one.call.arguments);
  active.result->last_result.reset();
  const auto last_call = std::make_shared<ToolCall>(calls.back());
  active.result->last_call = last_call;
  std::size_t message = 0;
  if (!active.simulated) {
    message = data.conversation.act(core::items_of(std::move(words), std::move(active.answer.reasoning),
                                                   std::move(calls), active.answer.order),
                                    data.tool_turns);
    calls = data.conversation.messages()[message - 1].tool_calls();
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    ToolCallRecord& step = active.result->calls.emplace_back();
    step.index = static_cast<std::uint32_t>(i + 1);
    step.round = active.tool_turns;
    step.call_id = active.simulated
                       ? "call_" + std::to_string(data.tool_turns) + "_" + std::to_string(step.index)
                       : calls[i].id;
    step.window_id = asked[i].call.window_id;
    step.tool = asked[i].action_id;
    step.message = Conversation::not_started;
    const std::shared_ptr<Call>& call = active.calls.emplace_back(std::make_shared<Call>(
        CallNames{step.call_id, step.window_id, step.tool}, turn.node(), turn.number(), turn.epoch()));
    call->arguments = std::move(asked[i].call.arguments);
    call->message = message + i;
    call->step = active.result->calls.size() - 1;
    context_.call_index.add(call);
  }
  last_call->id = active.result->calls.back().call_id;
}

Next ToolCalls::run_next(Turn turn) {
  const std::size_t at_once = std::max<std::size_t>(turn.spec().limits.parallel_tools, 1);
  release_stored(turn);
  const std::vector<std::shared_ptr<Call>>& calls = turn.active().calls;
  for (const std::shared_ptr<Call>& call : calls)
    if (call->takes_ending && call->state != State::done) return ends_.end_by_verb(turn, *call);
  std::size_t busy = 0, waiting = calls.size(), approved = calls.size();
  for (std::size_t i = calls.size(); i-- > 0;) {
    const State state = calls[i]->state;
    busy += state == State::asking || state == State::storing || state == State::running;
    if (state == State::waiting) waiting = i;
    if (state == State::approved) approved = i;
  }
  const bool may_begin = approved < calls.size() || (waiting < calls.size() && busy < at_once);
  if (may_begin && turn.parks(core::Withheld::all)) return Next::wait;
  if (approved < calls.size()) return begin(turn, *calls[approved]);
  if (waiting < calls.size() && busy < at_once) return start(turn, *calls[waiting]);
  // It continues in CallEnds, on_approval() or ParkedTurns::go_on().
  if (busy != 0) return Next::wait;
  take_answer(turn);
  turn.active().clear_calls();
  turn.active().phase = Phase::asked;
  return Next::proceed;
}

Next ToolCalls::ask_again(Turn turn, bool& all_ask) {
  const std::uint32_t round = turn.active().tool_turns;
  const std::vector<RestoredQuestion> questions = turn.active().questions;
  std::set<std::string_view> begun;  // the ids of calls
  for (const RestoredQuestion& question : questions) {
    if (!begun.insert(question.call_id).second) continue;
    const std::vector<std::shared_ptr<Call>>& calls = turn.active().calls;
    const auto found = std::find_if(calls.begin(), calls.end(), [&](const std::shared_ptr<Call>& one) {
      return one->state == State::waiting && one->names.id == question.call_id;
    });
    all_ask = all_ask && found != calls.end();
    if (found == calls.end()) continue;
    const std::shared_ptr<Call> call = (*found)->shared_from_this();
    const std::uint64_t before = desk_.list().added();
    Next next = start(turn, *call, question.is_approval ? Begin::later : Begin::now);
    if (next == Next::proceed && !question.is_approval && call->state == State::approved) {
      const core::Withheld withheld = turn.withheld();
      context_.hub.porch.deliver();  // ToolStarted comes before its tool
      // A call that an observer withholds begins in run_next().
      if (turn.is_admitted() && turn.withheld() > withheld) continue;
      next = turn.is_admitted() ? begin(turn, *call) : Next::ended;
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
  for (const std::shared_ptr<Call>& call : turn.active().calls) {
    if (call->state != State::storing) continue;
    if (!changes || changes->may_begin(turn.node(), call->names.id))
      call->state = State::approved;
    else
      turn.active().parked = true;
  }
}

// The first result that ends the turn is its answer.
void ToolCalls::take_answer(Turn turn) {
  ActiveTurn& active = turn.active();
  const auto first = std::find_if(active.calls.begin(), active.calls.end(),
                                  [](const std::shared_ptr<Call>& call) { return call->ends_turn; });
  if (first == active.calls.end()) return;
  active.result->text = CallEnds::step_of(turn, **first).message;
  active.answer.reasoning.clear();
  active.answer.order.clear();
  active.answer.finish_reason = FinishReason::complete;
  active.tool_ends_turn = true;
}

// Begins one call, asks for its approval, or writes the result that it cannot begin.
Next ToolCalls::start(Turn turn, Call& call, Begin when) {
  if (context_.call_index.is_over(call)) return ends_.end_by_verb(turn, call);
  if (std::string why = look_up(turn, call); !why.empty()) return ends_.refuse(turn, call, std::move(why));
  if (!turn.is_admitted()) return Next::ended;  // no policy runs behind a closed gate
  Verdict verdict = permissions_.check(turn, call);
  if (!turn.is_admitted()) return Next::ended;
  if (context_.call_index.is_over(call)) return ends_.end_by_verb(turn, call);
  if (verdict.permission == Permission::allow)
    return when == Begin::now ? begin(turn, call) : Next::proceed;  // else by run_next()
  if (verdict.permission == Permission::ask) return ask_approval(turn, call, std::move(verdict.covers));
  return ends_.refuse(turn, call, "denied: " + verdict.reason);
}

// Why the call cannot begin, worded for the model (X31); "" when it can.
std::string ToolCalls::look_up(Turn turn, Call& call) {
  const AgentSpec& spec = turn.spec();
  ToolCallRecord& step = CallEnds::step_of(turn, call);
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
OperationId ToolCalls::open(Turn turn, Call& call) {
  const OperationId id = context_.operations.open(turn.node(), Operation::Kind::tool_call, turn.epoch(),
                                                  turn.number(), call.shared_from_this());
  call.tools = turn.spec().tools;
  context_.call_index.set_stop(call, context_.operations[id].stop);
  return id;
}

// False: the call waits until the store has that it begins (Persistence), and the turn is parked: a stop ends
// it as one that a pause has parked. Other calls of the answer go on, and wait for the same commit.
bool ToolCalls::is_stored(Turn turn, Call& call) noexcept {
  events::ChangeListener* const changes = context_.hub.changes;
  if (!changes || call.found.entry.tool->spec.replay != ToolReplay::never) return true;
  if (changes->may_begin(turn.node(), call.names.id)) return true;
  call.state = State::storing;
  turn.active().parked = true;
  return false;
}

// Starts the tool of a call that may begin.
Next ToolCalls::begin(Turn turn, Call& call) {
  if (call.task) return begin_task(turn, call);
  if (context_.call_index.is_over(call)) return ends_.end_by_verb(turn, call);
  if (!is_stored(turn, call)) return Next::proceed;
  if (CallEnds::step_of(turn, call).mode == ToolMode::async)  // the id of the task is the result
    return context_.call_index.claim(call) ? start_task(turn, call) : ends_.end_by_verb(turn, call);
  if (!call.operation) call.operation = open(turn, call);
  if (!call.start_emitted) {
    // The tool starts in the next phase, which asks the gates, pauses and verbs again: a stopper either finds
    // the operation, or its closed gate is read then.
    call.state = State::approved;
    ends_.emit_start(turn, call);
    return Next::proceed;
  }
  // All allocations come first: once a call is `running`, its tool is started.
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  static_cast<void>(tools::parse_arguments(call.arguments, arguments));
  UnknownEffect unknown;
  // The last one: when a completion is dropped, it needs memory for the result that says so.
  const auto completion = tools::make_completion(port_.scope_of(turn, call, call));
  call.begin = completion->scope->begin;
  set_begun(turn, call, std::move(unknown));

  const events::Porch::Beginning beginning(context_.hub.porch);
  tools::start_call(*tool, arguments, completion);
  return Next::proceed;
}

// Starts a claimed call in the background (L2-L4). `proceed`: begin_task() is next.
Next ToolCalls::start_task(Turn turn, Call& call) {
  Operations& operations = context_.operations;
  SharedOrBorrowed<ToolRegistry> tools = turn.spec().tools;
  if (call.operation) {  // of its approval: the registry may have been replaced since
    tools = call.tools;
    operations.close(std::exchange(call.operation, {}));
  }
  std::size_t running = 0;
  operations.for_each(turn.node(), [&](const Operation& operation) {
    running += operation.kind == Operation::Kind::background;
  });
  if (running >= turn.spec().limits.background_tasks) {
    ends_.end(turn, call, CallEnd::refused,
              ToolResult::failed("too many background tasks: " + std::to_string(running) +
                                 " are running; wait until one has ended"));
    return Next::proceed;
  }
  const auto task =
      std::make_shared<Call>(CallNames{new_task_id(context_.engine), call.names.window_id, call.names.tool},
                             turn.node(), turn.number(), std::nullopt);
  const OperationId id =
      operations.open(turn.node(), Operation::Kind::background, turn.epoch(), turn.number(), task);
  try {
    context_.call_index.add(task);
  } catch (...) {  // nothing was emitted
    operations.close(id);
    throw;
  }
  task->operation = id;
  task->tools = std::move(tools);
  context_.call_index.set_stop(*task, operations[id].stop);
  call.task = task;
  call.state = Call::State::approved;
  ends_.emit_state(*task, TaskState::started, {});
  return Next::proceed;
}

// Starts the tool of the task, unless a verb has cancelled it.
Next ToolCalls::begin_task(Turn turn, Call& call) {
  const std::shared_ptr<Call> task = std::exchange(call.task, {});
  const OperationId id = task->operation;
  if (context_.operations.find(id) && context_.call_index.is_over(*task)) ends_.drop_task(*task);
  if (!context_.operations.find(id)) {  // a verb has cancelled it
    ends_.end(turn, call, CallEnd::task_cancelled,
              ToolResult::failed("not started: the task was cancelled before it began"));
    return Next::proceed;
  }
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  nlohmann::json arguments;
  std::shared_ptr<tools::Completion> completion;
  try {
    static_cast<void>(tools::parse_arguments(call.arguments, arguments));
    completion = record_start(turn, call, *task);
  } catch (...) {
    ends_.cancel_task(*task);
    throw;
  }
  const events::Porch::Beginning beginning(context_.hub.porch);
  tools::start_call(*tool, arguments, completion);
  return Next::proceed;
}

// Writes the id of the task as the call's result. Makes all allocations for its start.
std::shared_ptr<tools::Completion> ToolCalls::record_start(Turn turn, Call& call, Call& task) {
  auto completion = tools::make_completion(port_.scope_of(turn, call, task));
  CallEnds::step_of(turn, call).task_id = task.names.id;
  task.in_history = !turn.active().simulated;
  ends_.end(turn, call, CallEnd::in_background,
            ToolResult::done("async task started: " + task.names.id,
                             R"({"status":"started","task_id":")" + task.names.id + R"("})"));
  task.begin = completion->scope->begin;
  return completion;
}

// The tool of the call is about to start: until its result comes, the effect of the call is unknown.
void ToolCalls::set_begun(Turn turn, Call& call, UnknownEffect&& unknown) noexcept {
  ToolCallRecord& step = CallEnds::step_of(turn, call);
  if (!turn.active().simulated)
    turn.data().conversation.set_result(call.message, std::move(unknown.in_history),
                                        {.outcome = ToolOutcome::interrupted});
  step.message = std::move(unknown.in_record);
  step.outcome = ToolOutcome::interrupted;
  call.state = State::running;
}

bool ToolCalls::has_begun(const Operation& operation) noexcept {
  const Call& call = *operation.call;
  if (call.is_task()) return call.begin != nullptr;
  return call.operation != operation.id || call.state == State::running;
}

// Asks if this call may run. No part of it begins before the user has approved it. From now on neither its
// tool (Call::found) nor its arguments change: what is approved is what runs.
Next ToolCalls::ask_approval(Turn turn, Call& call, Coverage covers) {
  call.operation = open(turn, call);
  call.state = State::asking;
  AskedQuestion asked;
  asked.operation = call.operation;
  asked.question.kind = QuestionKind::approval;
  asked.question.call_id = call.names.id;
  asked.question.window_id = call.names.window_id;
  asked.question.tool = call.names.tool;
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
  const std::shared_ptr<Call> call = operation->call;
  if (!is_waited_for(*call, id)) return;
  const AgentEntry entry(context_, node);
  runner_.run(node, [&] {
    const Turn turn(node);
    return turn.is_admitted() ? take_approval(turn, *call, answer) : Next::ended;
  });
  context_.end_activity(node);
}

Next ToolCalls::take_approval(Turn turn, Call& call, const Answer& answer) {
  if (answer.outcome == QuestionOutcome::answered) {
    call.state = State::approved;
    return Next::proceed;
  }
  std::string why = answer.outcome == QuestionOutcome::timed_out ? "nobody approved the call in time"
                    : answer.text.empty()                        ? "the person refused the call"
                                          : "the person refused the call: " + answer.text;
  return ends_.refuse(turn, call, std::move(why));
}

}  // namespace agentcore::detail::turn
