#include "console/top/line_editor.hpp"

#include <string_view>

namespace console_app::top {
namespace {

std::string utf8_of(std::u32string_view text) {
  std::string bytes;
  const auto add = [&](char32_t value) { bytes += static_cast<char>(static_cast<unsigned char>(value)); };
  for (const char32_t c : text) {
    if (c < 0x80) {
      add(c);
    } else if (c < 0x800) {
      add(0xC0 | c >> 6);
      add(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      add(0xE0 | c >> 12);
      add(0x80 | (c >> 6 & 0x3F));
      add(0x80 | (c & 0x3F));
    } else {
      add(0xF0 | c >> 18);
      add(0x80 | (c >> 12 & 0x3F));
      add(0x80 | (c >> 6 & 0x3F));
      add(0x80 | (c & 0x3F));
    }
  }
  return bytes;
}

// Of text that utf8_of() made.
std::u32string decoded(std::string_view bytes) {
  std::u32string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80 && !text.empty())
      text.back() = text.back() << 6 | (byte & 0x3F);
    else
      text += byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07;
  }
  return text;
}

}  // namespace

LineEditor::LineEditor(const std::string& utf8) : text_(decoded(utf8)), at_(text_.size()) {
}

void LineEditor::press(KeyPress key) {
  if (key.is(control('U'))) return erase_all();
  if (key.key == Key::character) insert(key.character);
  if (key.key == Key::backspace) erase_before();
  if (key.key == Key::erase) erase_after();
  if (key.key == Key::left) move(-1);
  if (key.key == Key::right) move(1);
  if (key.key == Key::home) move_to_begin();
  if (key.key == Key::end) move_to_end();
}

void LineEditor::insert(char32_t character) {
  if (character < ' ' || character == 0x7F || character > 0x10FFFF ||
      (character >= 0xD800 && character < 0xE000))
    return;
  text_.insert(at_++, 1, character);
}

void LineEditor::erase_before() {
  if (at_ > 0) text_.erase(--at_, 1);
}

void LineEditor::erase_after() {
  if (at_ < text_.size()) text_.erase(at_, 1);
}

void LineEditor::erase_all() {
  text_.clear();
  at_ = 0;
}

void LineEditor::move(int by) {
  if (by < 0 && at_ > 0) --at_;
  if (by > 0 && at_ < text_.size()) ++at_;
}

std::string LineEditor::text() const {
  return utf8_of(text_);
}

std::string LineEditor::before() const {
  return utf8_of(std::u32string_view(text_).substr(0, at_));
}

}  // namespace console_app::top
