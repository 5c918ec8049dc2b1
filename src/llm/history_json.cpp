// Histories as JSON, in the form in which a chat-completions request holds them.
#include "llm/history_json.hpp"

#include "core/enum_names.hpp"
#include "core/json_depth.hpp"
#include "core/message_items.hpp"
#include "llm/message_json.hpp"

#include <agentcore/history.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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
  static constexpr const char* wrong_order = "order does not name each item of the message once";

  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }
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
    read_content(entry, message);
    message.tool_call_id = read_string(entry, "tool_call_id");
    message.call_end = read_call_end(entry);
    message.interruption = read_interruption(entry);
    message.pinned = read_flag(entry, "pinned");
    message.steered = read_flag(entry, "steered");
    message.summary = read_flag(entry, "summary");
    if (const json* const blocks = member(entry, "reasoning_blocks")) {
      if (!blocks->is_array()) return refuse("reasoning_blocks is not an array", message);
      std::vector<ReasoningBlock> read =
          read_all<ReasoningBlock>(*blocks, "reasoning block", &HistoryReader::read_block);
      message.items.insert(message.items.begin(), std::move_iterator(read.begin()),
                           std::move_iterator(read.end()));
    }
    if (const json* const calls = member(entry, "tool_calls"); calls && problem_.empty()) {
      if (!calls->is_array()) return refuse("tool_calls is not an array", message);
      message.append(read_all<ToolCall>(*calls, "tool call", &HistoryReader::read_call));
    }
    if (const json* const order = member(entry, "order"); order && problem_.empty())
      put_in_order(*order, message);
    return message;
  }

  Role read_role(const json& entry) {
    if (!member(entry, "role")) return refuse("role is missing", Role::user);
    const std::string name = read_string(entry, "role");
    if (name == "developer") return Role::system;
    if (const auto role = detail::core::value_of<Role>(name)) return *role;
    return refuse("role is not system, developer, user, assistant or tool", Role::user);
  }

  Interruption read_interruption(const json& entry) {
    const std::string name = read_string(entry, "interruption");
    if (name.empty()) return Interruption::none;
    if (const auto mark = detail::core::value_of<Interruption>(name)) return *mark;
    return refuse("interruption is not none, aborted, stopped, failed, interrupted, steered or truncated",
                  Interruption::none);
  }

  std::optional<CallEnd> read_call_end(const json& entry) {
    const std::string name = read_string(entry, "outcome");
    const bool success = read_flag(entry, "success");
    if (name.empty()) return std::nullopt;
    if (const auto outcome = detail::core::value_of<ToolOutcome>(name))
      return CallEnd{*outcome, *outcome == ToolOutcome::completed && success};
    return refuse("outcome is not not_started, completed, interrupted or abandoned", CallEnd());
  }

  void read_content(const json& entry, ChatMessage& message) {
    const bool is_answer = message.role == Role::assistant;
    if (!is_answer && !entry.contains("content")) return refuse("content is missing");
    const json* const content = member(entry, "content");
    const bool is_list = content && content->is_array();
    if (is_list && member(entry, "order")) return read_items(*content, message);
    std::string text = is_list ? read_parts(*content, message) : read_string(entry, "content");
    if (!is_answer || !text.empty()) message.items.insert(message.items.begin(), TextItem{std::move(text)});
  }

  // The parts of a message without an order. Texts become one; the others stand behind it.
  std::string read_parts(const json& parts, ChatMessage& message) {
    std::string text;
    for (const json& part : parts) {
      if (const std::string type = type_of(part); type == "text")
        text += read_string(part, "text");
      else
        read_part(type, part, message);
    }
    return text;
  }

  // The parts of a message with an order: each is an item.
  void read_items(const json& parts, ChatMessage& message) {
    for (const json& part : parts) {
      if (const std::string type = type_of(part); type == "text")
        message.items.emplace_back(read_text(part));
      else
        read_part(type, part, message);
    }
  }

  std::string type_of(const json& part) {
    return part.is_object() ? read_string(part, "type") : std::string();
  }

  TextItem read_text(const json& part) {
    return {read_string(part, "text"), read_flag(part, "refusal"), read_string(part, "id"),
            read_string(part, "phase")};
  }

  // The order names the kind of each item; the items of one kind are in order already.
  void put_in_order(const json& order, ChatMessage& message) {
    std::vector<MessageItem> items;
    std::vector<bool> taken(message.items.size());
    for (const json& entry : order) {
      const std::string kind = entry.is_string() ? entry.get<std::string>() : std::string();
      std::size_t next = 0;
      while (next < taken.size() && (taken[next] || detail::core::kind_of(message.items[next]) != kind))
        ++next;
      if (next == taken.size()) return refuse(wrong_order);
      taken[next] = true;
      items.push_back(std::move(message.items[next]));
    }
    if (items.size() != taken.size()) return refuse(wrong_order);
    message.items = std::move(items);
  }

  ContentPart read_image(const json& source) {
    ContentPart image{.detail = read_string(source, "detail")};
    take_url(read_string(source, "url"), image);
    return image;
  }

  ContentPart read_document(const json& source) {
    ContentPart document{.kind = ContentPart::Kind::document, .name = read_string(source, "filename")};
    document.url = read_string(source, "file_url");
    if (document.url.empty()) take_url(read_string(source, "file_data"), document);
    return document;
  }

  ContentPart read_audio(const json& source) {
    ContentPart audio{.url = read_string(source, "url"),
                      .data = read_string(source, "data"),
                      .media_type = read_string(source, "media_type"),
                      .kind = ContentPart::Kind::audio};
    if (const std::string format = read_string(source, "format"); audio.media_type.empty() && !format.empty())
      audio.media_type = "audio/" + (format == "mp3" ? "mpeg" : format);
    return audio;
  }

  // A data URL becomes the data.
  static void take_url(std::string url, ContentPart& part) {
    constexpr std::string_view scheme = "data:", encoding = ";base64,";
    const auto comma = url.find(encoding);
    if (!url.starts_with(scheme) || comma == std::string::npos) {
      part.url = std::move(url);
      return;
    }
    part.media_type = url.substr(scheme.size(), comma - scheme.size());
    part.data = url.substr(comma + encoding.size());
  }

  // Adds a part that is not text; its members stand in an object under the name of its type.
  void read_part(const std::string& type, const json& part, ChatMessage& message) {
    using Read = ContentPart (HistoryReader::*)(const json&);
    const std::pair<std::string_view, Read> types[] = {{"image_url", &HistoryReader::read_image},
                                                       {"file", &HistoryReader::read_document},
                                                       {"input_audio", &HistoryReader::read_audio}};
    for (const auto& [name, read] : types) {
      if (type != name) continue;
      const json* const source = member(part, type.c_str());
      if (!source || !source->is_object()) return refuse(type + " is not an object");
      message.items.emplace_back((this->*read)(*source));
      return;
    }
    refuse("content has a part that is none of text, image_url, file and input_audio");
  }

  ReasoningBlock read_block(const json& entry) {
    if (!entry.is_object()) return refuse("is not an object", ReasoningBlock());
    return {read_string(entry, "dialect"), read_string(entry, "data"),    read_string(entry, "server"),
            read_string(entry, "model"),   read_string(entry, "account"), read_string(entry, "prefix")};
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
  const std::pair<const char*, const std::string*> known[] = {{"server", &block.server},
                                                              {"model", &block.model},
                                                              {"account", &block.account},
                                                              {"prefix", &block.prefix}};
  for (const auto& [name, value] : known)
    if (!value->empty()) entry[name] = *value;
  return entry;
}

json text_json(const TextItem& item) {
  json part{{"type", "text"}, {"text", item.text}};
  if (item.refusal) part["refusal"] = true;
  if (!item.id.empty()) part["id"] = item.id;
  if (!item.phase.empty()) part["phase"] = item.phase;
  return part;
}

// Of a message whose items a chat-completions request cannot describe: each text by itself, and the order.
void add_order(const ChatMessage& message, json& entry) {
  json content = json::array(), order = json::array();
  for (const MessageItem& item : message.items) {
    order.push_back(detail::core::kind_of(item));
    if (const auto* const text = std::get_if<TextItem>(&item))
      content.push_back(text_json(*text));
    else if (const auto* const part = std::get_if<ContentPart>(&item))
      content.push_back(detail::llm::part_to_json(*part));
  }
  entry["content"] = content.empty() ? json("") : std::move(content);
  entry["order"] = std::move(order);
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
  std::size_t number = 0;
  for (const ToolCall& call : message.tool_calls()) {
    json& written = entry["tool_calls"][number++];
    if (call.window_id != window_of(call.name)) written["window_id"] = call.window_id;
    if (!call.action_id.empty()) written["action_id"] = call.action_id;
  }
  for (const ReasoningBlock& block : message.reasoning())
    entry["reasoning_blocks"].push_back(block_json(block));
  if (!detail::core::is_plain(message)) add_order(message, entry);
}

}  // namespace

// "<window>__<action>" is an action of that window.
std::string detail::llm::window_of(const std::string& name) {
  constexpr std::string_view between = "__";
  const auto at = name.find(between);
  return at == std::string::npos || at + between.size() == name.size() ? std::string() : name.substr(0, at);
}

// A document may have a URL or no name, and a sound a URL or another type than its format says: a request has
// neither.
nlohmann::json detail::llm::part_to_json(const ContentPart& part) {
  json written = part_json(part);
  if (part.kind == ContentPart::Kind::document) {
    json& file = written["file"];
    if (part.name.empty()) file.erase("filename");
    if (part.url.empty()) return written;
    file.erase("file_data");
    file["file_url"] = part.url;
  } else if (part.kind == ContentPart::Kind::audio) {
    json& audio = written["input_audio"];
    audio["media_type"] = part.media_type;
    audio["data"] = part.data;
    if (!part.url.empty()) audio["url"] = part.url;
  }
  return written;
}

nlohmann::json detail::llm::message_to_json(const ChatMessage& message) {
  nlohmann::json entry = message_json(message);
  if (json& content = entry["content"]; content.is_array()) {
    content = json::array();
    for (const MessageItem& item : message.items) {
      const auto* const text = std::get_if<TextItem>(&item);
      if (text && !text->text.empty()) content.push_back(text_json(*text));
      if (const auto* const part = std::get_if<ContentPart>(&item)) content.push_back(part_to_json(*part));
    }
  }
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
