#include "llm/dialects/openai_chat_tool_calls.hpp"

#include "llm/dialects/ondemand.hpp"
#include "llm/dialects/request_body.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

namespace json = simdjson::ondemand;

namespace {

// Null and other types count as no index; a number that is no valid index counts as an index out of range.
std::optional<std::uint64_t> index_of(json::value& value) noexcept {
  json::json_type type;
  if (value.type().get(type) || type != json::json_type::number) return std::nullopt;
  std::uint64_t index = 0;
  return value.get_uint64().get(index) == simdjson::SUCCESS ? index : UINT64_MAX;
}

// The index of the block that belongs to a call; 0 is the block of the reasoning. Uses the id if there is
// one: Gemini sends parallel calls in a chunk each and without an index, others give each the index 0.
std::uint64_t block_index(std::string_view id, std::uint64_t place) noexcept {
  if (id.empty()) return 1 + place;
  return 1 + max_tool_calls + std::hash<std::string_view>{}(id) % (1ULL << 32U);
}

}  // namespace

void ToolCallReader::read_list(json::value value, bool whole, AnswerObject& object) {
  json::array list;
  if (value.get_array().get(list)) return;
  pieces_.clear();
  object.tool_call_fault = read_entries(list, whole);
  object.tool_calls = pieces_;
}

ToolCallFault ToolCallReader::read_entries(json::array list, bool whole) {
  for (auto entry : list) {
    if (pieces_.size() == max_tool_calls) return ToolCallFault::too_many;
    json::object call;
    if (entry.get_object().get(call)) break;
    ToolCallPiece piece;
    piece.whole = whole;
    read_call(call, piece);
    // Parallel and without an index: two calls, not two pieces of one.
    if (!piece.index && !piece.name.empty() && !pieces_.empty()) piece.whole = true;
    pieces_.push_back(std::move(piece));
  }
  return ToolCallFault::none;
}

void ToolCallReader::read_single(json::value value, bool whole, AnswerObject& object) {
  if (!pieces_.empty()) return;
  ToolCallPiece piece;
  piece.whole = whole;
  read_function(value, piece);
  if (piece.name.empty() && piece.arguments.empty()) return;
  pieces_.push_back(std::move(piece));
  object.tool_calls = pieces_;
}

void ToolCallReader::read_call(json::object call, ToolCallPiece& piece) {
  std::string_view extra;
  std::string type;
  for (auto entry : call) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("index")) {
      piece.index = index_of(field.value());
    } else if (key.unsafe_is_equal("id")) {
      if (const auto text = text_of(field.value(), repair_, broken_)) piece.id = *text;
    } else if (key.unsafe_is_equal("function")) {
      read_function(field.value(), piece);
    } else if (key.unsafe_is_equal("type")) {
      if (const auto text = text_of(field.value(), repair_, broken_); text && *text != "function")
        type = *text;
    } else if (key.unsafe_is_equal("extra_content")) {
      extra = json_of(field.value());
    }
  }
  if (!type.empty() && piece.name.empty() && piece.arguments.empty()) {
    piece.foreign = true;
    others_.push_back(type + " tool call");
  }
  if (extra.starts_with('{')) keep_extra(piece, extra);
}

// Not parsed: the JSON is checked when it is sent back.
void ToolCallReader::keep_extra(const ToolCallPiece& piece, std::string_view extra) {
  const std::uint64_t place = piece.index.value_or(pieces_.size());
  if (place >= max_tool_calls) return;
  std::string block = R"({"tool_call":)" + std::to_string(place);
  if (!piece.id.empty()) block += R"(,"id":)" + json_quoted(piece.id);
  ((block += R"(,"extra_content":)") += extra) += '}';
  reasoning_.push_back({.index = block_index(piece.id, place), .block = std::move(block)});
}

void ToolCallReader::read_function(json::value value, ToolCallPiece& piece) {
  json::object function;
  if (value.get_object().get(function)) return;
  for (auto entry : function) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("name")) {
      if (const auto text = text_of(field.value(), repair_, broken_)) piece.name = *text;
    } else if (key.unsafe_is_equal("arguments")) {
      if (const auto text = piece_of(field.value(), repair_, broken_, piece.cut)) {
        piece.arguments = *text;
      } else if (!broken_) {
        // Arguments that are not a string are not in pieces either.
        piece.arguments = json_of(field.value());
        piece.whole = piece.whole || !piece.arguments.empty();
      }
    }
  }
}

}  // namespace agentcore::detail::llm
