#include "llm/dialects/anthropic_messages_content.hpp"

#include "core/blank.hpp"
#include "core/message_items.hpp"
#include "core/utf8.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/stable_part.hpp"
#include "llm/dialects/wire_format.hpp"

#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

using core::is_blank;

// The text if it is that of a JSON object, in UTF-8; else empty.
std::string object_text(std::string_view text) {
  std::string object = core::valid_utf8(text);
  const auto brace = object.find_first_not_of(" \t\r\n");
  if (brace == std::string::npos || object[brace] != '{' || !nlohmann::json::accept(object)) return {};
  return object;
}

// The API takes letters, digits, '_' and '-'; other providers' ids have dots and colons. Any other byte
// becomes '_' and two hexadecimal digits, so that ids that differ stay different.
std::string id_text(std::string_view id) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string text = "\"";
  for (const char letter : id) {
    if (letters.find(letter) != std::string_view::npos) {
      text += letter;
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      ((text += '_') += digits[byte >> 4U]) += digits[byte & 15U];
    }
  }
  return text + '"';
}

// Blocks are written by hand, so that their members keep the order of the API's documentation, and the
// members of the model's own JSON keep their order.
std::string part_block(const ContentPart& part) {
  std::string source = R"({"type":"base64","media_type":)" + json_quoted(part.media_type) + R"(,"data":)" +
                       json_quoted(part.data) + "}";
  if (!part.url.empty()) source = R"({"type":"url","url":)" + json_quoted(part.url) + "}";
  if (part.kind == ContentPart::Kind::image) return R"({"type":"image","source":)" + source + "}";
  const std::string title = part.name.empty() ? "" : R"(,"title":)" + json_quoted(part.name);
  return R"({"type":"document","source":)" + source + title + "}";
}

std::string tool_use_block(const ToolCall& call) {
  const std::string input = object_text(call.arguments);
  return R"({"type":"tool_use","id":)" + id_text(call.id) + R"(,"name":)" + json_quoted(call.name) +
         R"(,"input":)" + (input.empty() ? "{}" : input) + "}";
}

// A text, unless there are other parts.
std::string tool_result_block(const ChatMessage& result) {
  std::string block = R"({"type":"tool_result","tool_use_id":)" + id_text(result.tool_call_id);
  const std::string content = result.content();
  if (!result.parts().empty()) {
    std::vector<std::string> blocks;
    if (!is_blank(content)) blocks.push_back(anthropic_text_block(content));
    for (const ContentPart& part : result.parts()) blocks.push_back(part_block(part));
    block += R"(,"content":)" + json_list(blocks, [](const std::string& entry) { return entry; });
  } else if (!is_blank(content)) {
    block += R"(,"content":)" + json_quoted(content);
  }
  return block + "}";
}

// A message in the form in which it is sent.
struct Turn {
  bool assistant;
  bool user = false;                      // has a message with the role `user`, not only results
  bool apart = false;                     // is not appended to the turn before
  std::vector<std::string> results = {};  // results of tools, which must come first
  std::vector<std::string> blocks = {};

  bool empty() const noexcept { return results.empty() && blocks.empty(); }
  std::string& last_block() noexcept { return blocks.empty() ? results.back() : blocks.back(); }
};

// The item as a block. Empty: it is not sent.
std::string block_of(const MessageItem& item) {
  if (const auto* const text = std::get_if<TextItem>(&item))
    return is_blank(text->text) ? std::string() : anthropic_text_block(text->text);
  if (const auto* const call = std::get_if<ToolCall>(&item)) return tool_use_block(*call);
  if (const auto* const part = std::get_if<ContentPart>(&item)) return part_block(*part);
  const auto& reasoning = std::get<ReasoningBlock>(item);
  return is_of(reasoning, Dialect::anthropic_messages) ? object_text(reasoning.data) : std::string();
}

// The API refuses an answer that ends with reasoning: that is left out.
void add_blocks(Turn& turn, const ChatMessage& message) {
  std::size_t end = 0;  // behind the last block that is not reasoning
  for (const MessageItem& item : message.items) {
    std::string block = block_of(item);
    if (block.empty()) continue;
    turn.blocks.push_back(std::move(block));
    if (!std::holds_alternative<ReasoningBlock>(item)) end = turn.blocks.size();
  }
  turn.blocks.resize(end);
}

Turn turn_of(const ChatMessage& message) {
  Turn turn{.assistant = message.role == Role::assistant, .user = message.role == Role::user};
  switch (message.role) {
    case Role::system:
      break;
    case Role::user:
    case Role::assistant:
      add_blocks(turn, message);
      break;
    case Role::tool:
      turn.results.push_back(tool_result_block(message));
      break;
  }
  return turn;
}

void append(std::vector<std::string>& list, std::vector<std::string>&& more) {
  for (std::string& entry : more) list.push_back(std::move(entry));
}

void add(std::vector<Turn>& turns, Turn&& turn) {
  if (turns.empty() || turns.back().assistant != turn.assistant || turn.apart) {
    turns.push_back(std::move(turn));
    return;
  }
  turns.back().user = turns.back().user || turn.user;
  append(turns.back().results, std::move(turn.results));
  append(turns.back().blocks, std::move(turn.blocks));
}

void add_tail(std::vector<Turn>& turns, const std::string& tail) {
  Turn turn{.assistant = false};
  turn.blocks.push_back(anthropic_text_block(tail));
  add(turns, std::move(turn));
}

// Marks the end of what has been written so far.
void mark_end(std::vector<Turn>& turns) {
  if (!turns.empty()) turns.back().last_block() = with_cache_mark(std::move(turns.back().last_block()));
}

std::string turn_text(const Turn& turn) {
  std::string blocks;
  for (const auto* list : {&turn.results, &turn.blocks})
    for (const std::string& block : *list) blocks += (blocks.empty() ? "" : ",") + block;
  const std::string_view role = to_string(turn.assistant ? Role::assistant : Role::user);
  return R"({"role":)" + json_quoted(role) + R"(,"content":[)" + blocks + "]}";
}

}  // namespace

std::string anthropic_system(const std::vector<ChatMessage>& messages) {
  std::string system;
  for (const ChatMessage& message : messages) {
    if (message.role != Role::system || is_blank(message)) continue;
    if (!system.empty()) system += "\n\n";
    system += message.content();
  }
  return system;
}

std::string with_cache_mark(std::string block) {
  constexpr std::string_view mark = R"(,"cache_control":{"type":"ephemeral"}})";
  if (block.ends_with(mark)) return block;
  block.pop_back();
  return block.append(mark);
}

std::string anthropic_text_block(std::string_view text) {
  return R"({"type":"text","text":)" + json_quoted(text) + "}";
}

std::string anthropic_messages_list(const ChatRequest& request, const BodyDefaults& defaults) {
  const std::size_t end = stable_end(request), end_before = stable_end_before(request);
  std::vector<Turn> turns;
  bool apart = false;
  for (std::size_t at = 0; at < request.messages.size(); ++at) {
    if (defaults.prompt_caching && at > 0 && (at == end || at == end_before)) mark_end(turns);
    apart = apart || !may_join(request, at, defaults.join_user_messages);
    Turn turn = turn_of(request.messages[at]);
    if (turn.empty()) continue;
    turn.apart = std::exchange(apart, false) && turn.user && !turns.empty() && !turns.back().assistant &&
                 (turns.back().user || defaults.join_user_messages == JoinUserMessages::unsent);
    add(turns, std::move(turn));
  }
  if (defaults.prompt_caching && end > 0 && end == request.messages.size()) mark_end(turns);
  if (!is_blank(request.tail)) add_tail(turns, request.tail);
  return json_list(turns, turn_text);
}

}  // namespace agentcore::detail::llm
