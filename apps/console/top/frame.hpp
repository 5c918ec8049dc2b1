// A picture of the screen: lines of text, without a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace console_app::top {

enum class Style { plain, bold, dim, title, good, warning, bad, note, own };  // own: what the person wrote
constexpr std::size_t style_count = 9;

struct Span {
  std::string text;  // printable
  Style style = Style::plain;
  bool selected = false;  // shown inverse
};

struct Line {
  std::vector<Span> spans = {};

  Line& add(std::string text, Style style = Style::plain, bool selected = false) {
    spans.push_back({std::move(text), style, selected});
    return *this;
  }
  std::string text() const;
};

struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
};

struct Frame {
  std::vector<Line> lines = {};                   // as many as the screen is high, none wider than it
  std::optional<std::size_t> cursor_column = {};  // in the line of the prompt: a person types there
  std::size_t cursor_row = 0;
};

// The line, cut and filled to exactly `width` columns.
Line fitted(const Line& line, std::size_t width);

}  // namespace console_app::top
