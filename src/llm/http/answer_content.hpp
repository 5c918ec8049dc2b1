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
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

// Keeps the state across objects: tool calls in pieces, signed reasoning, counts reported in parts.
// @loop_thread
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

  // Moves the answer into a completed outcome. Returns an error if the answer cannot be used.
  std::optional<ChatError> complete(ChatOutcome& outcome, int status);

 private:
  enum class ReasoningSource : std::uint8_t { none, reasoning, details };

  void forget_known(AnswerObject& object) const;
  void note_other_items(const AnswerObject& object);
  bool is_same_message(const AnswerObject& object);
  std::string separated_text(const AnswerObject& object);
  std::string_view begin_text(const TextPiece& piece);
  void fail(ChatError error);
  bool take_tool_calls(AnswerObject& object, int status);
  bool take_reasoning(AnswerObject& object, int status);
  bool is_kept(const ReasoningPiece& piece, const AnswerObject& object) const;
  std::string_view shown_reasoning(const AnswerObject& object);
  bool deliver(std::string_view text);
  bool deliver_reasoning(std::string_view text);
  bool has_only_other_items(const ChatOutcome& outcome) const noexcept;

  const AnswerContext& context_;
  const Binding binding_;
  AnswerUsage& usage_;
  AnswerListener& listener_;
  std::optional<FinishReason> finish_reason_;
  ReasoningSource source_ = ReasoningSource::none;  // of the reasoning that is delivered
  bool continued_ = false;
  bool new_block_ = false;   // another block began after the text that was delivered
  bool call_began_ = false;  // after that text
  bool has_text_ = false;
  bool has_reasoning_ = false;
  bool refused_ = false;
  std::uint64_t place_ = 0;       // of the first item of this object; see ItemPlace
  std::uint64_t next_place_ = 0;  // of the next object
  AnswerTexts texts_;
  std::unique_ptr<ToolCallAssembler> tool_calls_;  // made for the first tool call
  std::unique_ptr<ReasoningAssembler> reasoning_;  // made for the first block
  std::unique_ptr<const ChatError> error_;
  std::string model_;
  std::string message_id_;   // of the answer, in dialects that send one
  std::string other_items_;  // types of items that are not text, reasoning or a call of our tools
};

}  // namespace agentcore::detail::llm
