// What the Messages API of Anthropic refuses, as far as the stand-in checks it.
#include "request_json.hpp"

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace standin {
namespace {

using nlohmann::json;

constexpr std::size_t max_marks = 4;

bool is_blank(const json& text) {
  return text.get_ref<const std::string&>().find_first_not_of(" \t\r\n") == std::string::npos;
}

// The system prompt and the contents of messages are texts or lists of blocks.
std::optional<ApiError> check_content(const std::string& name, const json& content) {
  const auto refuse = [&](std::string_view why) {
    return bad_request(name, fmt::format("{}: {}", name, why));
  };
  if (content.is_string())
    return is_blank(content) ? std::optional(refuse("text must contain non-whitespace text")) : std::nullopt;
  if (!content.is_array() || content.empty()) return refuse("a text or a list of blocks is required");
  for (const json& block : content) {
    if (!block.is_object() || !block.contains("type")) return refuse("a block must have a type");
    if (block["type"] != "text") continue;
    if (!block.contains("text") || !block["text"].is_string()) return refuse("a text block must have a text");
    if (is_blank(block["text"])) return refuse("text content blocks must contain non-whitespace text");
  }
  return std::nullopt;
}

std::size_t count_marks(const json& list) {
  std::size_t marks = 0;
  if (list.is_array())
    for (const json& entry : list) marks += entry.is_object() && entry.contains("cache_control");
  return marks;
}

}  // namespace

std::optional<ApiError> read_messages_json(const json& body, ChatCall& call, std::uint64_t& limit) {
  if (auto error = read_common(body, call, limit)) return error;
  if (limit == 0) return bad_request("max_tokens", "max_tokens: a number above 0 is required");
  std::size_t marks = count_marks(body.value("tools", json())) + count_marks(body.value("system", json()));
  if (body.contains("system")) {
    if (auto error = check_content("system", body["system"])) return error;
  }
  std::size_t at = 0;
  for (const json& message : body["messages"]) {
    const std::string name = fmt::format("messages.{}", at++);
    if (message["role"] != "user" && message["role"] != "assistant")
      return bad_request(name, name + ": the role must be user or assistant");
    const json content = message.value("content", json());
    if (auto error = check_content(name, content)) return error;
    marks += count_marks(content);
  }
  if (marks > max_marks)
    return bad_request("cache_control",
                       fmt::format("A maximum of {} blocks with cache_control may be provided. Found {}.",
                                   max_marks, marks));
  return std::nullopt;
}

}  // namespace standin
