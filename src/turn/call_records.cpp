#include "turn/call_records.hpp"

#include "core/message_items.hpp"
#include "core/text_hash.hpp"
#include "tools/arguments.hpp"
#include "tools/protocol.hpp"
#include "turn/limited.hpp"

#include <memory>
#include <new>
#include <utility>

namespace agentcore::detail::turn {

namespace {

std::size_t size_of(const std::vector<ContentPart>& parts) noexcept {
  std::size_t bytes = 0;
  for (const ContentPart& part : parts)
    bytes +=
        part.url.size() + part.data.size() + part.media_type.size() + part.detail.size() + part.name.size();
  return bytes;
}

}  // namespace

void CallRecords::list(Turn turn, std::vector<tools::AskedCall> asked, std::string words) {
  TurnData& data = turn.data();
  ActiveTurn& active = turn.active();
  ++active.tool_turns;
  ++data.tool_turns;
  std::vector<ToolCall> calls;
  active.calls.clear();
  for (tools::AskedCall& one : asked) {
    active.calls.emplace_back().arguments =
        std::exchange(one.call.arguments, tools::as_object(one.call.arguments));
    calls.push_back(one.call);
  }
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
    active.calls[i].message = message + i;
    active.calls[i].step = active.result->calls.size() - 1;
    context_.claims.add({turn.node().id(), step.call_id}, turn.node(), turn.epoch());
  }
  last_call->id = active.result->calls.back().call_id;
}

ToolOutcome CallRecords::outcome_of(const PendingCall& call, Result result) noexcept {
  if (call.has_begun()) return result == Result::given ? ToolOutcome::completed : ToolOutcome::interrupted;
  return call.begun_before ? ToolOutcome::interrupted : ToolOutcome::not_started;
}

// Without memory for the texts it stays `interrupted`, in the history and in the turn's result.
void CallRecords::withdraw(Turn turn) noexcept {
  for (PendingCall& call : turn.active().calls) {
    if (call.state != PendingCall::State::running) continue;
    if (outcome_of(call, Result::none) != ToolOutcome::not_started) continue;
    context_.engine.guarded("a call that has not begun", [&] {
      ToolCallRecord& step = step_of(turn, call);
      std::string message(Conversation::not_started), text = message;
      step.message = std::move(message);
      step.outcome = ToolOutcome::not_started;
      if (!turn.active().simulated) turn.data().conversation.set_result(call.message, std::move(text), {});
    });
  }
}

CallRecords::UnknownEffect::UnknownEffect()
    : in_history(Conversation::interrupted), in_record(Conversation::interrupted) {
}

void CallRecords::set_begun(Turn turn, PendingCall& call, UnknownEffect&& unknown) noexcept {
  ToolCallRecord& step = step_of(turn, call);
  if (!turn.active().simulated)
    turn.data().conversation.set_result(call.message, std::move(unknown.in_history),
                                        {.outcome = ToolOutcome::interrupted});
  step.message = std::move(unknown.in_record);
  step.outcome = ToolOutcome::interrupted;
  call.state = PendingCall::State::running;
}

void CallRecords::set_result(Turn turn, PendingCall& call, ToolOutcome outcome, ToolResult result,
                             bool by_host) {
  ActiveTurn& active = turn.active();
  ToolCallRecord& step = step_of(turn, call);
  limit(result);
  std::string message = result.message, summary = result.summary;
  std::vector<MessageItem> items = ChatMessage::tool_result({}, tools::text_of(result), result.parts).items;
  if (call.step + 1 == active.result->calls.size())
    active.result->last_result = std::make_shared<const ToolResult>(result);
  // From here on no memory is needed.
  call.state = PendingCall::State::done;
  call.ends_turn = result.success && result.end_turn;
  step.outcome = outcome;
  step.success = result.success;
  step.by_host = by_host;
  step.message = std::move(message);
  step.summary = std::move(summary);
  if (!active.simulated)
    turn.data().conversation.set_result(call.message, std::move(items),
                                        {outcome, outcome == ToolOutcome::completed && result.success});
  if (!call.start_emitted) return;
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolEnded{std::move(agent), turn.number(), step.call_id, outcome, result, by_host};
  });
}

void CallRecords::emit_start(Turn turn, PendingCall& call) {
  call.start_emitted = true;
  const ToolCallRecord& step = step_of(turn, call);
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolStarted{std::move(agent), turn.number(), step.call_id,
                       step.window_id,   step.tool,     call.arguments};
  });
}

void CallRecords::refuse(Turn turn, PendingCall& call, std::string reason) {
  write_refusal(turn, call, std::move(reason));
  emit_refusal(turn, call);
}

void CallRecords::write_refusal(Turn turn, PendingCall& call, std::string reason) {
  if (call.begun_before)
    reason += "; it may have begun before the program was restarted, and its effect is unknown";
  set_result(turn, call, outcome_of(call, Result::none), ToolResult::failed(std::move(reason)));
}

void CallRecords::emit_refusal(Turn turn, const PendingCall& call) {
  const ToolCallRecord& record = step_of(turn, call);
  context_.hub.emit(turn.node(), [&](Agent agent) {
    return ToolRefused{std::move(agent), turn.number(),  record.call_id, record.window_id,
                       record.tool,      call.arguments, record.message};
  });
}

std::uint64_t CallRecords::request_of(const ToolCallRecord& step, const PendingCall& call) {
  return core::text_hash(step.window_id + '\0' + step.tool + '\0' + call.arguments);
}

void CallRecords::limit(ToolResult& result) const noexcept {
  if (size_of(result.parts) > context_.limits.max_message_bytes) try {
      result = ToolResult::failed(
          "the parts of the result are longer together than TreeOptions::max_message_bytes");
    } catch (const std::bad_alloc&) {
      result = {.success = false};
    }
  for (std::string* const text : {&result.message, &result.summary}) try {
      *text = limited(std::move(*text), context_.limits.max_result_bytes);
    } catch (const std::bad_alloc&) {
      text->clear();
    }
}

}  // namespace agentcore::detail::turn
