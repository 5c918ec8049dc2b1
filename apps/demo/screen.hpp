// Screen: a few lines of a terminal that are drawn over and over.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

enum class Color { plain, dim, green, yellow, red, cyan, bold };

// Wraps `text` in a color, on a terminal.
std::string colored(std::string_view text, Color color);
// The last `width` columns of `text` as one line: control characters become blanks.
std::string tail(std::string_view text, std::size_t width);
// Cut or filled with blanks to exactly `width` columns.
std::string fit(std::string_view text, std::size_t width);

// Draws in place on a terminal; elsewhere (a file, a pipe) it draws nothing, so that a log stays readable.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const noexcept { return terminal_; }
  std::size_t width() const noexcept { return width_; }
  // Replaces the lines drawn last by `lines`.
  void draw(const std::vector<std::string>& lines);
  // Writes below the drawn lines, and keeps the text.
  void print(std::string_view line);

 private:
  bool terminal_;
  std::size_t width_;
  std::size_t drawn_ = 0;
};

}  // namespace demo
