// Anthropic Messages, and what all that are compatible with it really send.
#pragma once

#include "llm/dialects/json_answer_reader.hpp"
#include "llm/dialects/wire_format.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::llm {

// Where the API does not take what a request can say:
// - it wants a limit of tokens: 4096 where neither request nor defaults have one;
// - its temperatures end at 1: a higher one is written as 1. Models that refuse any are sent what was asked;
// - it knows no JSON without a schema: ResponseFormat::Kind::json_object is not written, so that the prompt
//   has to ask for it. The answer to a schema is always guaranteed, `strict` or not, and has no name;
// - `reasoning_effort` is its effort. Thinking itself is turned on by extra_body: {"thinking": {...}}.
std::string anthropic_messages_body(const ChatRequest& request, const BodyDefaults& defaults);

// Goes by the names of members, not by an event's type: each means the same wherever it stands. Indexes count
// the blocks of an answer, texts and thoughts among them, so that a tool call's index may be larger than an
// assembler takes; those from max_tool_calls - 1 on are all written as that one: blocks come one after the
// other, and each call begins with a piece that says so.
class AnthropicMessagesReader final : public JsonAnswerReader {
 private:
  struct Block;
  struct Delta;

  void begin() override;
  bool read_member(const Key& key, Value value, AnswerObject& object) override;
  void finish(AnswerObject& object) override;

  bool read_message(Value value, AnswerObject& object);
  bool read_answer(const Key& key, Value value, AnswerObject& object);
  void read_blocks(Value value, AnswerObject& object);
  void read_block(Value value, std::optional<std::uint64_t> place, AnswerObject& object);
  void read_block_member(const Key& key, Value value, Block& block);
  void take_block(Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void take_text(std::string_view text);
  void take_fallback(Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void take_other(Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void read_delta(Value value, AnswerObject& object);
  void read_delta_member(const Key& key, Value value, Delta& delta);
  void take_delta(Delta& delta, AnswerObject& object);
  void read_stop_reason(Value value, AnswerObject& object);
  void read_usage(Value value, AnswerObject& object);
  void add_call(ToolCallPiece piece, AnswerObject& object);
  void add_reasoning(ReasoningPiece piece);

  std::string content_;        // of blocks
  std::string reasoning_;      // the same
  std::string words_;          // of a delta, if simdjson refuses it
  std::string thoughts_;       // the same
  bool stands_apart_ = false;  // a separator goes before the next text of content_
  std::string model_;
  std::string fallback_model_;
  std::string message_id_;
  std::optional<std::uint64_t> index_;  // of the block that an event is about
  std::vector<ToolCallPiece> tool_calls_;
  std::vector<ReasoningPiece> reasoning_pieces_;
};

}  // namespace agentcore::llm
