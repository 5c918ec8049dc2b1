// Histories as JSON, in the form in which a chat-completions request holds them.
#include "llm/history_json.hpp"

#include "core/enum_names.hpp"
#include "core/json_depth.hpp"
#include "core/json_text.hpp"
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

using detail::core::JsonObjectText;
using detail::llm::part_json;
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

std::string text_part_json(const TextItem& item) {
  JsonObjectText text;
  text.add("type", std::string_view("text"));
  text.add("text", std::string_view(item.text));
  text.put("refusal", item.refusal);
  text.put("id", item.id);
  text.put("phase", item.phase);
  return text.take();
}

// A document may have a URL or no name, and a sound a URL or another type than its format says: a request has
// neither.
json file_or_audio_json(const ContentPart& part) {
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

std::string other_part_json(const ContentPart& part) {
  if (part.kind != ContentPart::Kind::image)
    return file_or_audio_json(part).dump(-1, ' ', false, json::error_handler_t::replace);
  JsonObjectText source;
  const bool is_inline = part.url.empty();
  source.add("url", is_inline ? "data:" + part.media_type + ";base64," + part.data : part.url);
  source.put("detail", part.detail);
  JsonObjectText text;
  text.add("type", std::string_view("image_url"));
  text.add_json("image_url", source.take());
  return text.take();
}

// The texts and images. An empty text is none, unless its place counts.
std::string parts_json(const ChatMessage& message, bool in_order) {
  std::vector<std::string> parts;
  for (const MessageItem& item : message.items) {
    if (const auto* const text = std::get_if<TextItem>(&item); text && (in_order || !text->text.empty()))
      parts.push_back(text_part_json(*text));
    else if (const auto* const part = std::get_if<ContentPart>(&item))
      parts.push_back(other_part_json(*part));
  }
  return JsonObjectText::array(parts, [](const std::string& part) { return part; });
}

std::string kind_json(const MessageItem& item) {
  return '"' + std::string(detail::core::kind_of(item)) + '"';
}

std::string call_json(const ToolCall& call) {
  JsonObjectText function;
  function.add("name", std::string_view(call.name));
  function.add("arguments", std::string_view(call.arguments));
  JsonObjectText text;
  text.add("id", std::string_view(call.id));
  text.add("type", std::string_view("function"));
  text.add_json("function", function.take());
  if (call.window_id != window_of(call.name)) text.add("window_id", std::string_view(call.window_id));
  text.put("action_id", call.action_id);
  return text.take();
}

std::string block_json(const ReasoningBlock& block) {
  JsonObjectText text;
  text.add("dialect", std::string_view(block.dialect));
  text.add("data", std::string_view(block.data));
  text.put("server", block.server);
  text.put("model", block.model);
  text.put("account", block.account);
  text.put("prefix", block.prefix);
  return text.take();
}

}  // namespace

// "<window>__<action>" is an action of that window.
std::string detail::llm::window_of(const std::string& name) {
  constexpr std::string_view between = "__";
  const auto at = name.find(between);
  return at == std::string::npos || at + between.size() == name.size() ? std::string() : name.substr(0, at);
}

// Fields that are no part of a chat-completions request are left out if they have their default value.
void detail::llm::add_message(JsonObjectText& text, const ChatMessage& message) {
  text.add("role", to_string(message.role));
  const bool in_order = !core::is_plain(message);
  if (in_order || !message.parts().empty()) {
    const std::string parts = parts_json(message, in_order);
    text.add_json("content", parts == "[]" ? R"("")" : parts);
  } else {
    text.add("content", std::string_view(core::first_text(message)));
  }
  if (const auto calls = message.tool_calls(); !calls.empty())
    text.add_json("tool_calls", JsonObjectText::array(calls, call_json));
  if (message.interruption != Interruption::none) text.add("interruption", to_string(message.interruption));
  text.put("pinned", message.pinned);
  text.put("steered", message.steered);
  text.put("summary", message.summary);
  if (message.role == Role::tool || !message.tool_call_id.empty())
    text.add("tool_call_id", std::string_view(message.tool_call_id));
  if (message.call_end) {
    text.add("outcome", to_string(message.call_end->outcome));
    text.put("success", message.call_end->success);
  }
  if (const auto blocks = message.reasoning(); !blocks.empty())
    text.add_json("reasoning_blocks", JsonObjectText::array(blocks, block_json));
  if (in_order) text.add_json("order", JsonObjectText::array(message.items, kind_json));
}

nlohmann::json detail::llm::message_to_json(const ChatMessage& message) {
  JsonObjectText text;
  add_message(text, message);
  return json::parse(text.take());
}

Result<ChatMessage> detail::llm::message_from_json(const nlohmann::json& entry) {
  return HistoryReader().read_one(entry);
}

std::string history_to_json(const std::vector<ChatMessage>& messages) {
  json list = json::array();
  for (const ChatMessage& message : messages) list.push_back(detail::llm::message_to_json(message));
  return list.dump();
}

Result<std::vector<ChatMessage>> history_from_json(std::string_view json) {
  return HistoryReader().read(json);
}

}  // namespace agentcore
