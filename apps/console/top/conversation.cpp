#include "console/top/conversation.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace console_app::top {
namespace {

constexpr std::size_t most_live_bytes = 256 << 10;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Removes the beginning of a text that is too long. In large steps: the lines of the rest then stay where
// they are for a while.
bool keep_end(std::string& text) {
  if (text.size() <= most_live_bytes) return false;
  std::size_t cut = most_live_bytes / 2;
  while (cut < text.size() && is_continuation(text[cut])) ++cut;
  text.erase(0, cut);
  return true;
}

void cut_at(std::string& text, std::uint64_t bytes) {
  if (bytes >= text.size()) return;
  while (bytes > 0 && is_continuation(text[bytes])) --bytes;
  text.resize(bytes);
}

ShownMessage message_of(const Json& json) {
  ShownMessage message{.role = text_in(json, "role"), .text = text_in(json, "content"), .mark = {}};
  message.mark = text_in(json, "interruption");
  if (message.mark == "none") message.mark.clear();
  if (flag_in(json, "steered")) message.mark = "steered";
  if (flag_in(json, "summary")) message.mark = "summary";
  // How a call ended that has not completed: the result alone does not say so.
  if (const std::string outcome = text_in(json, "outcome"); !outcome.empty() && outcome != "completed")
    message.mark = outcome == "not_started" ? "not started" : outcome;
  if (flag_in(json, "open")) message = {.role = message.role, .text = {}, .mark = "not ended"};
  for (const Json& call : list_in(json, "toolCalls")) {
    if (!message.text.empty()) message.text += '\n';
    message.text += "→ " + text_in(call, "name") + " " + text_in(call, "arguments");
  }
  return message;
}

// Events that change neither the messages nor the answer that streams.
constexpr std::array<std::string_view, 6> no_change{"state",      "queue",        "paused",
                                                    "queue_held", "stop_pending", "tool_progress"};

}  // namespace

void Conversation::open(std::string agent_id) {
  *this = {};
  agent_id_ = std::move(agent_id);
}

void Conversation::begin_load() {
  loading_ = true;
  held_.clear();
}

void Conversation::fail(std::string problem) {
  loading_ = false;
  held_.clear();
  problem_ = std::move(problem);
}

void Conversation::take_page(const Json& page) {
  loading_ = false;
  loaded_ = true;
  problem_.clear();
  messages_.clear();
  for (const Json& message : list_in(page, "messages")) messages_.push_back(message_of(message));
  total_ = number_in(page, "total");
  at_ = event_id(text_in(page, "lastEventId"));
  live_ = {};
  if (const Json* const live = member(page, "live"))
    live_ = {number_in(*live, "turn"), number_in(*live, "call"), text_in(*live, "text"),
             text_in(*live, "reasoning"), flag_in(*live, "truncated")};
  for (const auto& [id, event] : std::exchange(held_, {})) add_text(id, event);
}

bool Conversation::apply(const EventId& id, const Json& event) {
  if (agent_id_.empty() || text_in(event, "agentId") != agent_id_) return true;
  const std::string type = text_in(event, "type");
  if (type == "text" || type == "reasoning") {
    if (loading_) held_.emplace_back(id, event);
    add_text(id, event);
    return true;
  }
  if (type == "reask" && live_.call == number_in(event, "call") && !live_.truncated)
    cut_at(live_.text, number_in(event, "keptBytes"));
  if (type == "turn_started" || type == "conversation") cut_answer_.clear();
  if (type == "turn_ended" && text_in(event, "outcome") != "completed" && !flag_in(event, "partial"))
    cut_answer_ = std::exchange(live_, {}).text;
  return std::find(no_change.begin(), no_change.end(), type) != no_change.end();
}

void Conversation::add_text(const EventId& id, const Json& event) {
  if (!loaded_ || !id.is_after(at_)) return;
  const std::uint64_t turn = number_in(event, "turn"), call = number_in(event, "call");
  if (live_.turn != turn || live_.call != call) live_ = {.turn = turn, .call = call};
  std::string& text = text_in(event, "type") == "reasoning" ? live_.reasoning : live_.text;
  text += text_in(event, "text");
  if (keep_end(text)) live_.truncated = true;
}

}  // namespace console_app::top
