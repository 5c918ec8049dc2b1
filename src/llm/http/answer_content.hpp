// AnswerContent: collects the content of the JSON objects of one answer. No I/O.
#pragma once

#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/reasoning_assembler.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/answer_context.hpp"
#include "llm/http/answer_listener.hpp"
#include "llm/http/answer_texts.hpp"
#include "llm/http/answer_usage.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::llm {

// Keeps the state across objects: texts and tool calls in pieces, signed reasoning, counts reported in parts.
// Snapshots are taken after the pieces of the same object. @loop_thread
class AnswerContent {
 public:
  // `binding`: of the reasoning of the answer.
  AnswerContent(const AnswerContext& context, Binding binding, AnswerUsage& usage,
                AnswerListener& listener) noexcept
      : context_(context), binding_(std::move(binding)), usage_(usage), listener_(listener) {}

  // Takes the content of `object`, its text last. False when the call is over: error() is set, or the
  // listener reported it. `status`: of the HTTP answer.
  bool take(AnswerObject& object, int status);
  // Only model, counts and finish reason, without the text.
  void take_meta(const AnswerObject& object);

  const ChatError* error() const noexcept { return error_.get(); }  // null: none
  bool is_finished() const noexcept { return finish_reason_.has_value(); }
  // More of the answer followed its finish reason.
  bool continued_after_finish() const noexcept { return continued_; }
  // True when the objects so far make an answer, possibly only a refusal.
  bool has_answer() const noexcept;
  const std::string& model() const noexcept { return model_; }  // as the provider names it
  // What of the answer contradicted itself or was left out, for the log; empty: nothing.
  std::string_view note() const noexcept;

  // Moves the answer into a completed outcome; the last text may be delivered. Returns an error if the answer
  // cannot be used.
  std::optional<ChatError> complete(ChatOutcome& outcome, int status);

 private:
  enum class ReasoningSource : std::uint8_t { none, reasoning, details };
  enum class Note : std::uint8_t { none, difference, nameless_call };

  void note_other_items(const AnswerObject& object);
  bool is_same_message(const AnswerObject& object);
  void fail(ChatError error);
  bool take_tool_calls(AnswerObject& object, int status);
  bool take_reasoning(AnswerObject& object, int status);
  bool is_kept(const ReasoningPiece& piece, std::span<const ReasoningPiece> all) const;
  bool take_texts(AnswerObject& object, int status);
  void end_text_at_call() noexcept;
  void take_snapshot(const Snapshot& snapshot, bool is_last, std::string& words, std::string& reasoned);
  bool is_plain(const AnswerObject& object) const noexcept;
  bool fits(std::size_t more, int status);
  std::string_view shown_reasoning(std::string_view reasoning, std::string_view in_details);
  bool deliver(std::string_view text);
  bool deliver_reasoning(std::string_view text);
  bool has_only_other_items(const ChatOutcome& outcome) const noexcept;

  const AnswerContext& context_;
  const Binding binding_;
  AnswerUsage& usage_;
  AnswerListener& listener_;
  std::optional<FinishReason> finish_reason_;
  ReasoningSource source_ = ReasoningSource::none;  // of the reasoning that is delivered
  Note note_ = Note::none;
  bool continued_ = false;
  bool has_text_ = false;
  bool has_reasoning_ = false;
  bool has_pieces_ = false;  // of a text, and not only snapshots
  bool refused_ = false;
  bool begins_call_ = false;      // in this object
  std::uint64_t place_ = 0;       // of the first item of this object; see ItemPlace
  std::uint64_t next_place_ = 0;  // of the next object
  AnswerTexts texts_{AnswerTexts::Separates::texts};
  std::unique_ptr<AnswerTexts> reasoning_texts_;   // made for the first reasoning
  std::unique_ptr<ToolCallAssembler> tool_calls_;  // made for the first tool call
  std::unique_ptr<ReasoningAssembler> reasoning_;  // made for the first block
  std::unique_ptr<const ChatError> error_;
  std::string model_;
  std::string message_id_;   // of the answer, in dialects that send one
  std::string other_items_;  // types of items that are not text, reasoning or a call of our tools
};

}  // namespace agentcore::detail::llm
