#include "llm/dialects/openai_responses_reader.hpp"

#include "llm/dialects/finish_word.hpp"
#include "llm/dialects/json_text.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

namespace json = simdjson::ondemand;

constexpr std::string_view event_prefix = "response.";
constexpr std::string_view between_summaries = "\n\n";

bool names_error(std::string_view type) noexcept {
  return type.ends_with("error") || type.ends_with("Error");
}

// The status of a response that runs in the background.
bool is_pending(std::string_view status) noexcept {
  return status == "queued" || status == "in_progress";
}

// True if an item becomes text, reasoning or a call of our tools. An item without a type is not reported as
// unknown.
bool is_taken(std::string_view type) noexcept {
  return type == "message" || type == "function_call" || type == "reasoning" || type.empty();
}

bool is_final(std::string_view status) noexcept {
  return status == "completed" || status == "incomplete" || status == "failed" || status == "cancelled";
}

std::string pending_text(const std::string& status) {
  return "The response has no answer yet: its status is \"" + status +
         "\". It was started in the background, where this client does not follow it; remove \"background\" "
         "from HttpLlmOptions::extra_body";
}

// Null and other types count as no index.
std::optional<std::uint64_t> output_index_of(json::value& value) noexcept {
  std::uint64_t index = 0;
  if (value.get_uint64().get(index)) return std::nullopt;
  return index;
}

}  // namespace

void OpenAiResponsesReader::begin() {
  for (std::string* text :
       {&type_, &item_id_, &arguments_, &response_id_, &status_, &reason_, &content_, &reasoning_})
    text->clear();
  delta_ = {};
  output_index_.reset();
  summary_index_ = 0;
  item_ = Item{};
  has_output_ = false;
  texts_.clear();
  tool_calls_.clear();
  blocks_.clear();
}

bool OpenAiResponsesReader::read_member(const Key& key, json::value value, AnswerObject& object) {
  if (read_event_member(key, value)) return true;
  if (key.unsafe_is_equal("response")) {
    read_response(value, object);
  } else if (key.unsafe_is_equal("item")) {
    read_item(value, false, object);
  } else if (key.unsafe_is_equal("output")) {
    read_output(value, object);
  } else {
    return read_response_member(key, value, object);
  }
  return true;
}

bool OpenAiResponsesReader::read_event_member(const Key& key, json::value& value) {
  if (key.unsafe_is_equal("type")) {
    type_ = word(value).value_or("");
  } else if (key.unsafe_is_equal("delta")) {
    delta_ = text(value, delta_repair_).value_or("");
  } else if (key.unsafe_is_equal("output_index")) {
    output_index_ = output_index_of(value);
  } else if (key.unsafe_is_equal("summary_index")) {
    summary_index_ = count_of(value);
  } else if (key.unsafe_is_equal("item_id")) {
    item_id_ = word(value).value_or("");
  } else if (key.unsafe_is_equal("arguments")) {
    arguments_ = word(value).value_or("");
  } else if (key.unsafe_is_equal("code")) {
    error_reader().read_code(value, loose_);
  } else {
    return false;
  }
  return true;
}

// The members of an event that refer to the whole response.
void OpenAiResponsesReader::read_response(json::value value, AnswerObject& object) {
  each_member(value, [&](const Key& key, json::value member) {
    if (!read_response_member(key, member, object) && key.unsafe_is_equal("output"))
      read_output(member, object);
  });
}

bool OpenAiResponsesReader::read_response_member(const Key& key, json::value& value, AnswerObject& object) {
  if (key.unsafe_is_equal("id")) {
    response_id_ = word(value).value_or("");
  } else if (key.unsafe_is_equal("status")) {
    if (const auto name = word(value))
      status_ = *name;
    else
      error_reader().read_code(value, loose_);
  } else if (key.unsafe_is_equal("model")) {
    if (const auto name = text(value, model_)) object.model = *name;
  } else if (key.unsafe_is_equal("usage")) {
    read_usage(value, object);
  } else if (key.unsafe_is_equal("error")) {
    read_error(value, object);
  } else if (key.unsafe_is_equal("incomplete_details")) {
    each_member(value, [this](const Key& detail, json::value member) {
      if (detail.unsafe_is_equal("reason")) reason_ = word(member).value_or("");
    });
  } else {
    return false;
  }
  return true;
}

void OpenAiResponsesReader::read_usage(json::value value, AnswerObject& object) {
  UsageCounts usage;
  const bool counted = each_member(value, [&](const Key& key, json::value member) {
    if (key.unsafe_is_equal("input_tokens")) {
      usage.prompt = said_count(member);
    } else if (key.unsafe_is_equal("output_tokens")) {
      usage.completion = said_count(member);
    } else if (key.unsafe_is_equal("total_tokens")) {
      usage.total = said_count(member);
    } else if (key.unsafe_is_equal("input_tokens_details")) {
      each_member(member, [&usage](const Key& name, json::value count) {
        if (name.unsafe_is_equal("cached_tokens")) {
          usage.cache_read = said_count(count);
        } else if (name.unsafe_is_equal("cache_write_tokens")) {  // OpenRouter
          usage.cache_written = said_count(count);
        }
      });
    } else if (key.unsafe_is_equal("output_tokens_details")) {
      usage.reasoning = detail_of(member, "reasoning_tokens");
    } else if (key.unsafe_is_equal("cost")) {  // OpenRouter
      double cost = 0;
      if (!member.get_double().get(cost) && cost >= 0) object.cost = cost;
    }
  });
  if (counted) object.usage = usage;
}

// Of a whole response.
void OpenAiResponsesReader::read_output(json::value value, AnswerObject& object) {
  json::array items;
  if (value.get_array().get(items)) return;
  has_output_ = true;
  std::uint64_t index = 0;
  for (auto entry : items) {
    json::value item;
    if (entry.get(item)) return;
    item_ = Item{};
    const std::size_t texts = texts_.size();
    read_item(item, true, object);
    for (std::size_t i = texts; i < texts_.size(); ++i) {
      texts_[i].item = {index, item_.id};
      texts_[i].index = index;
      texts_[i].phase = item_.phase;
    }
    add_whole_item(index++, object);
  }
  object.places = index + 1;
}

void OpenAiResponsesReader::add_whole_item(std::uint64_t index, AnswerObject& object) {
  if (!item_.block.empty())
    blocks_.push_back({.index = index,
                       .block = std::move(item_.block),
                       .item = {index, item_.id},
                       .is_unsigned = item_.is_unsigned});
  if (!is_taken(item_.type)) note_other_item(item_.type);
  if (item_.type != "function_call") return;
  if (tool_calls_.size() == max_tool_calls) {
    object.tool_call_fault = ToolCallFault::too_many;
    return;
  }
  item_.call.whole = true;
  item_.call.place = index;
  item_.call.item = item_.id;
  if (item_.call.id.empty()) item_.call.id = std::move(item_.id);
  tool_calls_.push_back(std::move(item_.call));
}

// `whole`: of a whole response, whose text was not delivered before. Its text is read first: an iterator that
// met an error must not be rewound.
void OpenAiResponsesReader::read_item(json::value value, bool whole, AnswerObject& object) {
  json::object members;
  std::string_view all;
  if (value.get_object().get(members) || members.raw_json().get(all) || members.reset().error()) return;
  bool encrypted = false;
  for (auto entry : members) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const Key key = field.key();
    if (key.unsafe_is_equal("encrypted_content")) {
      const auto words = word(field.value());
      encrypted = words && !words->empty();
    } else if (whole && (key.unsafe_is_equal("content") || key.unsafe_is_equal("summary"))) {
      read_parts(field.value(), object);
    } else {
      read_item_member(key, field.value());
    }
  }
  all = all.substr(0, all.find_last_of('}') + 1);
  if (item_.type != "reasoning" || !is_json_object(all)) return;
  item_.block = all;
  item_.is_unsigned = !encrypted;
}

void OpenAiResponsesReader::read_item_member(const Key& key, json::value& value) {
  if (key.unsafe_is_equal("type")) {
    item_.type = word(value).value_or("");
  } else if (key.unsafe_is_equal("id")) {
    item_.id = word(value).value_or("");
  } else if (key.unsafe_is_equal("call_id")) {
    item_.call.id = word(value).value_or("");
  } else if (key.unsafe_is_equal("phase")) {
    item_.phase = word(value).value_or("");
  } else if (key.unsafe_is_equal("name")) {
    item_.call.name = word(value).value_or("");
  } else if (key.unsafe_is_equal("arguments")) {
    const auto words = word(value);
    item_.call.arguments = words || broken_string_ ? words.value_or("") : json_of(value);
  }
}

// The text of a message, or of reasoning.
void OpenAiResponsesReader::read_parts(json::value value, AnswerObject& object) {
  json::array parts;
  if (value.get_array().get(parts)) return;
  bool first = true;
  for (auto entry : parts) {
    json::object part;
    if (entry.get_object().get(part)) return;
    read_part(part, std::exchange(first, false), object);
  }
}

// A separator goes between the texts of two items.
void OpenAiResponsesReader::add_text(std::string_view words, bool refusal) {
  if (words.empty()) return;
  const bool begins = !std::exchange(item_.has_text, true);
  if (begins && !content_.empty()) content_ += between_blocks;
  if (begins || texts_.back().refusal != refusal)
    texts_.push_back({.offset = content_.size(), .refusal = refusal});
  content_ += words;
  texts_.back().bytes += words.size();
}

// {"type": "output_text", "text": ...}, {"type": "refusal", "refusal": ...}, or one of reasoning.
void OpenAiResponsesReader::read_part(json::object part, bool first, AnswerObject& object) {
  std::string type, words;
  for (auto entry : part) {
    json::field field;
    if (std::move(entry).get(field)) return;
    const Key key = field.key();
    if (key.unsafe_is_equal("type")) {
      type = word(field.value()).value_or("");
    } else if (key.unsafe_is_equal("text") || key.unsafe_is_equal("refusal")) {
      words = word(field.value()).value_or("");
    }
  }
  object.refused = object.refused || type == "refusal";
  if (type == "output_text" || type == "refusal") {
    add_text(words, type == "refusal");
  } else if (type == "summary_text" || type == "reasoning_text") {
    if (type == "summary_text" && !first) reasoning_ += between_summaries;
    reasoning_ += words;
  }
}

void OpenAiResponsesReader::finish(AnswerObject& object) {
  if (names_error(type_) || (type_.empty() && !has_output_ && !loose_.message.empty())) {
    finish_error(object);
  } else if (!type_.empty()) {
    finish_event(object);
  } else if (is_pending(status_)) {
    if (!object.error) object.error = ApiError{.message = pending_text(status_), .known = ErrorKind::refused};
  } else if (has_output_) {
    object.has_choice = true;
    give_output(object);
    finish_response(status_, object);
  }
}

void OpenAiResponsesReader::give_output(AnswerObject& object) {
  object.repeats = true;
  object.content = content_;
  object.texts = texts_;
  object.reasoning = reasoning_;
  object.tool_calls = tool_calls_;
  object.reasoning_pieces = blocks_;
  object.other_items = other_items_;
}

void OpenAiResponsesReader::finish_event(AnswerObject& object) {
  const std::string_view type = type_;
  loose_.message.clear();
  const std::string_view status = type.starts_with(event_prefix) ? type.substr(event_prefix.size()) : "";
  if (is_final(status) || status == "done") {
    object.ends = true;
    give_output(object);
    return finish_response(is_final(status_) ? status_ : status, object);
  }
  forget_output(object);
  object.error.reset();
  if (type == "response.created") {
    object.begins = response_id_;
  } else if (type == "response.output_text.delta") {
    finish_text(delta_, false, object);
  } else if (type == "response.refusal.delta") {
    finish_text(delta_, true, object);
    object.refused = !delta_.empty();
  } else if (type == "response.function_call_arguments.delta") {
    finish_arguments(delta_, false, object);
  } else if (type == "response.function_call_arguments.done") {
    finish_arguments(arguments_, true, object);
  } else if (type == "response.output_item.added") {
    finish_item(false, object);
  } else if (type == "response.output_item.done") {
    finish_item(true, object);
  } else if (type.starts_with("response.reasoning") && type.ends_with(".delta")) {
    object.reasoning = delta_;
  } else if (type == "response.reasoning_summary_part.added" && summary_index_ != 0) {
    object.reasoning = between_summaries;
  }
}

void OpenAiResponsesReader::finish_text(std::string_view text, bool refusal, AnswerObject& object) {
  texts_.push_back({0, text.size(), refusal, output_index_, {}, {0, item_id_}});
  object.content = text;
  object.texts = texts_;
}

// Of a message, a call, or of reasoning that is to be sent back. A separator goes between the texts of two
// items.
void OpenAiResponsesReader::finish_item(bool done, AnswerObject& object) {
  object.begins_block = !done;
  if (!is_taken(item_.type)) note_other_item(item_.type);
  object.other_items = other_items_;
  if (done && !item_.block.empty()) {
    blocks_.push_back({.index = output_index_.value_or(0),
                       .block = std::move(item_.block),
                       .item = {0, item_.id},
                       .is_unsigned = item_.is_unsigned});
    object.reasoning_pieces = blocks_;
  }
  if (item_.type == "message") {
    texts_.push_back({.index = output_index_, .phase = item_.phase, .item = {0, item_.id}});
    object.texts = texts_;
  }
  if (item_.type != "function_call") return;
  ToolCallPiece piece = std::move(item_.call);
  piece.item = item_.id;
  if (piece.id.empty()) piece.id = std::move(item_.id);
  piece.replaces = done;
  finish_piece(std::move(piece), object);
}

// Without an index, the item's id may identify the call: in llama.cpp it is the id of the call.
void OpenAiResponsesReader::finish_arguments(std::string_view arguments, bool done, AnswerObject& object) {
  ToolCallPiece piece;
  if (!output_index_) piece.id = item_id_;
  piece.arguments = arguments;
  piece.replaces = done;
  finish_piece(std::move(piece), object);
}

void OpenAiResponsesReader::finish_piece(ToolCallPiece&& piece, AnswerObject& object) {
  if (output_index_) piece.index = std::min<std::uint64_t>(*output_index_, max_tool_calls - 1);
  tool_calls_.push_back(std::move(piece));
  object.tool_calls = tool_calls_;
}

void OpenAiResponsesReader::finish_response(std::string_view status, AnswerObject& object) {
  if (status == "completed") {
    object.finish_reason = FinishReason::complete;
    object.error.reset();
  } else if (status == "incomplete") {
    AnswerEnd end = answer_end_of(reason_);
    object.finish_reason = reason_.empty() ? FinishReason::length : end.reason;
    object.error = std::move(end.error);
  } else if (status == "failed" && !object.error) {
    object.error =
        ApiError{.message = "the response failed, and nothing says why", .known = ErrorKind::passing};
  } else if (status == "cancelled") {
    object.error = ApiError{.message = "the provider cancelled the response", .known = ErrorKind::passing};
  }
}

// {"type": "error", "code": ..., "message": ...}, or the same inside of an error object.
void OpenAiResponsesReader::finish_error(AnswerObject& object) {
  forget_output(object);
  if (!object.error) object.error.emplace();
  note_code(type_, loose_);
}

// Only a whole response has an output; in other objects a member of that name has another meaning.
void OpenAiResponsesReader::forget_output(AnswerObject& object) {
  texts_.clear();
  tool_calls_.clear();
  blocks_.clear();
  other_items_.clear();
  object.tool_call_fault = ToolCallFault::none;
  object.refused = false;
}

}  // namespace agentcore::detail::llm
