// Histories as JSON, in the form in which a chat-completions request holds them.
#include "llm/history_json.hpp"

#include "core/json_depth.hpp"
#include "llm/message_json.hpp"

#include <agentcore/history.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

using detail::llm::window_of;
using nlohmann::json;

// The member of that name; nullptr if it is missing or null.
const json* member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Reads one history. A refused value counts as empty; the first refusal is the error.
class HistoryReader {
 public:
  Result<std::vector<ChatMessage>> read(std::string_view text) {
    std::vector<ChatMessage> messages = read_messages(text);
    if (!problem_.empty()) return Error{Errc::invalid_history, problem_};
    return messages;
  }
  Result<ChatMessage> read_one(const json& entry) {
    ChatMessage message = read_message(entry);
    if (!problem_.empty()) return Error{Errc::invalid_history, problem_};
    return message;
  }

 private:
  template <typename T>
  T refuse(std::string why, T instead) {
    if (problem_.empty()) problem_ = std::move(why);
    return instead;
  }

  std::vector<ChatMessage> read_messages(std::string_view text) {
    using Messages = std::vector<ChatMessage>;
    if (detail::core::json_depth(text) > detail::core::max_json_depth)
      return refuse(
          "the text is nested deeper than " + std::to_string(detail::core::max_json_depth) + " levels",
          Messages());
    try {
      const json list = json::parse(text);
      if (!list.is_array()) return refuse("the text is not a JSON array of messages", Messages());
      return read_all<ChatMessage>(list, "message", &HistoryReader::read_message);
    } catch (const json::parse_error& error) {
      return refuse("the text is not valid JSON at byte " + std::to_string(error.byte), Messages());
    } catch (const json::exception&) {
      return refuse("the text is not valid JSON: a number is out of range", Messages());
    }
  }

  // Reads up to the first entry that is refused; its position is put before the reason.
  template <typename T>
  std::vector<T> read_all(const json& list, const char* what, T (HistoryReader::*read_entry)(const json&)) {
    std::vector<T> all;
    for (const json& entry : list) {
      all.push_back((this->*read_entry)(entry));
      if (problem_.empty()) continue;
      problem_ = what + (" " + std::to_string(all.size())) + ": " + problem_;
      break;
    }
    return all;
  }

  ChatMessage read_message(const json& entry) {
    if (!entry.is_object()) return refuse("is not an object", ChatMessage());
    ChatMessage message{read_role(entry)};
    message.content = read_content(entry, message);
    message.tool_call_id = read_string(entry, "tool_call_id");
    message.call_end = read_call_end(entry);
    message.interruption = read_interruption(entry);
    message.pinned = read_flag(entry, "pinned");
    message.steered = read_flag(entry, "steered");
    message.summary = read_flag(entry, "summary");
    if (const json* const blocks = member(entry, "reasoning_blocks")) {
      if (!blocks->is_array()) return refuse("reasoning_blocks is not an array", message);
      message.reasoning = read_all<ReasoningBlock>(*blocks, "reasoning block", &HistoryReader::read_block);
    }
    const json* const calls = member(entry, "tool_calls");
    if (!calls || !problem_.empty()) return message;
    if (!calls->is_array()) return refuse("tool_calls is not an array", message);
    message.tool_calls = read_all<ToolCall>(*calls, "tool call", &HistoryReader::read_call);
    return message;
  }

  Role read_role(const json& entry) {
    if (!member(entry, "role")) return refuse("role is missing", Role::user);
    const std::string name = read_string(entry, "role");
    if (name == "developer") return Role::system;
    for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool})
      if (name == to_string(role)) return role;
    return refuse("role is not system, developer, user, assistant or tool", Role::user);
  }

  Interruption read_interruption(const json& entry) {
    const std::string name = read_string(entry, "interruption");
    if (name.empty()) return Interruption::none;
    for (const Interruption mark :
         {Interruption::none, Interruption::aborted, Interruption::stopped, Interruption::failed,
          Interruption::interrupted, Interruption::steered, Interruption::truncated})
      if (name == to_string(mark)) return mark;
    return refuse("interruption is not none, aborted, stopped, failed, interrupted, steered or truncated",
                  Interruption::none);
  }

  std::optional<CallEnd> read_call_end(const json& entry) {
    const std::string name = read_string(entry, "outcome");
    const bool success = read_flag(entry, "success");
    if (name.empty()) return std::nullopt;
    for (const ToolOutcome outcome :
         {ToolOutcome::not_started, ToolOutcome::completed, ToolOutcome::interrupted, ToolOutcome::abandoned})
      if (name == to_string(outcome)) return CallEnd{outcome, outcome == ToolOutcome::completed && success};
    return refuse("outcome is not not_started, completed, interrupted or abandoned", CallEnd());
  }

  std::string read_content(const json& entry, ChatMessage& message) {
    if (message.role != Role::assistant && !entry.contains("content"))
      return refuse("content is missing", std::string());
    const json* const content = member(entry, "content");
    return content && content->is_array() ? read_parts(*content, message) : read_string(entry, "content");
  }

  // Texts become one; images become the message's parts.
  std::string read_parts(const json& parts, ChatMessage& message) {
    std::string text;
    for (const json& part : parts) {
      const std::string type = part.is_object() ? read_string(part, "type") : std::string();
      if (type == "text") {
        text += read_string(part, "text");
      } else if (type == "image_url") {
        message.parts.push_back(read_image(part));
      } else {
        return refuse("content has a part that is neither text nor image_url", std::string());
      }
    }
    return text;
  }

  ContentPart read_image(const json& part) {
    const json* const source = member(part, "image_url");
    if (!source || !source->is_object()) return refuse("image_url is not an object", ContentPart());
    ContentPart image{.url = read_string(*source, "url"), .detail = read_string(*source, "detail")};
    constexpr std::string_view scheme = "data:", encoding = ";base64,";
    const auto comma = image.url.find(encoding);
    if (!image.url.starts_with(scheme) || comma == std::string::npos) return image;
    image.media_type = image.url.substr(scheme.size(), comma - scheme.size());
    image.data = image.url.substr(comma + encoding.size());
    image.url.clear();
    return image;
  }

  ReasoningBlock read_block(const json& entry) {
    if (!entry.is_object()) return refuse("is not an object", ReasoningBlock());
    return {read_string(entry, "dialect"), read_string(entry, "data"), read_string(entry, "server")};
  }

  ToolCall read_call(const json& entry) {
    if (!entry.is_object()) return refuse("is not an object", ToolCall());
    const json* const function = member(entry, "function");
    if (!function || !function->is_object()) return refuse("function is missing", ToolCall());
    ToolCall call{read_string(entry, "id"), read_string(*function, "name"), read_arguments(*function)};
    call.window_id = member(entry, "window_id") ? read_string(entry, "window_id") : window_of(call.name);
    call.action_id = read_string(entry, "action_id");
    return call;
  }

  // Some servers write them as an object, not as its text.
  std::string read_arguments(const json& function) {
    const json* const arguments = member(function, "arguments");
    return arguments && arguments->is_object() ? arguments->dump() : read_string(function, "arguments");
  }

  // Empty if there is none.
  std::string read_string(const json& object, const char* name) {
    const json* const value = member(object, name);
    if (!value) return {};
    if (!value->is_string()) return refuse(std::string(name) + " is not a string", std::string());
    return value->get<std::string>();
  }

  // False if the object has no such member.
  bool read_flag(const json& object, const char* name) {
    const json* const value = member(object, name);
    if (!value) return false;
    return value->is_boolean() ? value->get<bool>()
                               : refuse(std::string(name) + " is neither true nor false", false);
  }

  std::string problem_;
};

json block_json(const ReasoningBlock& block) {
  json entry{{"dialect", block.dialect}, {"data", block.data}};
  if (!block.server.empty()) entry["server"] = block.server;
  return entry;
}

// Fields that are no part of a chat-completions request. Those with their default value are left out.
void add_own_fields(const ChatMessage& message, json& entry) {
  if (message.interruption != Interruption::none) entry["interruption"] = to_string(message.interruption);
  if (message.pinned) entry["pinned"] = true;
  if (message.steered) entry["steered"] = true;
  if (message.summary) entry["summary"] = true;
  if (!message.tool_call_id.empty()) entry["tool_call_id"] = message.tool_call_id;
  if (message.call_end) {
    entry["outcome"] = to_string(message.call_end->outcome);
    if (message.call_end->success) entry["success"] = true;
  }
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    const ToolCall& call = message.tool_calls[i];
    json& written = entry["tool_calls"][i];
    if (call.window_id != window_of(call.name)) written["window_id"] = call.window_id;
    if (!call.action_id.empty()) written["action_id"] = call.action_id;
  }
  for (const ReasoningBlock& block : message.reasoning)
    entry["reasoning_blocks"].push_back(block_json(block));
}

}  // namespace

// "<window>__<action>" is an action of that window.
std::string detail::llm::window_of(const std::string& name) {
  constexpr std::string_view between = "__";
  const auto at = name.find(between);
  return at == std::string::npos || at + between.size() == name.size() ? std::string() : name.substr(0, at);
}

nlohmann::json detail::llm::message_to_json(const ChatMessage& message) {
  nlohmann::json entry = message_json(message);
  add_own_fields(message, entry);
  return entry;
}

Result<ChatMessage> detail::llm::message_from_json(const nlohmann::json& entry) {
  return HistoryReader().read_one(entry);
}

std::string history_to_json(const std::vector<ChatMessage>& messages) {
  json list = json::array();
  for (const ChatMessage& message : messages) list.push_back(detail::llm::message_to_json(message));
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<ChatMessage>> history_from_json(std::string_view json) {
  return HistoryReader().read(json);
}

}  // namespace agentcore
