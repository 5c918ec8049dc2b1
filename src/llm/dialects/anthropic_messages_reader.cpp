// Anthropic Messages: how an answer is read.
#include "llm/dialects/anthropic_messages_reader.hpp"

#include "llm/dialects/finish_word.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {
namespace {

namespace json = simdjson::ondemand;

bool is_object(json::value& value) noexcept {
  json::json_type type;
  return !value.type().get(type) && type == json::json_type::object;
}

// An event of an answer, also one without any content.
bool is_of_answer(std::string_view type) noexcept {
  constexpr std::string_view types[] = {
      "message_start",       "message_delta",      "message_stop", "content_block_start",
      "content_block_delta", "content_block_stop", "message",      "ping"};
  return std::ranges::find(types, type) != std::end(types);
}

bool is_empty_object(std::string_view text) noexcept {
  if (!text.starts_with('{')) return false;
  const auto first = text.find_first_not_of(" \t\r\n", 1);
  return first != std::string_view::npos && text[first] == '}';
}

std::uint64_t call_index(std::uint64_t place) noexcept {
  return std::min<std::uint64_t>(place, max_tool_calls - 1);
}

// The API continues such an answer when all its blocks are sent back. This client does not keep the blocks of
// the provider's own tools, so it cannot.
constexpr std::string_view paused_by_provider =
    "The provider paused the answer (stop_reason \"pause_turn\"), because a tool that it runs by itself "
    "takes long; what has come is not the whole answer, and this client cannot continue it. Send the "
    "message again, or limit that tool (its max_uses in HttpLlmOptions::extra_body)";

// The text of an object that was read to its end.
std::string_view text_of_read(json::object& object) {
  std::string_view text;
  if (object.reset().error() || object.raw_json().get(text)) return {};
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

// A block of an answer.
struct AnthropicMessagesReader::Block {
  std::string type = {};
  std::string text = {};
  std::string thinking = {};
  std::string signature = {};
  std::string id = {};
  std::string name = {};
  std::string input = {};     // its JSON
  std::string to_model = {};  // of a fallback: the model that continues the answer
  std::string whole = {};     // the block as it was received, if it is to be sent back unchanged
  CutPair cut = {};           // at the ends of its text or thinking
};

// What is added to a block.
struct AnthropicMessagesReader::Delta {
  enum class Kind : unsigned char { other, text, thinking, signature, arguments };

  static Kind kind_of(std::string_view type) noexcept {
    if (type == "text_delta") return Kind::text;
    if (type == "thinking_delta") return Kind::thinking;
    if (type == "signature_delta") return Kind::signature;
    if (type == "input_json_delta") return Kind::arguments;
    return Kind::other;
  }

  Kind kind = Kind::other;
  std::string_view words = {};
  std::string_view reasoning = {};
  std::string signature = {};
  std::string arguments = {};
  CutPair cut = {};  // at the ends of the text
};

void AnthropicMessagesReader::begin() {
  type_.clear();
  content_.clear();
  reasoning_.clear();
  texts_.clear();
  is_stop_ = has_blocks_ = false;
  stands_apart_ = false;
  index_.reset();
  tool_calls_.clear();
  reasoning_pieces_.clear();
}

bool AnthropicMessagesReader::read_member(const Key& key, json::value value, AnswerObject& object) {
  if (key.unsafe_is_equal("type")) {
    type_ = word(value).value_or("");
    object.ends = object.ends || type_ == "message_stop";
    is_stop_ = is_stop_ || type_ == "message_stop" || type_ == "content_block_stop";
  } else if (key.unsafe_is_equal("index")) {
    std::uint64_t index = 0;
    if (!value.get_uint64().get(index)) index_ = index;
  } else if (key.unsafe_is_equal("delta")) {
    read_delta(value, object);
  } else if (key.unsafe_is_equal("content_block")) {
    read_block(value, std::nullopt, object);
  } else if (key.unsafe_is_equal("message")) {
    return read_message(value, object);
  } else {
    return read_answer(key, value, object);
  }
  return true;
}

// All members of an event refer to the block with its index, and the index may be the last member.
void AnthropicMessagesReader::finish(AnswerObject& object) {
  if (index_) {
    for (ToolCallPiece& piece : tool_calls_) piece.index = call_index(*index_);
    for (ReasoningPiece& piece : reasoning_pieces_) piece.index = *index_;
  }
  object.other_items = other_items_;
  holds_choices_ = is_of_answer(type_);
  if (index_ && is_stop_) object.ended_call = call_index(*index_);
  if (has_blocks_ || is_stop_) {
    give_snapshot(has_blocks_ ? Repeats::answer : Repeats::item, object);
  } else {
    object.tool_calls = tool_calls_;
    object.reasoning_pieces = reasoning_pieces_;
    if (!content_.empty()) object.content = content_;
    if (!reasoning_.empty()) object.reasoning = reasoning_;
  }
  if (object.error || !loose_.message.empty()) note_code(type_, loose_);
}

void AnthropicMessagesReader::give_snapshot(Repeats what, AnswerObject& object) {
  if (tool_calls_.empty() && reasoning_pieces_.empty() && content_.empty() && reasoning_.empty()) return;
  object.begins_block = false;
  snapshot_ = {.what = what,
               .content = content_,
               .texts = texts_,
               .reasoning = reasoning_,
               .tool_calls = tool_calls_,
               .reasoning_pieces = reasoning_pieces_};
  object.snapshot = &snapshot_;
}

// The first event of a stream: an answer without its blocks. False: not an object; in errors this member is a
// text.
bool AnthropicMessagesReader::read_message(json::value value, AnswerObject& object) {
  json::object message;
  if (!is_object(value) || value.get_object().get(message)) return false;
  for (auto entry : message) {
    json::field field;
    if (std::move(entry).get(field)) break;
    if (field.key().unsafe_is_equal("id")) {
      if (const auto id = text(field.value(), message_id_)) object.begins = *id;
    } else {
      read_answer(field.key(), field.value(), object);
    }
  }
  return true;
}

// A member of an answer. False: the member is not used.
bool AnthropicMessagesReader::read_answer(const Key& key, json::value value, AnswerObject& object) {
  if (key.unsafe_is_equal("content")) {
    read_blocks(value, object);
  } else if (key.unsafe_is_equal("stop_reason")) {
    read_stop_reason(value, object);
  } else if (key.unsafe_is_equal("usage")) {
    read_usage(value, object);
  } else if (key.unsafe_is_equal("model")) {
    if (const auto name = text(value, model_)) object.model = *name;
  } else {
    return false;
  }
  return true;
}

void AnthropicMessagesReader::read_blocks(json::value value, AnswerObject& object) {
  json::array blocks;
  if (value.get_array().get(blocks)) return;
  object.has_choice = has_blocks_ = true;
  std::uint64_t place = 0;
  for (auto entry : blocks) {
    json::value block;
    if (entry.get(block)) return;
    read_block(block, place++, object);
  }
  object.places = place + 1;
}

// `place`: the index of a complete block; empty if only the beginning of the block is present (in a stream).
void AnthropicMessagesReader::read_block(json::value value, std::optional<std::uint64_t> place,
                                         AnswerObject& object) {
  json::object members;
  if (!is_object(value) || value.get_object().get(members)) return;
  object.has_choice = true;
  Block block;
  for (auto entry : members) {
    json::field field;
    if (std::move(entry).get(field)) return;
    read_block_member(field.key(), field.value(), block);
  }
  if (block.type == "redacted_thinking" || block.type == "fallback") block.whole = text_of_read(members);
  take_block(block, place, object);
}

void AnthropicMessagesReader::read_block_member(const Key& key, json::value value, Block& block) {
  static constexpr std::pair<const char*, std::string Block::*> texts[] = {
      {"type", &Block::type}, {"signature", &Block::signature}, {"id", &Block::id}, {"name", &Block::name}};
  for (const auto& [name, member] : texts)
    if (key.unsafe_is_equal(name)) {
      block.*member = word(value).value_or("");
      return;
    }
  if (key.unsafe_is_equal("text")) block.text = piece(value, words_, block.cut).value_or("");
  if (key.unsafe_is_equal("thinking")) block.thinking = piece(value, reasoning_text_, block.cut).value_or("");
  if (key.unsafe_is_equal("to"))
    each_member(value, [&](const Key& name, json::value model) {
      if (name.unsafe_is_equal("model")) block.to_model = word(model).value_or("");
    });
  if (!key.unsafe_is_equal("input")) return;
  if (const auto input = word(value)) {
    block.input = *input;
  } else if (!broken_string_) {
    block.input = json_of(value);
  }
}

void AnthropicMessagesReader::take_block(Block& block, std::optional<std::uint64_t> place,
                                         AnswerObject& object) {
  if (place) end_pieces(block.type == "thinking" ? block.thinking : block.text, block.cut);
  if (block.type == "text") return take_text(block, place, object);
  stands_apart_ = true;
  object.begins_block = !place;
  if (block.type == "thinking") {
    reasoning_ += block.thinking;
    object.reasoning_cut = block.cut;
    add_reasoning({.index = place.value_or(0),
                   .text = std::move(block.thinking),
                   .signature = std::move(block.signature),
                   .begins = true,
                   .item = {.place = place.value_or(0)},
                   .cut = block.cut});
  } else if (block.type == "redacted_thinking") {
    add_reasoning({.index = place.value_or(0),
                   .block = std::move(block.whole),
                   .begins = true,
                   .item = {.place = place.value_or(0)}});
  } else if (block.type == "fallback") {
    take_fallback(block, place, object);
  } else if (block.type == "tool_use") {
    ToolCallPiece piece{.id = std::move(block.id), .name = std::move(block.name), .whole = true};
    if (place) piece.index = call_index(*place);
    piece.place = place.value_or(0);
    piece.has_ended = place.has_value();
    // {} stands in for what follows, also in a block that was cut: the end of the answer says what it is.
    if (!is_empty_object(block.input)) piece.arguments = std::move(block.input);
    add_call(std::move(piece), object);
  } else {
    take_other(block, place, object);
  }
}

// Consecutive text blocks are pieces of one text, which citations cut; a block between them separates texts.
void AnthropicMessagesReader::take_text(const Block& block, std::optional<std::uint64_t> place,
                                        AnswerObject& object) {
  object.content_cut = block.cut;
  if (block.text.empty()) return;
  const bool begins = std::exchange(stands_apart_, false) || texts_.empty();
  if (place && begins) texts_.push_back({.offset = content_.size(), .index = place, .place = *place});
  content_ += block.text;
  if (place) texts_.back().bytes += block.text.size();
}

// The previous model declined, and another one continues. The block is sent back between the reasoning blocks
// around it: the API needs it to check their signatures.
void AnthropicMessagesReader::take_fallback(Block& block, std::optional<std::uint64_t> place,
                                            AnswerObject& object) {
  fallback_model_ = std::move(block.to_model);
  object.answering_model = fallback_model_;
  add_reasoning({.index = place.value_or(0),
                 .block = std::move(block.whole),
                 .begins = true,
                 .item = {.place = place.value_or(0)}});
}

// Keeps one block more than a ReasoningAssembler takes, so that the assembler refuses the answer.
void AnthropicMessagesReader::add_reasoning(ReasoningPiece piece) {
  if (reasoning_pieces_.size() <= max_reasoning_blocks) reasoning_pieces_.push_back(std::move(piece));
}

// A block of a tool that the provider runs by itself. Its deltas in a stream look like those of our calls, so
// the assembler needs a piece that marks its index as foreign.
void AnthropicMessagesReader::take_other(Block& block, std::optional<std::uint64_t> place,
                                         AnswerObject& object) {
  note_other_item(block.type);
  if (!place) add_call({.foreign = true}, object);
}

void AnthropicMessagesReader::read_delta(json::value value, AnswerObject& object) {
  json::object members;
  if (!is_object(value) || value.get_object().get(members)) return;
  object.has_choice = true;
  object.content = object.reasoning = {};  // of a second delta in one object, which reuses the buffers
  object.content_cut = object.reasoning_cut = {};
  Delta delta;
  for (auto entry : members) {
    json::field field;
    if (std::move(entry).get(field)) return;
    if (field.key().unsafe_is_equal("stop_reason")) {
      read_stop_reason(field.value(), object);
    } else {
      read_delta_member(field.key(), field.value(), delta);
    }
  }
  take_delta(delta, object);
}

void AnthropicMessagesReader::read_delta_member(const Key& key, json::value value, Delta& delta) {
  if (key.unsafe_is_equal("type")) {
    delta.kind = Delta::kind_of(word(value).value_or(""));
  } else if (key.unsafe_is_equal("text")) {
    delta.words = piece(value, words_, delta.cut).value_or("");
  } else if (key.unsafe_is_equal("thinking")) {
    delta.reasoning = piece(value, reasoning_text_, delta.cut).value_or("");
  } else if (key.unsafe_is_equal("signature")) {
    delta.signature = word(value).value_or("");
  } else if (key.unsafe_is_equal("partial_json")) {
    delta.arguments = piece(value, repaired_word_, delta.cut).value_or("");
  }
}

void AnthropicMessagesReader::take_delta(Delta& delta, AnswerObject& object) {
  switch (delta.kind) {
    case Delta::Kind::other:
      break;
    case Delta::Kind::text:
      object.content = delta.words;
      object.content_cut = delta.cut;
      break;
    case Delta::Kind::thinking:
      object.reasoning = delta.reasoning;
      object.reasoning_cut = delta.cut;
      if (!delta.reasoning.empty() || delta.cut)
        reasoning_pieces_.push_back({.text = std::string(delta.reasoning), .cut = delta.cut});
      break;
    case Delta::Kind::signature:
      reasoning_pieces_.push_back({.signature = std::move(delta.signature)});
      break;
    case Delta::Kind::arguments:
      add_call({.arguments = std::move(delta.arguments), .cut = delta.cut}, object);
      break;
  }
}

void AnthropicMessagesReader::read_stop_reason(json::value value, AnswerObject& object) {
  const auto reason = word(value);
  if (!reason || reason->empty()) return;
  if (*reason == "pause_turn") {
    object.error = ApiError{.message = std::string(paused_by_provider), .known = ErrorKind::passing};
    return;
  }
  AnswerEnd end = answer_end_of(*reason);
  if (end.error) {
    object.error = std::move(end.error);
    return;
  }
  object.finish_reason = end.reason;
  object.refused = object.finish_reason == FinishReason::refusal;
}

// A stream spreads its counts over several events; each count refers to the whole answer so far.
void AnthropicMessagesReader::read_usage(json::value value, AnswerObject& object) {
  json::object counts;
  if (!is_object(value) || value.get_object().get(counts)) return;
  UsageCounts usage{.apart = true};
  for (auto entry : counts) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const json::raw_json_string key = field.key();
    if (key.unsafe_is_equal("input_tokens")) {
      usage.prompt = said_count(field.value());
    } else if (key.unsafe_is_equal("cache_creation_input_tokens")) {
      usage.cache_written = said_count(field.value());
    } else if (key.unsafe_is_equal("cache_read_input_tokens")) {
      usage.cache_read = said_count(field.value());
    } else if (key.unsafe_is_equal("output_tokens")) {
      usage.completion = said_count(field.value());
    } else if (key.unsafe_is_equal("output_tokens_details")) {
      usage.reasoning = detail_of(field.value(), "thinking_tokens");
    }
  }
  object.usage = usage;
}

void AnthropicMessagesReader::add_call(ToolCallPiece piece, AnswerObject& object) {
  if (tool_calls_.size() == max_tool_calls) {
    object.tool_call_fault = ToolCallFault::too_many;
  } else {
    tool_calls_.push_back(std::move(piece));
  }
}

}  // namespace agentcore::detail::llm
