#include "llm/http/answer_content.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t max_compared_id = 200;  // bytes of a message's id that are compared

bool has_content(const AnswerObject& object) noexcept {
  return !object.content.empty() || !object.reasoning.empty() || !object.text_in_details.empty() ||
         !object.tool_calls.empty();
}

}  // namespace

bool AnswerContent::take(AnswerObject& object, int status) {
  place_ = std::exchange(next_place_, next_place_ + object.places);
  if (object.repeats) forget_known(object);
  take_meta(object);
  note_other_items(object);
  if (!is_same_message(object)) fail(context_.errors.other_message(status));
  if (object.error) fail(context_.errors.api(status, *object.error));
  if (error_ || !take_tool_calls(object, status) || !take_reasoning(object, status)) return false;
  object.reasoning = shown_reasoning(object);
  const std::string separated = separated_text(object);
  const std::string_view text = separated.empty() ? object.content : separated;
  if (object.reasoning.empty()) return text.empty() || deliver(text);
  const std::string content(text);  // a receiver may start a call, which uses the same reader
  return deliver_reasoning(object.reasoning) && (content.empty() || deliver(content));
}

// Notes the places of the object's texts. The object's text with a separator before it, if another block lies
// between it and the text delivered before; else empty.
std::string AnswerContent::separated_text(const AnswerObject& object) {
  new_block_ = new_block_ || object.begins_block;
  if (object.texts.empty()) {
    if (object.content.empty()) return {};
    const std::string_view separator = begin_text({.item = {.place = place_}});
    texts_.add(separator.size() + object.content.size(), separator.size(), place_);
    return separator.empty() ? std::string() : std::string(separator).append(object.content);
  }
  std::string_view first;
  std::size_t end = 0;
  for (const TextPiece& found : object.texts) {
    TextPiece piece = found;
    piece.item.place += place_;
    if (piece.bytes == 0) {
      object.begins_block ? texts_.begin(piece) : texts_.learn(piece);
      continue;
    }
    const std::string_view separator = begin_text(piece);
    const std::size_t before = end == 0 ? separator.size() : piece.offset - end;
    if (end == 0) first = separator;
    texts_.add(before + piece.bytes, before, piece.item.place);
    end = piece.offset + piece.bytes;
  }
  return first.empty() ? std::string() : std::string(first).append(object.content);
}

// Begins another text, unless the piece continues the one that grows. Returns the separator that goes before
// the piece.
std::string_view AnswerContent::begin_text(const TextPiece& piece) {
  const bool is_apart = std::exchange(new_block_, false) || !texts_.is_current_item(piece);
  const bool is_after_call = std::exchange(call_began_, false);
  if (is_apart || is_after_call || !texts_.is_current(piece)) texts_.begin(piece);
  if (texts_.is_empty()) return {};
  return is_apart || (is_after_call && context_.format.has_items()) ? between_blocks : std::string_view();
}

// False when another message begins before the end of this one.
bool AnswerContent::is_same_message(const AnswerObject& object) {
  if (object.begins.empty()) return true;
  const std::string_view id = object.begins.substr(0, max_compared_id);
  if (message_id_.empty()) message_id_ = id;
  return message_id_ == id;
}

// Notes each type once, and at most as many as an error message can show.
void AnswerContent::note_other_items(const AnswerObject& object) {
  constexpr std::size_t most = 200;
  for (const std::string& type : object.other_items) {
    if (other_items_.size() + type.size() > most || other_items_.find(type) != std::string::npos) continue;
    if (!other_items_.empty()) other_items_ += ", ";
    other_items_ += type;
  }
}

// For each kind, the earlier pieces take precedence: they may have been delivered.
void AnswerContent::forget_known(AnswerObject& object) const {
  if (has_text_) object.content = {}, object.texts = {};
  if (has_reasoning_) object.reasoning = {};
  if (reasoning_) object.reasoning_pieces = {};
  if (!tool_calls_) return;
  object.tool_calls = {};
  object.tool_call_fault = ToolCallFault::none;
}

void AnswerContent::take_meta(const AnswerObject& object) {
  usage_.take(object);
  if (object.finish_reason) {
    finish_reason_ = object.finish_reason;
    continued_ = false;
  } else if (finish_reason_ && has_content(object)) {
    continued_ = true;
  }
  refused_ = refused_ || object.refused;
  if (model_.empty()) model_ = object.model;
  if (!object.answering_model.empty()) model_ = object.answering_model;
}

void AnswerContent::fail(ChatError error) {
  error_ = std::make_unique<const ChatError>(std::move(error));
}

// False when they cannot be used: error_ is set.
bool AnswerContent::take_tool_calls(AnswerObject& object, int status) {
  ToolCallFault fault = object.tool_call_fault;
  if (object.tool_calls.empty() && fault == ToolCallFault::none) return true;
  if (!tool_calls_) tool_calls_ = std::make_unique<ToolCallAssembler>(context_.max_response_bytes);
  const std::size_t before = tool_calls_->size();
  for (ToolCallPiece& piece : object.tool_calls) {
    if (!piece.replaces) usage_.add_received(piece.arguments);
    piece.place += place_;
    if (fault == ToolCallFault::none) fault = tool_calls_->add(std::move(piece));
  }
  call_began_ = call_began_ || tool_calls_->size() > before;
  if (fault == ToolCallFault::none) return true;
  fail(context_.errors.tool_calls(status, fault, context_.max_response_bytes));
  return false;
}

// True for reasoning that the server takes back. Of a text under two names one is kept.
bool AnswerContent::is_kept(const ReasoningPiece& piece, const AnswerObject& object) const {
  if (piece.is_unsigned && !context_.reasoning.takes_unsigned) return false;
  const bool other_field = context_.reasoning.field == ReasoningRule::Field::reasoning;
  if (piece.of_field_reasoning) return other_field;
  return !other_field || !std::ranges::any_of(object.reasoning_pieces, &ReasoningPiece::of_field_reasoning);
}

// The same for the reasoning that is sent back to the provider in later requests.
bool AnswerContent::take_reasoning(AnswerObject& object, int status) {
  const auto kept = [&](const ReasoningPiece& piece) { return is_kept(piece, object); };
  if (object.reasoning_details.empty() && std::ranges::none_of(object.reasoning_pieces, kept)) return true;
  if (!reasoning_) reasoning_ = std::make_unique<ReasoningAssembler>(context_.max_response_bytes);
  for (ReasoningPiece& piece : object.reasoning_pieces)
    piece.item.place = context_.format.has_items() ? place_ + piece.item.place : 0;
  const auto add = [this](auto& piece) { return reasoning_->add(std::move(piece)); };
  const auto add_kept = [&](ReasoningPiece& piece) { return !is_kept(piece, object) || add(piece); };
  if (!object.too_many_details && std::ranges::all_of(object.reasoning_pieces, add_kept) &&
      std::ranges::all_of(object.reasoning_details, add))
    return true;
  fail(context_.errors.reasoning_too_large(status, context_.max_response_bytes));
  return false;
}

// A server that sends its reasoning in two members may do so in different chunks: the member that came first
// counts.
std::string_view AnswerContent::shown_reasoning(const AnswerObject& object) {
  if (source_ == ReasoningSource::none && !object.reasoning.empty()) source_ = ReasoningSource::reasoning;
  if (source_ == ReasoningSource::none && !object.text_in_details.empty()) source_ = ReasoningSource::details;
  return source_ == ReasoningSource::details ? object.text_in_details : object.reasoning;
}

bool AnswerContent::deliver(std::string_view text) {
  usage_.add_received(text);
  has_text_ = true;
  return listener_.on_text(text);
}

bool AnswerContent::deliver_reasoning(std::string_view text) {
  usage_.add_received(text);
  has_reasoning_ = true;
  return listener_.on_reasoning_text(text);
}

bool AnswerContent::has_answer() const noexcept {
  return has_text_ || has_reasoning_ || refused_ || tool_calls_ || reasoning_;
}

// True for an answer that ended normally, but has only items that this client does not read.
bool AnswerContent::has_only_other_items(const ChatOutcome& outcome) const noexcept {
  if (other_items_.empty() || has_text_ || refused_ || !outcome.tool_calls.empty()) return false;
  return outcome.finish_reason == FinishReason::complete || outcome.finish_reason == FinishReason::unknown ||
         outcome.finish_reason == FinishReason::tool_calls;
}

// Many servers send "stop" when tools are to be called.
std::optional<ChatError> AnswerContent::complete(ChatOutcome& outcome, int status) {
  outcome.finish_reason = refused_ ? FinishReason::refusal : finish_reason_.value_or(FinishReason::unknown);
  std::vector<ItemPlace> blocks, calls;
  const ToolCallFault fault =
      tool_calls_ ? tool_calls_->finish(outcome.tool_calls, calls) : ToolCallFault::none;
  if (fault != ToolCallFault::none)
    return context_.errors.tool_calls(status, fault, context_.max_response_bytes);
  if (has_only_other_items(outcome)) return context_.errors.no_usable_item(status, other_items_);
  const bool is_empty = !has_text_ && !refused_ && outcome.tool_calls.empty();
  if (is_empty && outcome.finish_reason == FinishReason::other) return context_.errors.empty_answer(status);
  if (reasoning_) {
    const bool all = goes_with(context_.reasoning, !outcome.tool_calls.empty(), true);
    outcome.reasoning =
        reasoning_->finish(context_.format, context_.reasoning,
                           block_of(context_.format.dialect(), context_.server, binding_), all, blocks);
  }
  outcome.order = texts_.order(std::move(blocks), std::move(calls), context_.format.has_items());
  FinishReason& reason = outcome.finish_reason;
  const bool ended_normally = reason == FinishReason::complete || reason == FinishReason::unknown;
  if (ended_normally && !outcome.tool_calls.empty()) reason = FinishReason::tool_calls;
  return std::nullopt;
}

}  // namespace agentcore::detail::llm
