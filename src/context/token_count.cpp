#include "context/token_count.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <variant>

namespace agentcore {

std::size_t estimate_tokens(std::string_view text) noexcept {
  // Every byte begins a code point except those of the form 10xxxxxx.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto code_points = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
  return (2 * code_points + 4) / 5;
}

}  // namespace agentcore

namespace agentcore::detail::context {
namespace {

// A counter of the host may return anything.
void add(std::uint64_t& sum, std::uint64_t tokens) noexcept {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  sum = tokens > most - sum ? most : sum + tokens;
}

std::uint64_t call_tokens(const ToolCall& call, const TokenCounter& count) {
  std::uint64_t tokens = text_tokens(call.name, count);
  add(tokens, text_tokens(call.arguments, count));
  return tokens;
}

// Of a document and of a sound by their size: a page takes about as much as an image, and a second of sound
// 10 tokens.
std::uint64_t part_tokens(const ContentPart& part) noexcept {
  constexpr std::size_t bytes_of_page = 65'536, bytes_of_token = 2048;
  if (part.kind == ContentPart::Kind::audio) return 1 + part.data.size() / bytes_of_token;
  const std::size_t pages = part.kind == ContentPart::Kind::document ? part.data.size() / bytes_of_page : 0;
  return estimated_image_tokens * (1 + std::uint64_t{pages});
}

}  // namespace

std::size_t text_tokens(std::string_view text, const TokenCounter& count) {
  if (!count) return estimate_tokens(text);
  try {
    return count(text);
  } catch (const std::exception& error) {
    throw CounterFailed(error.what());
  } catch (...) {
    throw CounterFailed("not a std::exception");
  }
}

std::uint64_t tool_call_tokens(const std::vector<ToolCall>& calls, const TokenCounter& count) {
  std::uint64_t tokens = 0;
  for (const ToolCall& call : calls) add(tokens, call_tokens(call, count));
  return tokens;
}

std::size_t message_tokens(const ChatMessage& message, const TokenCounter& count) {
  std::uint64_t tokens = tokens_around_message;
  for (const MessageItem& item : message.items) {
    if (const auto* const text = std::get_if<TextItem>(&item))
      add(tokens, text_tokens(text->text, count));
    else if (const auto* const call = std::get_if<ToolCall>(&item))
      add(tokens, call_tokens(*call, count));
    else if (const auto* const block = std::get_if<ReasoningBlock>(&item))
      add(tokens, text_tokens(block->data, count));
    else
      add(tokens, part_tokens(std::get<ContentPart>(item)));
  }
  return tokens;
}

std::size_t tool_tokens(std::string_view name, std::string_view description, std::string_view parameters,
                        const TokenCounter& count) {
  std::uint64_t tokens = text_tokens(name, count);
  add(tokens, text_tokens(description, count));
  add(tokens, text_tokens(parameters, count));
  return tokens;
}

std::uint64_t request_tokens(const ChatRequest& request, const TokenCounter& count) {
  std::uint64_t tokens = 0;
  for (const ChatMessage& message : request.messages) add(tokens, message_tokens(message, count));
  for (const ToolDescription& tool : request.tools)
    add(tokens, tool_tokens(tool.name, tool.description, tool.parameters, count));
  if (!request.tail.empty()) add(tokens, text_tokens(request.tail, count));
  return tokens;
}

}  // namespace agentcore::detail::context
