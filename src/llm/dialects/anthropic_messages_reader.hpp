// Anthropic Messages: how an answer is read, and what compatible servers really send.
#pragma once

#include "llm/dialects/json_answer_reader.hpp"
#include "llm/dialects/wire_format.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// Where the API does not accept what a request can express:
// - it requires a token limit: 4096 where neither request nor defaults have one;
// - its temperatures end at 1: a higher one is written as 1. Models that refuse temperatures still get the
//   requested one;
// - it has no JSON without a schema: ResponseFormat::Kind::json_object is not written, so the prompt has to
//   request JSON. The answer to a schema is always guaranteed, `strict` or not, and has no name;
// - `reasoning_effort` is its effort. Thinking itself is turned on by extra_body: {"thinking": {...}}.
std::string anthropic_messages_body(const ChatRequest& request, const BodyDefaults& defaults);

// Reads by the names of members, not by an event's type: each name means the same in every event, but that
// the blocks in the events that end a block or the answer were sent before. Indexes count all blocks of an
// answer, texts and reasoning included, so the index of a tool call may exceed the range of an assembler.
// Indexes from max_tool_calls - 1 on are all written as max_tool_calls - 1: blocks come one after the other,
// and the first piece of each call marks its beginning.
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
  void take_text(const Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void take_fallback(Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void take_other(Block& block, std::optional<std::uint64_t> place, AnswerObject& object);
  void read_delta(Value value, AnswerObject& object);
  void read_delta_member(const Key& key, Value value, Delta& delta);
  void take_delta(Delta& delta, AnswerObject& object);
  void read_stop_reason(Value value, AnswerObject& object);
  void read_usage(Value value, AnswerObject& object);
  void add_call(ToolCallPiece piece, AnswerObject& object);
  void add_reasoning(ReasoningPiece piece);
  void give_snapshot(Repeats what, AnswerObject& object);

  std::string type_;              // of the event, the answer or the error
  std::string content_;           // of blocks, without separators
  std::string reasoning_;         // the same
  std::string words_;             // the text of a delta, if simdjson refuses it
  std::string reasoning_text_;    // the reasoning of a delta, likewise
  bool stands_apart_ = false;     // another block lies before the next text of content_
  bool is_stop_ = false;          // the event ends a block or the answer: what it has was sent before
  bool has_blocks_ = false;       // a whole answer
  std::vector<TextPiece> texts_;  // of content_, in a whole answer
  Snapshot snapshot_;
  std::string model_;
  std::string fallback_model_;
  std::string message_id_;
  std::optional<std::uint64_t> index_;  // of the block that an event is about
  std::vector<ToolCallPiece> tool_calls_;
  std::vector<ReasoningPiece> reasoning_pieces_;
};

}  // namespace agentcore::detail::llm
