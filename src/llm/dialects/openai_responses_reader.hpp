// OpenAI Responses: how an answer is read, and what compatible servers really send.
#pragma once

#include "llm/dialects/json_answer_reader.hpp"
#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// An object with a `type` is an event of a stream, and one without is a whole response, or an error. The type
// may be the last member (vLLM), so members are noted first and interpreted at the end. An event of an
// unknown type is ignored; a type that ends in "error" is an error.
//
// Where the arguments of a call come more than once, in pieces and then whole, the whole ones count; servers
// that send them in only one of the two ways are read as well. The text of an answer is taken from its
// deltas; a text without events of its own is taken from the last event. Output indexes count all items of an
// answer, so they may exceed the range of a ToolCallAssembler: the items from there on share its last index,
// which works because they come one after the other.
class OpenAiResponsesReader final : public JsonAnswerReader {
 private:
  // One entry of an output.
  struct Item {
    std::string type;
    std::string id;
    std::string phase;
    ToolCallPiece call;
    std::string block;         // all of it, if it is reasoning
    bool is_unsigned = false;  // reasoning that is not encrypted
    bool has_text = false;     // in texts_
  };

  void begin() override;
  bool read_member(const Key& key, Value value, AnswerObject& object) override;
  void finish(AnswerObject& object) override;

  // Members.
  bool read_event_member(const Key& key, Value& value);
  bool read_response_member(const Key& key, Value& value, AnswerObject& object);
  void read_response(Value value, AnswerObject& object);
  void read_usage(Value value, AnswerObject& object);
  void read_output(Value value, AnswerObject& object);
  void read_item(Value value, bool whole, AnswerObject& object);
  void read_item_member(const Key& key, Value& value);
  void add_text(std::string_view words, bool refusal);
  void read_parts(Value value, AnswerObject& object);
  void read_part(Object part, bool first, AnswerObject& object);
  void add_whole_item(std::uint64_t index, AnswerObject& object);

  // The interpretation of the members together.
  void finish_event(AnswerObject& object);
  void give_output(AnswerObject& object);
  void finish_item(bool done, AnswerObject& object);
  void finish_text(std::string_view text, bool refusal, AnswerObject& object);
  void finish_arguments(std::string_view arguments, bool done, AnswerObject& object);
  void finish_piece(ToolCallPiece&& piece, AnswerObject& object);
  void finish_response(std::string_view status, AnswerObject& object);
  void finish_error(AnswerObject& object);
  void forget_output(AnswerObject& object);

  // Of an event.
  std::string type_;
  std::string_view delta_;
  std::string delta_repair_;
  std::string item_id_;
  std::string arguments_;
  std::optional<std::uint64_t> output_index_;
  std::uint64_t summary_index_ = 0;
  Item item_;

  // Of a response, which may be inside an event.
  std::string response_id_;
  std::string status_;
  std::string reason_;  // why it is incomplete
  std::string model_;
  bool has_output_ = false;
  std::string content_;           // of all its messages
  std::vector<TextPiece> texts_;  // of content_, or of an event
  std::string reasoning_;         // all of it

  std::vector<ToolCallPiece> tool_calls_;
  std::vector<ReasoningPiece> blocks_;
};

}  // namespace agentcore::detail::llm
