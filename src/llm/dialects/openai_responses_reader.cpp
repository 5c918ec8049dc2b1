#include "llm/dialects/openai_responses_reader.hpp"

#include "llm/dialects/finish_word.hpp"
#include "llm/dialects/json_text.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

namespace json = simdjson::ondemand;

constexpr std::string_view event_prefix = "response.";

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
  for (std::string* text : {&type_, &item_id_, &arguments_, &response_id_, &status_, &reason_, &output_text_})
    text->clear();
  delta_ = text_ = {};
  delta_cut_ = {};
  has_part_ = false;
  output_index_.reset();
  summary_index_ = content_index_ = 0;
  item_ = Item{};
  has_output_ = false;
  forget_content();
}

void OpenAiResponsesReader::forget_content() {
  texts_.clear();
  tool_calls_.clear();
  blocks_.clear();
}

bool OpenAiResponsesReader::read_member(const Key& key, json::value value, AnswerObject& object) {
  if (read_event_member(key, value)) return true;
  if (key.unsafe_is_equal("response")) {
    read_response(value, object);
  } else if (key.unsafe_is_equal("item")) {
    read_item(value, object);
  } else if (key.unsafe_is_equal("part")) {
    json::object part;
    has_part_ = !value.get_object().get(part);
    if (has_part_) read_part(part, 0, object);
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
    delta_ = piece(value, delta_repair_, delta_cut_).value_or("");
  } else if (key.unsafe_is_equal("text") || key.unsafe_is_equal("refusal")) {
    text_ = text(value, text_repair_).value_or("");
  } else if (key.unsafe_is_equal("content_index")) {
    content_index_ = count_of(value);
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
  } else if (key.unsafe_is_equal("output_text")) {
    output_text_ = word(value).value_or("");
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
    const std::size_t texts = texts_.texts.size(), reasoning_texts = texts_.reasoning_texts.size();
    read_item(item, object);
    texts_.name(texts, reasoning_texts,
                {.index = index, .phase = item_.phase, .id = item_.id, .place = index});
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

// Its text is read first: an iterator that met an error must not be rewound.
void OpenAiResponsesReader::read_item(json::value value, AnswerObject& object) {
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
    } else if (key.unsafe_is_equal("content") || key.unsafe_is_equal("summary")) {
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
  std::uint64_t number = 0;
  for (auto entry : parts) {
    json::object part;
    if (entry.get_object().get(part)) return;
    read_part(part, number++, object);
  }
}

// {"type": "output_text", "text": ...}, {"type": "refusal", "refusal": ...}, or one of reasoning.
void OpenAiResponsesReader::read_part(json::object part, std::uint64_t number, AnswerObject& object) {
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
  if (type == "output_text" || type == "refusal") texts_.add(words, number, type == "refusal");
  if (type == "summary_text") texts_.add_thought(words, number);
  if (type == "reasoning_text") texts_.add_thought(words, unseparated_parts + number);
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
  if (texts_.content.empty()) texts_.add(output_text_, 0, false);
  give(Repeats::answer, object);
  object.other_items = other_items_;
}

void OpenAiResponsesReader::give(Repeats what, AnswerObject& object) {
  snapshot_ = texts_.snapshot(what);
  if (what == Repeats::answer) snapshot_.tool_calls = tool_calls_;
  if (what == Repeats::answer) snapshot_.reasoning_pieces = blocks_;
  object.snapshot = &snapshot_;
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
  object.error.reset();
  if (type == "response.output_item.added" || type == "response.output_item.done")
    return finish_item(type.ends_with(".done"), object);
  if (has_part_ && type.ends_with("_part.done")) return finish_part(object);
  forget_output(object);
  if (type == "response.created") {
    object.begins = response_id_;
  } else if (type.starts_with("response.output_text.") || type.starts_with("response.refusal.")) {
    finish_text(type, object);
  } else if (type == "response.function_call_arguments.delta") {
    finish_arguments(delta_, false, object);
  } else if (type == "response.function_call_arguments.done") {
    finish_arguments(arguments_, true, object);
  } else if (type.starts_with("response.reasoning")) {
    finish_reasoning(type, object);
  }
}

TextPiece OpenAiResponsesReader::piece_of_event(std::size_t bytes, std::uint64_t part) const {
  return {.bytes = bytes, .index = output_index_, .part = part, .id = item_id_};
}

// A piece of a text or of a refusal, or all of it.
void OpenAiResponsesReader::finish_text(std::string_view type, AnswerObject& object) {
  const bool is_done = type.ends_with(".done");
  if (!is_done && !type.ends_with(".delta")) return;
  const std::string_view text = is_done ? text_ : delta_;
  TextPiece& piece = texts_.texts.emplace_back(piece_of_event(text.size(), content_index_));
  piece.refusal = type.starts_with("response.refusal.");
  object.refused = piece.refusal && !text.empty();
  if (is_done) {
    texts_.content = text;
    return give(Repeats::part, object);
  }
  object.content = text;
  object.content_cut = delta_cut_;
  object.texts = texts_.texts;
}

// The same for reasoning, and its summary.
void OpenAiResponsesReader::finish_reasoning(std::string_view type, AnswerObject& object) {
  const bool is_done = type.ends_with(".done"), is_piece = type.ends_with(".delta");
  if (!is_done && !is_piece && type != "response.reasoning_summary_part.added") return;
  const bool is_summary = type.find("summary") != std::string_view::npos;
  const std::string_view text = is_done ? text_ : is_piece ? delta_ : std::string_view();
  texts_.reasoning_texts.push_back(
      piece_of_event(text.size(), is_summary ? summary_index_ : unseparated_parts + content_index_));
  if (is_done) {
    texts_.reasoning = text;
    return give(Repeats::part, object);
  }
  object.reasoning = text;
  if (is_piece) object.reasoning_cut = delta_cut_;
  object.reasoning_texts = texts_.reasoning_texts;
}

// {"part": {"type": ..., "text": ...}}
void OpenAiResponsesReader::finish_part(AnswerObject& object) {
  for (TextPiece& piece : texts_.texts) piece = piece_of_part(piece, content_index_);
  for (TextPiece& piece : texts_.reasoning_texts)
    piece = piece_of_part(
        piece, piece.part < unseparated_parts ? summary_index_ : unseparated_parts + content_index_);
  give(Repeats::part, object);
}

TextPiece OpenAiResponsesReader::piece_of_part(const TextPiece& piece, std::uint64_t part) const {
  TextPiece of_event = piece_of_event(piece.bytes, part);
  of_event.offset = piece.offset;
  of_event.refusal = piece.refusal;
  return of_event;
}

// Of a message, a call, or of reasoning that is to be sent back. A separator goes between the texts of two
// items.
void OpenAiResponsesReader::finish_item(bool done, AnswerObject& object) {
  object.begins_block = !done;
  object.tool_call_fault = ToolCallFault::none;
  tool_calls_.clear();
  blocks_.clear();
  other_items_.clear();
  if (!is_taken(item_.type)) note_other_item(item_.type);
  object.other_items = other_items_;
  if (done && !item_.block.empty()) {
    blocks_.push_back({.index = output_index_,
                       .block = std::move(item_.block),
                       .item = {0, item_.id},
                       .is_unsigned = item_.is_unsigned});
    object.reasoning_pieces = blocks_;
  }
  finish_item_text(done, object);
  if (item_.type != "function_call") return;
  ToolCallPiece piece = std::move(item_.call);
  piece.item = item_.id;
  if (piece.id.empty()) piece.id = std::move(item_.id);
  piece.replaces = done;
  finish_piece(std::move(piece), object);
}

// Its text was sent before, or not at all.
void OpenAiResponsesReader::finish_item_text(bool done, AnswerObject& object) {
  if (!done) {
    texts_.texts.clear();
    object.refused = false;
  }
  if (item_.type == "message" && texts_.texts.empty())
    texts_.texts.push_back({.offset = texts_.content.size()});
  texts_.name(0, 0, {.index = output_index_, .phase = item_.phase, .id = item_.id});
  if (done) {
    give(Repeats::item, object);
  } else {
    object.texts = texts_.texts;
  }
}

// The item's id identifies the call: in llama.cpp it is the id of the call.
void OpenAiResponsesReader::finish_arguments(std::string_view arguments, bool done, AnswerObject& object) {
  ToolCallPiece piece;
  piece.item = item_id_;
  piece.arguments = arguments;
  if (!done) piece.cut = delta_cut_;
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
  forget_content();
  other_items_.clear();
  object.tool_call_fault = ToolCallFault::none;
  object.refused = false;
}

}  // namespace agentcore::detail::llm
