#include "console/top/terminal/screen.hpp"

#include "console/top/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define NCURSES_NOMACROS  // erase() and move() are names of others, too
#include <curses.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace console_app::top {
namespace {

// A key that begins with Esc and one that is Esc alone differ by what follows within this time.
constexpr int escape_delay_ms = 50;

int colored(short pair, short color) {
  init_pair(pair, color, -1);
  return static_cast<int>(COLOR_PAIR(pair));
}

KeyPress key_of(int code) {
  switch (code) {
    case KEY_UP:
      return {Key::up};
    case KEY_DOWN:
      return {Key::down};
    case KEY_PPAGE:
      return {Key::page_up};
    case KEY_NPAGE:
      return {Key::page_down};
    case KEY_HOME:
      return {Key::home};
    case KEY_END:
      return {Key::end};
    case KEY_LEFT:
      return {Key::left};
    case KEY_RIGHT:
      return {Key::right};
    case KEY_ENTER:
      return {Key::enter};
    case KEY_BACKSPACE:
      return {Key::backspace};
    case KEY_DC:
      return {Key::erase};
    default:
      return {};
  }
}

KeyPress character_of(wint_t character) {
  if (character == '\r' || character == '\n') return {Key::enter};
  if (character == 0x1B) return {Key::escape};
  if (character == 0x7F || character == '\b') return {Key::backspace};
  return {Key::character, static_cast<char32_t>(character)};
}

}  // namespace

Screen::Screen() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
    throw std::runtime_error("top needs a terminal for its input and output");
  if (!use_utf8()) throw std::runtime_error("the system has no locale of UTF-8");
  SCREEN* const made = newterm(nullptr, stdout, stdin);
  if (made == nullptr) throw std::runtime_error("ncurses does not know this terminal: set TERM");
  set_escdelay(escape_delay_ms);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  const auto attribute = [&](Style style) -> int& { return attributes_[static_cast<std::size_t>(style)]; };
  attribute(Style::bold) = attribute(Style::own) = static_cast<int>(A_BOLD);
  attribute(Style::dim) = static_cast<int>(A_DIM);
  attribute(Style::title) = static_cast<int>(A_REVERSE);
  attribute(Style::bad) = static_cast<int>(A_BOLD);
  if (std::getenv("NO_COLOR") != nullptr || !has_colors()) return;
  start_color();
  use_default_colors();
  attribute(Style::good) = colored(1, COLOR_GREEN);
  attribute(Style::warning) = colored(2, COLOR_YELLOW);
  attribute(Style::bad) = colored(3, COLOR_RED) | static_cast<int>(A_BOLD);
  attribute(Style::note) = colored(4, COLOR_CYAN);
  attribute(Style::own) = colored(4, COLOR_CYAN) | static_cast<int>(A_BOLD);
}

Screen::~Screen() {
  endwin();
}

Size Screen::size() const {
  return {static_cast<std::size_t>(COLS), static_cast<std::size_t>(LINES)};
}

void Screen::resize() {
  winsize now{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
    resizeterm(now.ws_row, now.ws_col);
  clearok(stdscr, TRUE);
}

void Screen::draw(const Frame& frame) {
  erase();
  int row = 0;
  for (const Line& line : frame.lines) {
    if (row >= LINES) break;
    move(row++, 0);
    for (const Span& span : line.spans) {
      int attributes = attributes_[static_cast<std::size_t>(span.style)];
      if (span.selected) attributes = static_cast<int>(A_REVERSE) | (attributes & ~static_cast<int>(A_DIM));
      attrset(attributes);
      addstr(span.text.c_str());
    }
  }
  attrset(0);
  curs_set(frame.cursor_column ? 1 : 0);
  if (frame.cursor_column) move(static_cast<int>(frame.cursor_row), static_cast<int>(*frame.cursor_column));
  refresh();
}

std::optional<KeyPress> Screen::read_key() {
  wint_t code = 0;
  const int kind = wget_wch(stdscr, &code);
  if (kind == ERR) return std::nullopt;
  return kind == KEY_CODE_YES ? key_of(static_cast<int>(code)) : character_of(code);
}

}  // namespace console_app::top
