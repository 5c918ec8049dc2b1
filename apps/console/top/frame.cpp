#include "console/top/frame.hpp"

#include "console/top/text.hpp"

namespace console_app::top {

std::string Line::text() const {
  std::string all;
  for (const Span& span : spans) all += span.text;
  return all;
}

Line fitted(const Line& line, std::size_t width) {
  Line result;
  std::size_t left = width;
  for (const Span& span : line.spans) {
    std::string text = cut(span.text, left);
    left -= columns(text);
    const bool whole = text.size() == span.text.size();
    result.add(std::move(text), span.style, span.selected);
    if (!whole) break;
  }
  if (left > 0) result.add(std::string(left, ' '));
  return result;
}

}  // namespace console_app::top
