// ResponseTexts: the texts in one object of a Responses answer: of a response, of an item, or of a part.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

struct ResponseTexts {
  std::string content;
  std::vector<TextPiece> texts;  // of `content`
  std::string reasoning;
  std::vector<TextPiece> reasoning_texts;  // of `reasoning`

  void clear() noexcept;
  // Adds a text of a message; or one of reasoning.
  void add(std::string_view words, std::uint64_t part, bool refusal);
  void add_thought(std::string_view words, std::uint64_t part);
  // Says of which item the pieces are from these numbers on.
  void name(std::size_t first_text, std::size_t first_of_reasoning, const TextPiece& item);
  // The pieces refer to this object, and stay valid until clear().
  Snapshot snapshot(Repeats what) const noexcept;

 private:
  std::deque<std::string> words_;  // ids and phases
};

}  // namespace agentcore::detail::llm
