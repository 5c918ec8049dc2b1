// OpenAI Responses: how an answer is read, and what compatible servers really send.
#pragma once

#include "llm/dialects/json_answer_reader.hpp"
#include "llm/dialects/response_texts.hpp"
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
// that send them in only one of the two ways are read as well. Texts come in deltas, and again in the events
// that end their part, their item and the answer: these are snapshots. Output indexes count all items of an
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
  void read_item(Value value, AnswerObject& object);
  void read_item_member(const Key& key, Value& value);
  void read_parts(Value value, AnswerObject& object);
  void read_part(Object part, std::uint64_t number, AnswerObject& object);
  void add_whole_item(std::uint64_t index, AnswerObject& object);

  // The interpretation of the members together.
  void finish_event(AnswerObject& object);
  void give_output(AnswerObject& object);
  void finish_item(bool done, AnswerObject& object);
  void finish_text(std::string_view type, AnswerObject& object);
  void finish_reasoning(std::string_view type, AnswerObject& object);
  void finish_part(AnswerObject& object);
  TextPiece piece_of_part(const TextPiece& piece, std::uint64_t part) const;
  void finish_item_text(bool done, AnswerObject& object);
  void give(Repeats what, AnswerObject& object);
  TextPiece piece_of_event(std::size_t bytes, std::uint64_t part) const;
  void finish_arguments(std::string_view arguments, bool done, AnswerObject& object);
  void finish_piece(ToolCallPiece&& piece, AnswerObject& object);
  void finish_response(std::string_view status, AnswerObject& object);
  void finish_error(AnswerObject& object);
  void forget_output(AnswerObject& object);
  void forget_content();

  // Of an event.
  std::string type_;
  std::string_view delta_;
  std::string delta_repair_;
  CutPair delta_cut_;
  std::string_view text_;  // of the event that ends a text
  std::string text_repair_;
  std::string item_id_;
  std::string arguments_;
  std::optional<std::uint64_t> output_index_;
  std::uint64_t summary_index_ = 0;
  std::uint64_t content_index_ = 0;
  bool has_part_ = false;
  Item item_;

  // Of a response, which may be inside an event.
  std::string response_id_;
  std::string status_;
  std::string reason_;  // why it is incomplete
  std::string model_;
  bool has_output_ = false;
  std::string output_text_;  // a copy of all texts, or the only one
  ResponseTexts texts_;      // of a response, of an item, or of a part
  Snapshot snapshot_;

  std::vector<ToolCallPiece> tool_calls_;
  std::vector<ReasoningPiece> blocks_;
};

}  // namespace agentcore::detail::llm
