// The routes of conversations and mailboxes.
#include "console/events/agent_json.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"
#include "console/routes/twice.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/conversation.hpp>

#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::uint64_t messages_per_page = 50;
constexpr std::uint64_t most_messages_per_page = 200;

// How the call ended whose result the message is. Of a call that is open it is not known.
void add_outcome(Json& json, const std::optional<CallEnd>& end) {
  const bool is_completed = end && end->outcome == ToolOutcome::completed;
  json.set("outcome", end ? Json(to_string(end->outcome)) : Json(nullptr));
  json.set("success", is_completed ? Json(end->success) : Json(nullptr));
}

Json json_of_message(const ChatMessage& message, std::size_t index) {
  Json json = {{"index", index},
               {"role", to_string(message.role)},
               {"content", message.content()},
               {"interruption", to_string(message.interruption)},
               {"partial", message.is_partial()},
               {"steered", message.steered},
               {"summary", message.summary},
               {"images", message.parts().size()},
               {"parts", parts_to_json(message.parts())}};
  if (message.role == Role::tool) json.set("toolCallId", message.tool_call_id);
  Json calls = Json::array();
  for (const ToolCall& call : message.tool_calls())
    calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  json.set("toolCalls", calls);
  return json;
}

Json json_of_live(const LiveAnswer& live) {
  if (live.turn == 0) return nullptr;
  return {{"turn", live.turn},
          {"call", live.call},
          {"text", live.text},
          {"reasoning", live.reasoning},
          {"truncated", live.truncated}};
}

std::optional<Response> show_conversation(RouteCall& call) {
  AgentEntry& entry = call.entry();
  const auto limit =
      number_in_query(call.request, "limit", 1, most_messages_per_page).value_or(messages_per_page);
  const auto before = number_in_query(call.request, "before", 0, UINT64_MAX);
  const Result<ConversationPage> page = entry.agent.conversation_page(limit, before);
  if (!page) throw Refused(page.error());
  Json messages = Json::array();
  const std::set<std::size_t> open(page->open_calls.begin(), page->open_calls.end());
  for (std::size_t i = 0; i < page->messages.size(); ++i) {
    const ChatMessage& message = page->messages[i];
    Json json = json_of_message(message, page->first + i);
    if (message.role == Role::tool) {
      const bool is_open = open.contains(page->first + i);
      json.set("open", is_open);
      add_outcome(json, is_open ? std::nullopt : message.call_end);
    }
    messages.push_back(json);
  }
  // From here on, the pieces that follow are in the log: a viewer continues `live` with them.
  call.core.feed.flush_text();
  call.core.feed.want_text(entry);
  return json_response({{"agentId", entry.id},
                        {"total", page->total},
                        {"first", page->first},
                        {"messages", std::move(messages)},
                        {"live", json_of_live(entry.live)},
                        {"lastEventId", call.core.log->id_of(call.core.log->last())}});
}

std::optional<Response> show_queue(RouteCall& call) {
  const Result<std::vector<QueuedMessage>> queued = call.agent().queued();
  if (!queued) throw Refused(queued.error().code);
  Json messages = Json::array();
  for (const QueuedMessage& waiting : *queued)
    messages.push_back({{"messageId", to_string(waiting.id)},
                        {"text", waiting.message.text},
                        {"parts", parts_to_json(waiting.message.parts)},
                        {"priority", to_string(waiting.message.priority)}});
  return json_response({{"agentId", call.ids[0]}, {"messages", std::move(messages)}});
}

// "m12"; 0 for anything else.
MessageId message_id(const std::string& text) {
  MessageId id;
  if (text.size() > 1 && text[0] == 'm')
    std::from_chars(text.data() + 1, text.data() + text.size(), id.value);
  return to_string(id) == text ? id : MessageId{};
}

std::optional<Response> remove_message(RouteCall& call) {
  const Arguments arguments(call.request, {});
  const Result<void> removed = call.agent().remove_queued(message_id(call.ids[1]));
  if (!removed) throw Refused(removed.code());
  return twice([&] {
    return json_response({{"ok", true}, {"agentId", call.ids[0]}, {"messageId", call.ids[1]}});
  });
}

}  // namespace

std::vector<Route> conversation_routes() {
  return {{"GET", "/api/agent/*/conversation", RouteUse::read, show_conversation, Waits::never, false,
           "limit before"},
          {"GET", "/api/agent/*/queue", RouteUse::read, show_queue},
          {"DELETE", "/api/agent/*/queue/*", RouteUse::write, remove_message, Waits::store}};
}

}  // namespace agentcore::detail::console
