// AnswerTexts: the texts of one answer, or its reasoning: where each lies, and what of it was seen. No I/O.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// Takes the pieces of a text and the snapshots that repeat it, and says what is to be delivered. A snapshot
// completes what is missing at the end of what it repeats, and never adds to it otherwise. The words are not
// kept: a hash tells whether a snapshot begins with them. Holds no memory as long as the answer has one text
// and nothing is known of its item.
class AnswerTexts {
 public:
  // Between which texts a separator goes: those that are parts of the order, or those of two parts of an
  // item.
  enum class Separates : std::uint8_t { texts, parts };

  explicit AnswerTexts(Separates separates) noexcept : separates_(separates) {}

  // Another block of the answer began, so that what follows is another text.
  void end_item() noexcept { ends_item_ = true; }
  // True if a piece of which nothing is known can be delivered as it is, after add_plain().
  bool is_plain(CutPair cut) const noexcept { return !ends_item_ && !is_special_ && high_ == 0 && !cut; }
  void add_plain(std::string_view text, std::uint64_t place) { add(text, 0, place, false); }

  // The next piece of the answer; `pieces` of it, see AnswerObject::texts. Appends to `out` what is to be
  // delivered. `begins_item`: pieces without bytes tell of an item that begins.
  void take(std::string_view text, CutPair cut, std::span<const TextPiece> pieces, bool begins_item,
            std::uint64_t place, std::string& out);
  // A snapshot. False: it differs from what was delivered.
  // `is_last`: nothing follows it.
  bool take_snapshot(Repeats what, std::string_view text, std::span<const TextPiece> pieces,
                     std::uint64_t place, bool is_last, std::string& out);
  // At the end of the answer: half a pair of surrogates that is left.
  void finish(std::string& out);

  bool is_empty() const noexcept { return delivered_ == 0; }
  std::uint64_t bytes() const noexcept { return delivered_; }

  // The parts of the answer with these calls and blocks; those of one place come in the order of the lists:
  // blocks, texts, calls. Nothing if that is the order of all of them, unless `always`.
  std::vector<AnswerPart> order(std::vector<ItemPlace> blocks, std::vector<ItemPlace> calls, bool always);

 private:
  static constexpr std::size_t max_texts = 256;  // of more, all further ones are one

  struct Text {
    AnswerPart part;
    std::uint64_t place;
    std::optional<std::uint64_t> index;

    bool is_of(const TextPiece& piece) const noexcept;  // as far as it is known
    void learn(const TextPiece& piece);
  };
  struct Mark {  // where an item or a part begins
    std::uint64_t hash = 0;
    std::uint64_t bytes = 0;
  };

  void make_first();
  void begin(const TextPiece& piece, std::uint64_t place);
  void learn(const TextPiece& piece);
  void learn_first(const TextPiece& piece);
  void announce(const TextPiece& piece, bool begins_item, std::uint64_t place);
  std::string_view separator_of(const TextPiece& piece, std::uint64_t place);
  void add(std::string_view text, std::size_t separator, std::uint64_t place, bool is_last);
  void append(std::string_view text, const TextPiece& piece, std::uint64_t place, bool is_last,
              std::string& out);
  void append_cut(const TextPiece& piece, CutPair cut, std::uint64_t place, std::string& out);
  void end_cut(std::uint64_t place, std::string& out);
  bool is_current_item(const TextPiece& piece) const noexcept;
  bool is_current(const TextPiece& piece) const noexcept;
  bool is_earlier(const TextPiece& piece, Repeats what) const noexcept;
  std::optional<std::size_t> known(Repeats what, const TextPiece& first, std::string_view text) const;

  std::uint64_t hash_ = 0;   // of the words without separators
  std::uint64_t words_ = 0;  // their bytes
  std::size_t delivered_ = 0;
  std::uint64_t first_place_ = 0;
  Mark item_, part_;
  std::uint64_t part_number_ = 0;
  std::uint64_t announced_part_ = 0;
  std::vector<Text> texts_;    // the last one grows; none: one text of all that was delivered
  std::uint16_t high_ = 0;     // the first half of a pair of surrogates, which waits for the second
  bool high_refuses_ = false;  // it is of a refusal
  std::optional<std::uint64_t> high_index_;  // of its item
  const Separates separates_;
  bool ends_item_ = false;   // the next piece begins another text
  bool ends_part_ = false;   // a snapshot ended the part
  bool is_special_ = false;  // the text that grows is a refusal
};

}  // namespace agentcore::detail::llm
