#include "console/events/event_json.hpp"

#include "console/events/agent_json.hpp"

#include <string_view>
#include <variant>

namespace agentcore::detail::console {
namespace {

// Arguments and results of tools may be large. The conversation has all of them.
constexpr std::size_t shown_bytes = 4096;

std::string_view shown(std::string_view text) noexcept {
  return text.substr(0, shown_bytes);
}

Json with_origin(Json json, StopCause cause, const StopOrigin& origin) {
  json.set("cause", to_string(cause));
  json.set("caller", origin.caller());
  json.set("reason", origin.reason());
  return json;
}

// One function for each type of event. An event without a function is not sent.
struct ToJson {
  template <typename T>
  Json operator()(const T& /*event*/) const {
    return nullptr;
  }

  Json operator()(const StateChanged& event) const {
    return with_origin({{"type", "state"}, {"from", to_string(event.from)}, {"to", to_string(event.to)}},
                       event.cause, event.origin);
  }
  Json operator()(const AgentDeleted& event) const {
    return with_origin({{"type", "deleted"}}, event.cause, event.origin);
  }
  Json operator()(const Settled& event) const {
    return with_origin({{"type", "settled"},
                        {"end", to_string(event.end)},
                        {"messagesDropped", event.messages_dropped},
                        {"abandoned", event.abandoned}},
                       event.cause, event.origin);
  }
  Json operator()(const StopPending& event) const {
    return {{"type", "stop_pending"},
            {"when", to_string(event.when)},
            {"withdrawn", event.withdrawn},
            {"caller", event.origin.caller()},
            {"reason", event.origin.reason()}};
  }
  Json operator()(const QueueHeld& event) const { return {{"type", "queue_held"}, {"held", event.held}}; }
  Json operator()(const TurnStarted& event) const {
    return {{"type", "turn_started"}, {"turn", event.turn}, {"taskId", to_string(event.message)}};
  }
  Json operator()(const ModelCallEnded& event) const {
    return {{"type", "reask"},
            {"turn", event.turn},
            {"call", event.call},
            {"keptBytes", event.kept_bytes},
            {"cause", to_string(event.cause)},
            {"reason", event.reason}};
  }
  Json operator()(const TurnEnded& event) const {
    const TurnResult& result = *event.result;
    return {{"type", "turn_ended"},
            {"turn", event.turn},
            {"taskId", to_string(event.message)},
            {"outcome", to_string(result.outcome)},
            {"error", result.error.message},
            {"errorCode", to_string(result.error.code)},
            {"usage", to_json(result.usage)},
            {"cost", result.cost ? Json(*result.cost) : Json(nullptr)},
            {"partial", !result.partial.empty()}};
  }
  Json operator()(const ConversationChanged& event) const {
    return {
        {"type", "conversation"}, {"change", to_string(event.change)}, {"keptMessages", event.kept_messages}};
  }
  Json operator()(const CompactionChanged& event) const {
    return {{"type", "compaction"}, {"turn", event.turn}, {"ended", event.ended}, {"used", event.used}};
  }
  Json operator()(const ContextTrimmed& event) const {
    return {{"type", "trimmed"},
            {"turn", event.turn},
            {"call", event.call},
            {"messages", event.messages.size()},
            {"windows", event.windows},
            {"cutResults", event.cut_results.size()},
            {"forThisTurn", event.for_this_turn}};
  }
  Json operator()(const ToolStarted& event) const {
    return {{"type", "tool_started"}, {"turn", event.turn},          {"callId", event.call_id},
            {"tool", event.tool},     {"windowId", event.window_id}, {"arguments", shown(event.arguments)}};
  }
  Json operator()(const ToolProgress& event) const {
    return {{"type", "tool_progress"},
            {"turn", event.turn},
            {"callId", event.call_id},
            {"text", shown(event.text)}};
  }
  Json operator()(const ToolEnded& event) const {
    return {{"type", "tool_ended"},
            {"turn", event.turn},
            {"callId", event.call_id},
            {"outcome", to_string(event.outcome)},
            {"success", event.result.success},
            {"message", shown(event.result.message)},
            {"parts", parts_to_json(event.result.parts)},
            {"byHost", event.by_host}};
  }
  Json operator()(const ToolRefused& event) const {
    return {{"type", "tool_refused"},
            {"turn", event.turn},
            {"callId", event.call_id},
            {"tool", event.tool},
            {"reason", event.reason}};
  }
  Json operator()(const QuestionAsked& event) const {
    return {{"type", "question"}, {"turn", event.turn}, {"question", to_json(event.question)}};
  }
  Json operator()(const QuestionClosed& event) const {
    return {{"type", "question_closed"},
            {"questionId", event.question_id},
            {"outcome", to_string(event.outcome)}};
  }
  Json operator()(const TaskChanged& event) const {
    return {
        {"type", "task"}, {"taskId", event.task_id}, {"tool", event.tool}, {"state", to_string(event.state)}};
  }
  Json operator()(const MessageDropped& event) const {
    return {
        {"type", "message_dropped"}, {"messageId", to_string(event.id)}, {"reason", drop_word(event.reason)}};
  }
  Json operator()(const Steered& event) const {
    return {{"type", "steered"},
            {"messageId", to_string(event.id)},
            {"fate", to_string(event.fate)},
            {"reason", to_string(event.reason)}};
  }
  Json operator()(const Discarded& event) const {
    return {{"type", "discarded"},
            {"turn", event.turn},
            {"kind", to_string(event.kind)},
            {"reason", to_string(event.reason)}};
  }
  Json operator()(const Abandoned& event) const {
    return {{"type", "abandoned"},
            {"turn", event.turn},
            {"kind", to_string(event.kind)},
            {"tool", event.tool},
            {"callId", event.call_id}};
  }
  Json operator()(const WindowClosed& event) const {
    return {{"type", "window_closed"}, {"windowId", event.window_id}, {"reason", to_string(event.reason)}};
  }
  Json operator()(const AgentRestored& event) const {
    return {{"type", "restored"},
            {"state", to_string(event.state)},
            {"fate", to_string(event.fate)},
            {"unbound", event.unbound},
            {"damage", event.damage}};
  }
  Json operator()(const StopPersisted& event) const {
    return {{"type", "persisted"}, {"deleted", event.deleted}};
  }
};

}  // namespace

std::string_view drop_word(DropReason reason) noexcept {
  return reason == DropReason::queue_dropped ? "queue_cleared" : to_string(reason);
}

Json to_json(const Event& event) {
  return std::visit(ToJson{}, detail::event_body(event));
}

}  // namespace agentcore::detail::console
