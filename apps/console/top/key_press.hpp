// A key that a person presses.
#pragma once

namespace console_app::top {

enum class Key {
  character,  // see KeyPress::character
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  left,
  right,
  enter,
  escape,
  backspace,
  erase,
};

struct KeyPress {
  Key key = Key::character;
  char32_t character = 0;

  bool is(char32_t wanted) const { return key == Key::character && character == wanted; }
};

// Ctrl and a letter, e.g. control('D').
constexpr char32_t control(char letter) {
  return static_cast<char32_t>(letter - '@');
}

}  // namespace console_app::top
