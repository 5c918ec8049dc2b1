// ChunkShape: reads a chunk that differs from an earlier one only in its text and in unused values.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Nearly all chunks of a stream are the same but for the piece of the answer, and the streams of one server
// differ in few other values. The shape has a chunk that the parser has read, the sample, and the places in
// it that may differ: the text, the model, and the values that the reader does not use (an id, a time, random
// padding). Another chunk fits if it has the same bytes outside of the places and in each place a value of
// the same type, valid by the rules of the parser. Then the parser would read the same object but for the
// text and the model. A chunk that does not fit is left to the parser.
//
// Invariants:
// 1. The places are in the order of the sample and do not overlap. A text is without its quotes.
// 2. A place is the content, the model, or a value that does not change the object.
// 3. Without a sample no chunk fits.
class ChunkShape {
 public:
  enum class Use : std::uint8_t { none, content, model };

  // Reads a chunk into a new object. False: it does not fit, and the object is unchanged. At least
  // `readable_behind` bytes after the chunk may be read. The views are valid until the next call.
  bool read(std::string_view chunk, std::size_t readable_behind, AnswerObject& object);

  // Makes a chunk that does not fit the next sample: begin_marks() before the parser reads it, mark() at each
  // value that may differ, in the order of the chunk, learn() after it. `token` begins with the first byte of
  // the value. If several values have one use, the last one counts. `chunk` is the text that the parser has
  // read, and empty if it is invalid. Nothing is learned from a chunk with more than a text and a model, or
  // with a content that is not one text.
  void begin_marks() noexcept;
  bool takes_marks() const noexcept { return takes_marks_; }  // or else mark() does nothing
  void mark(std::string_view token, Use use) noexcept;
  void learn(std::string_view chunk, const AnswerObject& object);

 private:
  static constexpr std::size_t most_places = 16;
  static constexpr std::size_t most_bytes = 4096;  // of a chunk

  struct Mark {
    const char* at;
    Use use;
  };
  struct Place {
    std::uint16_t begin;
    std::uint16_t end;
    Use use;
    bool is_text;  // or else a count: digits
  };
  struct Ends {
    const char* chunk;
    const char* readable;
  };
  struct Texts {
    std::string_view content;
    std::string_view model;
  };

  const char* take_value(const Place& place, const char* at, const Ends& ends, Texts& texts);
  bool make_places(std::string_view chunk) noexcept;
  static std::optional<Place> place_of(const Mark& mark, std::string_view chunk) noexcept;

  std::string sample_;
  std::string content_;  // of the sample
  std::string model_;
  std::string other_content_;  // of the chunk that was read last, where it differs
  std::string other_model_;
  std::array<Place, most_places> places_{};
  std::array<Mark, most_places> marks_{};
  std::uint8_t place_count_ = 0;
  std::uint8_t mark_count_ = 0;  // most_places + 1: there were more
  bool takes_marks_ = false;
  // Some servers send chunks that differ in more, and learning takes time: with each sample the pause before
  // another one gets longer, with each chunk that fits shorter.
  std::uint8_t pause_ = 0;    // chunks that do not fit, without marks, after the next sample
  std::uint8_t waiting_ = 0;  // the rest of a pause
};

}  // namespace agentcore::detail::llm
