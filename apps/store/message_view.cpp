#include "message_view.hpp"

#include "llm/history_json.hpp"
#include "safe_text.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace store_tool {
namespace {

using agentcore::ChatMessage;
using agentcore::ContentPart;
using agentcore::Interruption;
using agentcore::Message;
using agentcore::detail::persist::ForestAgent;
using agentcore::detail::persist::MailRecord;
using agentcore::detail::persist::StoredConversation;
using agentcore::detail::turn::TurnPlace;
using Json = nlohmann::ordered_json;

constexpr const char* text_margin = "     ";

std::string part_text(const ContentPart& part) {
  if (!part.name.empty()) return printable(part.name);
  if (!part.url.empty()) return printable(part.url);
  return fmt::format("{}, {} bytes of base64", printable(part.media_type), part.data.size());
}

// In UTC; in seconds where the calendar of the C library ends.
std::string time_text(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  constexpr long long last = 253'402'300'799;  // of the year 9999
  if (seconds < 0 || seconds > last) return fmt::format("{} s after 1970", seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

Json message_json(const MailRecord& mail) {
  const Message& message = mail.message;
  Json object{{"id", to_string(mail.id)},
              {"text", message.text},
              {"sender", message.sender},
              {"kind", message.kind},
              {"priority", to_string(message.priority)},
              {"simulated", mail.simulated},
              {"images", message.parts.size()},
              {"deadline", nullptr}};
  if (mail.deadline) object["deadline"] = time_text(mail.deadline->when);
  return object;
}

// Null: no turn begins with the message.
const TurnPlace* turn_at(const StoredConversation& conversation, std::size_t& next,
                         std::size_t message) noexcept {
  const auto& turns = conversation.turns;
  return next < turns.size() && turns[next].question == message ? &turns[next++] : nullptr;
}

std::string marks_of(const ChatMessage& message, const TurnPlace* turn) {
  std::string marks;
  if (turn) marks += fmt::format(", turn {}", turn->turn);
  if (message.role == agentcore::Role::tool) marks += ", result of " + printable(message.tool_call_id);
  if (message.is_partial()) marks += ", partial";
  if (message.interruption != Interruption::none)
    marks += fmt::format(", {}", to_string(message.interruption));
  if (message.steered) marks += ", steered";
  if (message.summary) marks += ", summary";
  if (message.pinned) marks += ", pinned";
  if (!message.reasoning().empty())
    marks += fmt::format(", {} blocks of reasoning", message.reasoning().size());
  return marks;
}

void print_message(const ChatMessage& message, std::size_t number, const TurnPlace* turn, Output& output) {
  output.print(fmt::format("{:4} {}{}\n", number, to_string(message.role), marks_of(message, turn)));
  if (const std::string text = message.content(); !text.empty()) output.print(indented(text, text_margin));
  for (const ContentPart& part : message.parts())
    output.print(fmt::format("{}{}: {}\n", text_margin, to_string(part.kind), part_text(part)));
  for (const agentcore::ToolCall& call : message.tool_calls())
    output.print(fmt::format("{}call {}: {} {}\n", text_margin, printable(call.id), printable(call.name),
                             printable(call.arguments)));
}

}  // namespace

Json mail_json(const ForestAgent& agent) {
  Json list = Json::array();
  for (const MailRecord& mail : agent.mail) list.push_back(message_json(mail));
  return list;
}

void print_mail(const ForestAgent& agent, Output& output) {
  for (const MailRecord& mail : agent.mail) {
    const Message& message = mail.message;
    std::string head = "  " + to_string(mail.id);
    if (!message.sender.empty()) head += ", from " + printable(message.sender);
    if (!message.kind.empty()) head += ", kind " + printable(message.kind);
    if (message.priority == agentcore::MessagePriority::urgent) head += ", urgent";
    if (mail.simulated) head += ", simulated";
    if (mail.deadline) head += ", until " + time_text(mail.deadline->when);
    output.print(head + "\n" + indented(message.text, text_margin));
    for (const ContentPart& part : message.parts)
      output.print(fmt::format("{}{}: {}\n", text_margin, to_string(part.kind), part_text(part)));
  }
}

Json conversation_json(const StoredConversation& conversation) {
  Json list = Json::array();
  std::size_t next = 0;
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    Json object = agentcore::detail::llm::message_to_json(conversation.messages[i]);
    if (const TurnPlace* const turn = turn_at(conversation, next, i)) {
      object["turn"] = turn->turn;
      if (turn->message) object["message_id"] = to_string(turn->message);
    }
    list.push_back(std::move(object));
  }
  return list;
}

void print_conversation(const StoredConversation& conversation, Output& output) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < conversation.messages.size() && !output.is_closed(); ++i)
    print_message(conversation.messages[i], i + 1, turn_at(conversation, next, i), output);
}

}  // namespace store_tool
