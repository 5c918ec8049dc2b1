// One line of text that a person types.
#pragma once

#include "console/top/key_press.hpp"

#include <cstddef>
#include <string>

namespace console_app::top {

class LineEditor {
 public:
  explicit LineEditor(const std::string& utf8 = {});

  // Does what the key does in a line; another key does nothing.
  void press(KeyPress key);
  void insert(char32_t character);
  void erase_before();
  void erase_after();
  void erase_all();
  void move(int by);
  void move_to_begin() { at_ = 0; }
  void move_to_end() { at_ = text_.size(); }

  std::string text() const;
  // The text before the place where it is typed.
  std::string before() const;

 private:
  std::u32string text_ = {};
  std::size_t at_ = 0;
};

}  // namespace console_app::top
