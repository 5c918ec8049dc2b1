// JsonAnswerReader: the common part of all readers of answers: simdjson's parser and its buffers, the check
// of a whole body, and errors, which have the same forms in all dialects.
#pragma once

#include "llm/dialects/chunk_shape.hpp"
#include "llm/dialects/error_reader.hpp"
#include "llm/dialects/ondemand.hpp"
#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace agentcore::detail::llm {

// A dialect reads the members of the root object, one by one in the order in which they come; this class
// reads the members that the dialect does not take. Errors in the structure of the JSON, at any depth, end
// the iteration by themselves: simdjson's iterator keeps them. So a reader that meets something unexpected
// simply returns.
class JsonAnswerReader : public AnswerReader {
 public:
  bool parse_chunk(std::string_view json, std::size_t readable_behind, AnswerObject& object) final;
  bool parse_body(std::string_view json, AnswerObject& object) final;
  bool holds_large_buffers() const noexcept final;

 protected:
  using Value = simdjson::ondemand::value;
  using Object = simdjson::ondemand::object;
  using Key = simdjson::ondemand::raw_json_string;

  // Resets the state of the previous object.
  virtual void begin() = 0;
  // Reads one member of the root object. False: not a member of this dialect.
  virtual bool read_member(const Key& key, Value value, AnswerObject& object) = 0;
  // After the last member.
  virtual void finish(AnswerObject& /*object*/) {}

  // The value's text, if it is a string; see text_of(). Valid until the next use of `repair`.
  std::optional<std::string_view> text(Value& value, std::string& repair) {
    return text_of(value, repair, broken_string_);
  }
  // The same for a piece of a longer text; see piece_of().
  std::optional<std::string_view> piece(Value& value, std::string& repair, CutPair& cut) {
    return piece_of(value, repair, broken_string_, cut);
  }
  // The text, for one that is used at once.
  std::optional<std::string_view> word(Value& value) { return text(value, repaired_word_); }
  // Marks a value that may differ in chunks that are otherwise the same: a content of any type, the model,
  // and what is not used.
  void mark(Value& value, ChunkShape::Use use) {
    if (shape_.takes_marks()) shape_.mark(value.raw_json_token(), use);
  }
  // Reads the value of a member "error". False: an object that says nothing.
  bool read_error(Value value, AnswerObject& object);
  ErrorReader error_reader() { return {repaired_word_, broken_string_}; }
  // Adds the type of an item that is neither text nor reasoning nor a call of our tools to other_items_: each
  // type once, and at most as many as an error message can name.
  void note_other_item(std::string_view type);

  std::string repaired_word_;   // a string that simdjson refuses
  bool broken_string_ = false;  // a string that is needed is invalid
  // What the root object says as an error of its own, {"message": ..., "type": ..., "code": ...}. It is one
  // if it has a message and nothing of an answer, and completes an error that the object holds.
  ApiError loose_;
  std::vector<std::string> other_items_;  // of this object
  bool holds_choices_ =
      false;  // or is of an answer, perhaps empty: an error that says nothing is none beside it

 private:
  simdjson::error_code read(std::string_view text, std::size_t readable_behind, AnswerObject& object);
  simdjson::error_code read_padded(std::string_view text, AnswerObject& object);
  simdjson::error_code read_root(simdjson::ondemand::document& document, AnswerObject& object);
  simdjson::error_code read_members(Object root, AnswerObject& object);
  void settle_error(AnswerObject& object);
  std::string_view pad(std::string_view text);
  void reserve(std::size_t size);
  static bool check(std::string_view text, std::string& inner);
  static simdjson::error_code check(simdjson::dom::parser& checker, std::string_view text,
                                    simdjson::dom::element& root);

  simdjson::ondemand::parser parser_;
  std::string padded_;        // a padded copy, if the original has no padding
  bool empty_error_ = false;  // the root has an error that says nothing
  ChunkShape shape_;          // of the chunks before
};

}  // namespace agentcore::detail::llm
