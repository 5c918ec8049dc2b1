// A turn's tool calls: from what the answer asks for to the results in the history.
#include "core/json_depth.hpp"
#include "core/utf8.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/limited.hpp"
#include "turn/turns.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::turn {
namespace {

using nlohmann::json;
using State = PendingCall::State;

std::string seconds(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

// Writes the answer, and for each call that it did not happen: from now on that is replaced by what did.
void Turns::list_calls(core::Node& node, std::vector<tools::AskedCall> asked, std::string words) {
  TurnData& data = data_of(node);
  ActiveTurn& turn = *data.turn;
  ++turn.tool_turns;
  ++data.tool_turns;
  std::vector<ToolCall> calls;
  turn.calls.clear();
  for (tools::AskedCall& one : asked) {
    turn.calls.emplace_back().arguments =
        std::exchange(one.call.arguments, tools::as_object(one.call.arguments));
    calls.push_back(one.call);
  }
  turn.result->action = calls.back();
  std::size_t message = 0;
  if (!turn.simulated) {
    message = data.conversation.act(std::move(words), std::move(calls), data.tool_turns,
                                    std::move(turn.answer.reasoning));
    calls = data.conversation.messages()[message - 1].tool_calls;
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    InteractionStep& step = turn.result->steps.emplace_back();
    step.index = static_cast<std::uint32_t>(i + 1);
    step.turn = turn.tool_turns;
    step.call_id = turn.simulated
                       ? "call_" + std::to_string(data.tool_turns) + "_" + std::to_string(step.index)
                       : calls[i].id;
    step.window_id = asked[i].call.window_id;
    step.action_id = asked[i].action_id;
    step.message = Conversation::not_started;
    turn.calls[i].message = message + i;
    turn.calls[i].step = turn.result->steps.size() - 1;
  }
  turn.result->action->id = turn.result->steps.back().call_id;
}

// Starts as many as may run side by side, in their order. True when all of them have their results.
bool Turns::run_calls(core::Node& node) {
  const std::size_t at_once = std::max<std::size_t>(node.spec->parallel_tools, 1);
  for (;;) {
    ActiveTurn& turn = *active_turn(node);
    std::size_t busy = 0, next = turn.calls.size(), approved = turn.calls.size();
    for (std::size_t i = turn.calls.size(); i-- > 0;) {
      const State state = turn.calls[i].state;
      busy += state == State::asking || state == State::running;
      if (state == State::waiting) next = i;
      if (state == State::approved) approved = i;
    }
    if (approved < turn.calls.size()) {
      if (!run(node, approved)) return false;
    } else if (next < turn.calls.size() && busy < at_once) {
      if (!start(node, next)) return false;
    } else if (busy != 0) {
      return false;  // goes on in on_result(), on_approval() or on_timeout()
    } else {
      break;
    }
  }
  ActiveTurn& turn = *active_turn(node);
  turn.calls.clear();
  turn.phase = Phase::asked;
  if (turn.simulated) complete(node);
  return is_active(node);
}

// Begins one call, or gives it the result that it cannot begin. False: the turn has ended.
bool Turns::start(core::Node& node, std::size_t index) {
  ActiveTurn& turn = *active_turn(node);
  PendingCall& call = turn.calls[index];
  if (std::string why = look_up(node, call); !why.empty()) {
    set_result(node, call, ToolOutcome::not_started, ToolResult::failed(std::move(why)));
    return true;
  }
  if (!call.found.entry.tool->spec.needs_approval) return run(node, index);
  const std::uint32_t slot = open_call(node, index);
  if (!may_go_on(node, turn.epoch)) return false;
  call.state = State::asking;
  ask_approval(node, index, slot);
  return !hub_.closed() && is_active(node);
}

// Why the call cannot be begun, for the model (X31); "" when it can.
std::string Turns::look_up(core::Node& node, PendingCall& call) {
  InteractionStep& step = active_turn(node)->result->steps[call.step];
  call.found = tools::registry_of(node.spec->tools).find(step.window_id, step.action_id);
  if (!call.found.error.empty()) return call.found.error;
  json arguments;
  std::string why = tools::parse_arguments(call.arguments, arguments);
  if (!why.empty()) return why;
  // From here on everybody sees what the tool will get, not what the model wrote.
  call.arguments = arguments.dump();
  why = call.found.entry.schema->check(arguments);
  const bool in_background =
      call.found.entry.tool->spec.mode == ToolMode::async && node.spec->background_tasks > 0;
  step.resolved_mode = in_background ? ToolMode::async : ToolMode::sync;
  return why;
}

// Registers the call, before anything of it begins (I1).
std::uint32_t Turns::open_call(core::Node& node, std::size_t index) {
  ActiveTurn& turn = *active_turn(node);
  const InteractionStep& step = turn.result->steps[turn.calls[index].step];
  auto info = std::make_unique<FlightInfo>(FlightInfo{step.call_id, step.window_id, step.action_id});
  const std::uint32_t slot =
      flights_.open(node, Flight::Kind::tool_call, turn.epoch, node.turns, std::move(info));
  turn.calls[index].flight = slot + 1;
  return slot;
}

// Runs a call that may begin. False: the turn has ended.
bool Turns::run(core::Node& node, std::size_t index) {
  ActiveTurn& turn = *active_turn(node);
  const std::uint64_t number = node.turns;
  PendingCall& call = turn.calls[index];
  InteractionStep& step = turn.result->steps[call.step];
  if (step.resolved_mode == ToolMode::async) return start_task(node, index);
  const std::uint32_t slot = call.flight ? call.flight - 1 : open_call(node, index);
  const std::uint32_t epoch = turn.epoch;
  call.told = true;
  hub_.tell(node, [&](Agent agent) {
    return ToolStarted{std::move(agent), number,         step.call_id,
                       step.window_id,   step.action_id, call.arguments};
  });
  // Asked again now that the call can be found: a stopper either finds it, or is seen here.
  if (!may_go_on(node, epoch)) return false;
  // All that needs memory comes first: once a call is `running`, its tool is started.
  const std::shared_ptr<const Tool> tool = call.found.entry.tool;
  json arguments;
  static_cast<void>(tools::parse_arguments(call.arguments, arguments));
  auto completion = tools::make_completion(scope_of(node, slot, *tool));
  std::string message(Conversation::interrupted);
  if (!turn.simulated) data_of(node).conversation.set_result(call.message, message);
  step.message = std::move(message);
  step.outcome = ToolOutcome::interrupted;
  call.state = State::running;

  tools::start_call(*tool, arguments, completion);
  if (engine_.closed()) hub_.close();
  return !hub_.closed() && is_active(node) && may_go_on(node, epoch);
}

std::shared_ptr<tools::CallScope> Turns::scope_of(core::Node& node, std::uint32_t slot, const Tool& tool) {
  Flight& flight = flights_[slot];
  auto scope = std::make_shared<tools::CallScope>(tools::CallScope{engine_.shared_from_this(),
                                                                   this,
                                                                   {slot, flight.serial},
                                                                   hub_.handle(node),
                                                                   flight.info->id,
                                                                   flight.turn,
                                                                   flight.stop.get_token(),
                                                                   TimePoint::max(),
                                                                   limits_.max_result_bytes});
  const Duration timeout = tool.spec.timeout.value_or(limits_.tool_timeout);
  if (timeout > Duration::zero()) {
    scope->deadline = loop::later(engine_.now(), timeout);
    const std::uint64_t timer = engine_.start_timer(
        scope->deadline,
        [this, slot, serial = flight.serial, timeout] { on_timeout(slot, serial, timeout); });
    flight.info->timer = Timer(engine_.weak_from_this(), timer);
  }
  return scope;
}

// The call of the turn that is under way which has that flight, or null.
PendingCall* Turns::pending(core::Node& node, std::uint32_t slot) noexcept {
  ActiveTurn* const turn = active_turn(node);
  if (!turn) return nullptr;
  const auto found = std::find_if(turn->calls.begin(), turn->calls.end(),
                                  [&](const PendingCall& call) { return call.flight == slot + 1; });
  return found == turn->calls.end() ? nullptr : &*found;
}

void Turns::on_progress(const tools::CallScope& call, std::string text) {
  Flight* const flight = find(call.key.slot, call.key.serial);
  if (!flight || flight->over) return;
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  if (!core::look(node, core::generation_of(flight->agent)).open()) return;
  hub_.tell(node, [&](Agent agent) {
    return ToolProgress{std::move(agent), call.turn, flight->info->id,
                        limited(std::move(text), limits_.max_result_bytes)};
  });
}

void Turns::on_result(const tools::CallScope& call, ToolResult result) {
  if (hub_.closed() || engine_.closed()) return;
  Flight* const flight = flights_.find(call.key.slot, call.key.serial);
  core::Node* const node = flight ? flight->node : table_.find(core::AgentAccess::node(call.agent));
  if (!node) return;
  const Entered entered(*this, *node);
  const bool fits = engine_.guarded("a tool's result", [&] {
    if (result.data.size() > limits_.max_result_bytes || !core::is_utf8(result.data) ||
        core::json_depth(result.data) > core::max_json_depth)
      result = ToolResult::failed(
          "the tool's data is no UTF-8, nested too deep, or longer than TreeOptions::max_tool_result_bytes");
  });
  if (!fits) result = {.success = false};  // no memory for more
  if (!flight) {                           // it was given up
    if (result.success) discard(*node, call.turn, 0, "tool result");
    return;
  }
  if (flight->kind == Flight::Kind::background)
    end_task(*node, call.key.slot, std::move(result));
  else
    attempt(*node, [&] { end_call(*node, call.key.slot, std::move(result)); });
  if (hub_.closed()) return;
  // If end_call() threw, it may have left the flight open.
  if (flights_.find(call.key.slot, call.key.serial)) flights_.close(call.key.slot);
  owner_.let_go(*node);
}

// A tool has let go.
void Turns::end_call(core::Node& node, std::uint32_t slot, ToolResult result) {
  const std::uint64_t number = flights_[slot].turn;
  const std::uint32_t epoch = flights_[slot].epoch;
  const std::string window_id = std::move(flights_[slot].info->window_id);
  PendingCall* call = nullptr;
  const auto counts = [&] {
    call = pending(node, slot);
    return call && core::admits(node, node.load().generation(), epoch);
  };
  flights_[slot].over = true;  // it asks nothing any more
  close_questions(slot);
  if (hub_.closed()) return;
  if (counts() && node.spec->tools) {  // else an observer may have stopped it just now
    node.spec->tools->impl().follow_up(engine_, hub_.handle(node), window_id, result);
    if (engine_.closed()) hub_.close();
    if (hub_.closed()) return;
  }
  flights_.close(slot);
  if (counts()) {
    call->flight = 0;
    set_result(node, *call, ToolOutcome::completed, result);
    if (!hub_.closed() && may_go_on(node, epoch)) advance(node);
    return;
  }
  if (call) {
    call->flight = 0;
    interrupt(node);
  }
  if (!hub_.closed() && result.success) discard(node, number, 0, "tool result");
}

// Cuts the texts of a result to TreeOptions::max_tool_result_bytes. Without memory for that they become
// empty.
void Turns::limit(ToolResult& result) const noexcept {
  for (std::string* const text : {&result.message, &result.summary}) try {
      *text = limited(std::move(*text), limits_.max_result_bytes);
    } catch (const std::bad_alloc&) {
      text->clear();
    }
}

// What became of a call: in the history, in the turn's steps, and told if its beginning was.
void Turns::set_result(core::Node& node, PendingCall& call, ToolOutcome outcome, ToolResult result) {
  TurnData& data = data_of(node);
  InteractionStep& step = data.turn->result->steps[call.step];
  limit(result);
  std::string text = tools::text_of(result), message = result.message, summary = result.summary;
  data.turn->result->action_result = result;
  // From here on it needs no memory.
  call.state = State::done;
  step.outcome = outcome;
  step.success = result.success;
  step.message = std::move(message);
  step.summary = std::move(summary);
  if (!data.turn->simulated) data.conversation.set_result(call.message, std::move(text));
  if (!call.told) return;
  hub_.tell(node, [&](Agent agent) {
    return ToolEnded{std::move(agent), node.turns, step.call_id, outcome, result};
  });
}

// Its time is over: it is told to end, and the turn goes on without it.
void Turns::on_timeout(std::uint32_t slot, std::uint64_t serial, Duration timeout) {
  Flight* const flight = find(slot, serial);
  if (!flight || flight->over) return;
  core::Node& node = *flight->node;
  const Entered entered(*this, node);
  const std::uint32_t epoch = flight->epoch;
  ToolResult result{.success = false};
  engine_.guarded("a tool's time-out", [&] {
    result.message = "timed out after " + seconds(timeout) + "; its effect is unknown";
  });
  if (flight->kind == Flight::Kind::background) return end_late_task(node, slot, result);
  flight->over = true;
  PendingCall* const call = pending(node, slot);
  flights_.cut(slot);
  close_questions(slot);
  if (!call || hub_.closed() || !may_go_on(node, epoch) || pending(node, slot) != call) return;
  call->flight = 0;
  attempt(node, [&] {
    set_result(node, *call, ToolOutcome::interrupted, result);
    if (!hub_.closed() && may_go_on(node, epoch)) advance(node);
  });
  if (!hub_.closed()) owner_.let_go(node);
}

// The turn has ended: what of it runs is told to end, what waits for a person is closed.
void Turns::cancel_calls(core::Node& node, std::uint64_t turn, const std::vector<PendingCall>& calls,
                         const InteractionResult& result) noexcept {
  for (const PendingCall& call : calls)
    if (call.flight) flights_[call.flight - 1].over = true;
  for (const PendingCall& call : calls) {
    if (!call.flight) continue;
    flights_.cut(call.flight - 1);
    close_questions(call.flight - 1);
    if (hub_.closed()) return;
    if (call.state != State::running) flights_.close(call.flight - 1);  // nothing of it has begun
  }
  for (const PendingCall& call : calls) {
    if (!call.told || call.state == State::done) continue;
    const InteractionStep& step = result.steps[call.step];
    log(LogLevel::info, "Tool execution was cancelled",
        {{"agent", name_of(node)}, {"tool", step.action_id}, {"outcome", to_string(step.outcome)}});
    hub_.tell(node, [&](Agent agent) {
      return ToolEnded{std::move(agent), turn, step.call_id, step.outcome, ToolResult::failed(step.message)};
    });
    if (hub_.closed()) return;
  }
}

}  // namespace agentcore::turn
