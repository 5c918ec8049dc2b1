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
  take_meta(object);
  note_other_items(object);
  if (!is_same_message(object)) fail(context_.errors.other_message(status));
  if (object.error) fail(context_.errors.api(status, *object.error));
  if (error_) return false;
  if (object.begins_block) texts_.end_item();
  if (object.begins_block && reasoning_texts_) reasoning_texts_->end_item();
  return take_tool_calls(object, status) && take_reasoning(object, status) && take_texts(object, status);
}

// True for an object with a piece of text alone that needs nothing before it: nearly all are.
bool AnswerContent::is_plain(const AnswerObject& object) const noexcept {
  return !object.snapshot && object.texts.empty() && object.reasoning_texts.empty() &&
         object.reasoning.empty() && object.text_in_details.empty() && !object.reasoning_cut &&
         !object.details_cut && texts_.is_plain(object.content_cut);
}

// A receiver may start a call, which uses the same reader: all is taken from the object before any of it is
// delivered.
bool AnswerContent::take_texts(AnswerObject& object, int status) {
  has_pieces_ = has_pieces_ || !object.content.empty();
  if (is_plain(object)) {
    if (object.content.empty()) return end_text_at_call(), true;
    texts_.add_plain(object.content, place_);
    end_text_at_call();
    return fits(object.content.size(), status) && deliver(object.content);
  }
  std::string words, reasoned;
  if (source_ == ReasoningSource::none && object.reasoning_cut) source_ = ReasoningSource::reasoning;
  const std::string_view reasoning = shown_reasoning(object.reasoning, object.text_in_details);
  if (source_ == ReasoningSource::none && object.details_cut) source_ = ReasoningSource::details;
  const bool is_all = source_ == ReasoningSource::reasoning;
  const CutPair cut = is_all ? object.reasoning_cut : object.details_cut;
  const bool has_reasoning = !reasoning.empty() || cut || !object.reasoning_texts.empty();
  if (has_reasoning && !reasoning_texts_)
    reasoning_texts_ = std::make_unique<AnswerTexts>(AnswerTexts::Separates::parts);
  if (has_reasoning) reasoning_texts_->take(reasoning, cut, object.reasoning_texts, false, place_, reasoned);
  texts_.take(object.content, object.content_cut, object.texts, object.begins_block, place_, words);
  if (object.snapshot) take_snapshot(*object.snapshot, object.ends, words, reasoned);
  end_text_at_call();
  if (!fits(words.size() + reasoned.size(), status)) return false;
  return (reasoned.empty() || deliver_reasoning(reasoned)) && (words.empty() || deliver(words));
}

// The text of an object that has calls, too, comes before them, as in a message. What follows does not; but
// where an answer has no items, it has one text, which may be cut anywhere.
void AnswerContent::end_text_at_call() noexcept {
  if (begins_call_ && context_.format.has_items()) texts_.end_item();
}

void AnswerContent::take_snapshot(const Snapshot& snapshot, bool is_last, std::string& words,
                                  std::string& reasoned) {
  const std::string_view reasoning = shown_reasoning(snapshot.reasoning, snapshot.text_in_details);
  if (!reasoning.empty()) {
    if (!reasoning_texts_) reasoning_texts_ = std::make_unique<AnswerTexts>(AnswerTexts::Separates::parts);
    reasoning_texts_->take_snapshot(snapshot.what, reasoning, snapshot.reasoning_texts, place_, is_last,
                                    reasoned);
  }
  if (snapshot.content.empty() && snapshot.texts.empty()) return;
  if (texts_.take_snapshot(snapshot.what, snapshot.content, snapshot.texts, place_, is_last, words)) return;
  if (has_pieces_ || snapshot.what != Repeats::answer || context_.format.has_items()) {
    note_ = Note::difference;
  } else {  // a server that sends nothing but messages, each with the next piece
    texts_.take(snapshot.content, {}, snapshot.texts, false, place_, words);
  }
}

// False when the answer gets too large: error_ is set.
bool AnswerContent::fits(std::size_t more, int status) {
  if (usage_.received_bytes() + more <= context_.max_response_bytes) return true;
  fail(context_.errors.answer_too_large(status, context_.max_response_bytes));
  return false;
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
  const std::span<ToolCallPiece> whole =
      object.snapshot ? object.snapshot->tool_calls : std::span<ToolCallPiece>();
  begins_call_ = false;
  if (object.ended_call && tool_calls_) tool_calls_->end(*object.ended_call);
  if (object.tool_calls.empty() && whole.empty() && fault == ToolCallFault::none) return true;
  if (!tool_calls_) tool_calls_ = std::make_unique<ToolCallAssembler>(context_.max_response_bytes);
  const std::size_t before = tool_calls_->size();
  for (ToolCallPiece& piece : object.tool_calls) {
    if (!piece.replaces) usage_.add_received(piece.arguments);
    piece.place += place_;
    if (fault == ToolCallFault::none) fault = tool_calls_->add(std::move(piece));
  }
  tool_calls_->begin_snapshot();
  for (ToolCallPiece& piece : whole) {
    piece.place += place_;
    if (fault == ToolCallFault::none) fault = tool_calls_->add_snapshot(std::move(piece));
  }
  begins_call_ = tool_calls_->size() > before;
  if (fault == ToolCallFault::none) return true;
  fail(context_.errors.tool_calls(status, fault, context_.max_response_bytes));
  return false;
}

// True for reasoning that the server takes back. Of a text under two names one is kept.
bool AnswerContent::is_kept(const ReasoningPiece& piece, std::span<const ReasoningPiece> all) const {
  if (piece.is_unsigned && !context_.reasoning.takes_unsigned) return false;
  const bool other_field = context_.reasoning.field == ReasoningRule::Field::reasoning;
  if (piece.of_field_reasoning) return other_field;
  return !other_field || !std::ranges::any_of(all, &ReasoningPiece::of_field_reasoning);
}

// The same for the reasoning that is sent back to the provider in later requests.
bool AnswerContent::take_reasoning(AnswerObject& object, int status) {
  const Snapshot none;
  const Snapshot& whole = object.snapshot ? *object.snapshot : none;
  const std::span<ReasoningPiece> pieces = object.reasoning_pieces, again = whole.reasoning_pieces;
  const auto keeps_any = [this](std::span<const ReasoningPiece> all) {
    return std::ranges::any_of(all, [&](const ReasoningPiece& piece) { return is_kept(piece, all); });
  };
  if (!keeps_any(pieces) && !keeps_any(again) && object.reasoning_details.empty() &&
      whole.reasoning_details.empty())
    return true;
  if (!reasoning_) reasoning_ = std::make_unique<ReasoningAssembler>(context_.max_response_bytes);
  for (const std::span<ReasoningPiece> some : {pieces, again})
    for (ReasoningPiece& piece : some)
      piece.item.place = context_.format.has_items() ? place_ + piece.item.place : 0;
  const auto add = [&](ReasoningPiece& piece) {
    return !is_kept(piece, pieces) || reasoning_->add(std::move(piece));
  };
  const auto add_again = [&](ReasoningPiece& piece) {
    return !is_kept(piece, again) || reasoning_->add_snapshot(std::move(piece));
  };
  bool fits = !object.too_many_details && std::ranges::all_of(pieces, add);
  for (ReasoningDetail& detail : object.reasoning_details) fits = fits && reasoning_->add(std::move(detail));
  reasoning_->begin_snapshot();
  fits = fits && std::ranges::all_of(again, add_again);
  for (ReasoningDetail& detail : whole.reasoning_details)
    fits = fits && reasoning_->add_snapshot(std::move(detail));
  if (!fits) fail(context_.errors.reasoning_too_large(status, context_.max_response_bytes));
  return fits;
}

// A server that sends its reasoning in two members may do so in different chunks: the member that came first
// counts.
std::string_view AnswerContent::shown_reasoning(std::string_view reasoning, std::string_view in_details) {
  if (source_ == ReasoningSource::none && !reasoning.empty()) source_ = ReasoningSource::reasoning;
  if (source_ == ReasoningSource::none && !in_details.empty()) source_ = ReasoningSource::details;
  return source_ == ReasoningSource::details ? in_details : reasoning;
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

std::string_view AnswerContent::note() const noexcept {
  switch (note_) {
    case Note::difference:
      return "the server repeated a part of its answer, and not as it was before: what came first counts";
    case Note::nameless_call:
      return "a tool call of the answer has no name: it was left out";
    default:
      return {};
  }
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
  if (tool_calls_) {
    if (tool_calls_->has_difference()) note_ = Note::difference;
    const FinishReason end = outcome.finish_reason;
    const bool ended_normally =
        end == FinishReason::complete || end == FinishReason::tool_calls || end == FinishReason::unknown;
    const ToolCallFault fault = tool_calls_->finish(outcome.tool_calls, calls, ended_normally);
    if (fault != ToolCallFault::none) note_ = Note::nameless_call;
    if (fault != ToolCallFault::none && outcome.tool_calls.empty() && !has_text_)
      return context_.errors.tool_calls(status, fault, context_.max_response_bytes);
  }
  if (has_only_other_items(outcome)) return context_.errors.no_usable_item(status, other_items_);
  const bool is_empty = !has_text_ && !refused_ && outcome.tool_calls.empty();
  if (is_empty && outcome.finish_reason == FinishReason::other) return context_.errors.empty_answer(status);
  std::string words, reasoned;
  texts_.finish(words);
  if (reasoning_texts_) reasoning_texts_->finish(reasoned);
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
  const bool goes_on = reasoned.empty() || deliver_reasoning(reasoned);
  if (goes_on && !words.empty()) deliver(words);
  return std::nullopt;
}

}  // namespace agentcore::detail::llm
