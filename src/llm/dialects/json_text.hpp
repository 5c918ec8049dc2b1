// JSON as text: the text of a string, also if a strict parser refuses it; whether a text is an object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Unescapes a JSON string whose opening quote is the first byte of `token`, up to its closing quote. A
// surrogate escape without its other half (servers cut answers between the two) becomes U+FFFD. False: not a
// JSON string.
bool unescape_json(std::string_view token, std::string& text);

// What is left of a pair of surrogates that a server cut in two. 0: nothing.
struct CutPair {
  std::uint16_t low = 0;   // the second half of a pair, before the text
  std::uint16_t high = 0;  // the first half of a pair, after the text

  explicit operator bool() const noexcept { return low != 0 || high != 0; }
  bool operator==(const CutPair&) const = default;
};

// The same, but halves at the ends of the text go into `cut`, and are not replaced.
bool unescape_json_piece(std::string_view token, std::string& text, CutPair& cut);

// Writes the character of both halves; U+FFFD for each half without its other one, and nothing if both are 0.
void append_pair(std::string& text, std::uint16_t high, std::uint16_t low);

// Appends a piece to a longer text, and the halves that meet there. `all_cut`: at the ends of the longer
// text.
void append_piece(std::string& all, CutPair& all_cut, std::string_view piece, CutPair cut);

// The halves at the ends of a text that has no other pieces are U+FFFD.
void end_pieces(std::string& all, CutPair& all_cut);

// True if the text is a JSON object, to the last byte and in valid UTF-8.
bool is_json_object(std::string_view text);

}  // namespace agentcore::detail::llm
