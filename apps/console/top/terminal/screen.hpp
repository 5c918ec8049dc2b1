// Screen: a terminal, drawn by ncurses. One at a time.
#pragma once

#include "console/top/frame.hpp"
#include "console/top/key_press.hpp"

#include <optional>

namespace console_app::top {

class Screen {
 public:
  // Throws std::runtime_error if this is no terminal that can be drawn on.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const;
  // After SIGWINCH.
  void resize();
  void draw(const Frame& frame);
  // The next key that was pressed; empty: there is none now.
  std::optional<KeyPress> read_key();

 private:
  int attributes_[style_count] = {};
};

}  // namespace console_app::top
