#include "turn/turn_restorer.hpp"

#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/tool_calls.hpp"
#include "turn/turn_ends.hpp"
#include "turn/turn_runner.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace agentcore::detail::turn {

// One call of the turn, as the conversation and the record have it.
struct FoundCall {
  const ToolCall* call;
  StoredCall stored;
  std::size_t result;   // the position of its result in the conversation
  std::uint32_t round;  // as in ToolCallRecord
  std::uint32_t index;
};

namespace {

using State = Call::State;

// Arguments that are no object: the model reads that they cannot be read.
constexpr std::string_view unreadable_arguments = "(not kept)";

// The calls of the turn with which the conversation ends. A call that the record does not have may have
// begun.
std::vector<FoundCall> calls_of(const Conversation& conversation, const StoredTurn& stored) {
  std::vector<FoundCall> found;
  if (conversation.turns().empty()) return found;
  const std::vector<ChatMessage>& messages = conversation.messages();
  std::uint32_t round = 0;
  for (std::size_t i = conversation.turns().back().question; i < messages.size(); ++i) {
    std::uint32_t index = 0;
    if (!messages[i].tool_calls().empty()) ++round;
    for (const ToolCall& call : messages[i].tool_calls()) {
      const bool is_known = found.size() < stored.calls.size();
      found.push_back({&call, is_known ? stored.calls[found.size()] : StoredCall{.state = State::running},
                       i + 1 + index, round, index + 1});
      ++index;
    }
  }
  return found;
}

// The words of the last answer, which has calls.
std::string last_words(const Conversation& conversation) {
  const std::vector<ChatMessage>& messages = conversation.messages();
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const ChatMessage& message) { return !message.tool_calls().empty(); });
  return last == messages.rend() ? std::string() : last->content();
}

tools::Found tool_of(const AgentSpec& spec, const ToolCall& call) {
  const ToolRegistry::Impl& registry = tools::registry_of(spec.tools);
  const tools::AskedCall asked = tools::resolve(registry, call);
  return registry.find(asked.call.window_id, asked.action_id);
}

// As in ToolCallRecord::tool.
std::string name_of_tool(const AgentSpec& spec, const ToolCall& call) {
  return tools::resolve(tools::registry_of(spec.tools), call).action_id;
}

bool is_safe(const tools::Found& tool) noexcept {
  return tool.error.empty() && tool.entry.tool->spec.replay == ToolReplay::safe;
}

// True if the call had begun when the process ended, as far as the record tells.
bool had_begun(const StoredCall& call) noexcept {
  return call.state == State::running || (call.state != State::done && (call.may_begin || call.begun_before));
}

// True if the call began before an earlier restart, as far as is known, and waits to be made again. A safe
// tool may be called twice.
bool waits_again(const StoredCall& call, const tools::Found& tool) noexcept {
  return call.state == State::waiting && call.begun_before && !call.may_begin && is_safe(tool);
}

// True if the call may have begun. A safe tool begins without the store; and of one that is not known any
// more, nothing is known.
bool may_have_begun(const StoredCall& call, const tools::Found& tool) noexcept {
  return call.state != State::done && (had_begun(call) || !tool.error.empty() || is_safe(tool));
}

bool has_question(const StoredTurn& turn, const std::string& call_id) noexcept {
  return std::any_of(turn.questions.begin(), turn.questions.end(),
                     [&](const RestoredQuestion& question) { return question.call_id == call_id; });
}

}  // namespace

const std::string& TurnRestorer::identify(const std::string& stored) {
  if (!stored.empty()) context_.identity = stored;
  return context_.own_identity();
}

bool TurnRestorer::waits_for_people(const core::Node& node, const StoredTurn& stored) {
  if (!node.data || stored.questions.empty()) return false;
  std::size_t asking = 0;
  bool any_behind = false;
  for (const FoundCall& found : calls_of(static_cast<const TurnData&>(*node.data).conversation, stored)) {
    if (found.stored.state == State::done) continue;
    if (has_question(stored, found.call->id)) {
      if (found.stored.state != State::asking && !is_safe(tool_of(*node.spec, *found.call))) return false;
      ++asking;
    } else if (had_begun(found.stored)) {
      if (!waits_again(found.stored, tool_of(*node.spec, *found.call))) return false;
      any_behind = true;
    }
  }
  // As in ToolCalls::run_next(): no further call begins before a person has answered.
  const std::size_t at_once = std::max<std::size_t>(node.spec->limits.parallel_tools, 1);
  return asking != 0 && (!any_behind || asking >= at_once);
}

std::vector<InterruptedCall> TurnRestorer::end(core::Node& node, const StoredTurn& stored) {
  std::vector<InterruptedCall> interrupted;
  if (!stored.asked || !node.data) return interrupted;
  Conversation& conversation = data_of(node).conversation;
  for (const FoundCall& found : calls_of(conversation, stored)) {
    if (found.stored.state == State::done) continue;
    if (!may_have_begun(found.stored, tool_of(*node.spec, *found.call))) continue;
    interrupted.push_back({found.call->id, name_of_tool(*node.spec, *found.call)});
    conversation.set_result(found.result, std::string(Conversation::unknown),
                            {.outcome = ToolOutcome::interrupted});
  }
  conversation.reopen();
  conversation.interrupt(Interruption::interrupted);
  return interrupted;
}

std::vector<InterruptedCall> TurnRestorer::resume(core::Node& node, const StoredTurn& stored) {
  TurnData& data = data_of(node);
  data.turn = std::make_unique<ActiveTurn>();
  ActiveTurn& active = *data.turn;
  active.message = stored.message;
  active.epoch = node.load().epoch();
  active.parked = true;
  active.attempt = stored.attempt;
  active.model_calls = stored.model_calls;
  active.repairs = stored.repairs;
  active.unreadable = stored.unreadable;
  active.was_cut_off = stored.was_cut_off;
  active.result->usage = stored.usage;
  active.result->cost = stored.cost;
  active.questions = stored.questions;
  active.deadline = deadline_of(stored);
  if (context_.table.leases().size() != 0) active.lease = context_.table.leases().of(node);
  std::vector<InterruptedCall> interrupted;
  for (const FoundCall& found : calls_of(data.conversation, stored)) add_call(node, found, interrupted);
  if (stored.has_words) active.result->text = last_words(data.conversation);
  data.conversation.reopen();
  // The results of the last answer come last, unless a message was steered since.
  const bool acts =
      !active.calls.empty() && active.calls.back()->message + 1 == data.conversation.messages().size();
  if (!acts) active.clear_calls();
  active.phase = acts ? Phase::acting : Phase::asked;
  return interrupted;
}

std::optional<TurnDeadline> TurnRestorer::deadline_of(const StoredTurn& stored) const {
  if (!stored.deadline) return std::nullopt;
  const loop::Engine& engine = context_.engine;
  const auto limit =
      stored.deadline_of_message ? TurnDeadline::Limit::message : TurnDeadline::Limit::turn_timeout;
  const TimePoint when = loop::restored_deadline(*stored.deadline, engine.clock());
  const bool is_known = stored.allowed > Duration::zero() && when >= TimePoint();
  const TimePoint begun = is_known ? when - stored.allowed : engine.now();
  return TurnDeadline{when, begun, limit, &engine.clock()};
}

void TurnRestorer::add_call(core::Node& node, const FoundCall& found,
                            std::vector<InterruptedCall>& interrupted) {
  TurnData& data = data_of(node);
  ActiveTurn& active = *data.turn;
  StoredCall stored = found.stored;
  if (found.index == 1) {  // the first call of an answer
    active.clear_calls();
    ++active.tool_turns;
  }
  tools::AskedCall asked = tools::resolve(tools::registry_of(node.spec->tools), *found.call);
  const tools::Found tool = tool_of(*node.spec, *found.call);
  bool begun_before = may_have_begun(stored, tool);
  if (stored.state != State::done && had_begun(stored)) {
    const bool replays = is_safe(tool);
    interrupted.push_back({found.call->id, asked.action_id, replays});
    if (!replays) {
      stored = {.outcome = ToolOutcome::interrupted};
      begun_before = false;  // it is over
      data.conversation.set_result(found.result, std::string(Conversation::unknown),
                                   {.outcome = ToolOutcome::interrupted});
    }
  }
  const bool is_done = stored.state == State::done;
  if (!is_done) {
    stored.outcome = begun_before ? ToolOutcome::interrupted : ToolOutcome::not_started;
    data.conversation.set_result(
        found.result, std::string(begun_before ? Conversation::unknown : Conversation::not_started),
        {.outcome = stored.outcome});
  }
  ToolCallRecord& step = active.result->calls.emplace_back();
  step.call_id = found.call->id;
  step.window_id = asked.call.window_id;
  step.tool = asked.action_id;
  step.outcome = stored.outcome;
  step.success = stored.success;
  step.by_host = stored.by_host;
  step.message = tools::message_of(data.conversation.messages()[found.result].content(), step.success);
  step.round = found.round;
  step.index = found.index;
  active.result->last_call = std::make_shared<const ToolCall>(std::move(asked.call));
  const std::shared_ptr<Call>& call = active.calls.emplace_back(std::make_shared<Call>(
      CallNames{step.call_id, step.window_id, step.tool}, node, node.turns, active.epoch));
  call->state = is_done ? State::done : State::waiting;
  call->message = found.result;
  call->step = active.result->calls.size() - 1;
  call->ends_turn = stored.ends_turn;
  call->begun_before = begun_before;
  call->arguments = stored.readable ? found.call->arguments : std::string(unreadable_arguments);
  if (stored.no_arguments) call->arguments.clear();
  context_.call_index.add(call);
  if (is_done) static_cast<void>(context_.call_index.claim(*call));
}

bool TurnRestorer::ask_again(core::Node& node) noexcept {
  bool all_ask = true;
  const AgentAction action(context_, node);
  // The turn goes on later: the caller may end it first.
  const events::Porch::Step step(context_.hub.porch, false);
  runner_.run(node, [&] {
    const Turn turn(node);
    if (const Next next = ends_.watch_deadline(turn); next != Next::proceed) return next;
    return tool_calls_.ask_again(turn, all_ask);
  });
  context_.end_activity(node);
  return all_ask;
}

}  // namespace agentcore::detail::turn
