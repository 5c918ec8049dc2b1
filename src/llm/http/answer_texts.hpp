// AnswerTexts: the texts of one answer, and the order of all of its parts. No I/O.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace agentcore::detail::llm {

// Knows where each text lies in the text that was delivered, but not its words. Holds no memory as long as
// the answer has one text and no item of its own for it.
class AnswerTexts {
 public:
  // Another text begins, with the item that `piece` names, if any. Of more than max_texts, all further ones
  // are one.
  void begin(const TextPiece& piece);
  // What is known of the item of an earlier text.
  void learn(const TextPiece& piece);
  // `bytes` are delivered: first a separator of that size, which belongs to no text. The first ones begin the
  // first text, at `place`.
  void add(std::size_t bytes, std::size_t separator, std::uint64_t place);

  // True if the piece belongs to the text that grows now, or to another text of the same item.
  bool is_current(const TextPiece& piece) const noexcept;
  bool is_current_item(const TextPiece& piece) const noexcept;
  bool is_empty() const noexcept { return delivered_ == 0; }

  // The parts of the answer with these calls and blocks; those of one place come in the order of the lists:
  // blocks, texts, calls. Nothing if that is the order of all of them, unless `always`.
  std::vector<AnswerPart> order(std::vector<ItemPlace> blocks, std::vector<ItemPlace> calls, bool always);

 private:
  static constexpr std::size_t max_texts = 256;

  struct Text {
    AnswerPart part;
    std::uint64_t place;
    std::optional<std::uint64_t> index;

    bool is_of(const TextPiece& piece) const noexcept;  // as far as it is known
    void learn(const TextPiece& piece);
  };

  void make_first();

  std::size_t delivered_ = 0;
  std::uint64_t first_place_ = 0;
  std::vector<Text> texts_;  // the last one grows; none: one text of all that was delivered
};

}  // namespace agentcore::detail::llm
