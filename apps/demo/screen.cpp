#include "demo/screen.hpp"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace demo {
namespace {

bool is_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string colored(std::string_view text, Color color) {
  static const bool terminal = is_terminal();
  const char* codes[] = {"0", "2", "32", "33", "31", "36", "1"};
  if (!terminal || color == Color::plain) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<int>(color)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string tail(std::string_view text, std::size_t width) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  std::size_t begin = line.size();
  for (std::size_t seen = 0; begin > 0 && seen < width; --begin)
    if ((line[begin - 1] & 0xC0) != 0x80) ++seen;
  return line.substr(begin);
}

std::string fit(std::string_view text, std::size_t width) {
  std::string line(text);
  while (columns(line) > width) line.pop_back();
  return line + std::string(width - columns(line), ' ');
}

Screen::Screen() : terminal_(demo::is_terminal()), width_(100) {
  winsize size{};
  if (terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40) width_ = size.ws_col;
  if (terminal_) std::fputs("\x1b[?25l", stdout);
}

Screen::~Screen() {
  if (terminal_) std::fputs("\x1b[?25h", stdout);
  std::fflush(stdout);
}

void Screen::draw(const std::vector<std::string>& lines) {
  if (!terminal_) return;
  if (drawn_) std::printf("\x1b[%zuA", drawn_);
  for (const std::string& line : lines) std::printf("\r\x1b[2K%s\n", line.c_str());
  drawn_ = lines.size();
  std::fflush(stdout);
}

void Screen::print(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
  drawn_ = 0;
}

}  // namespace demo
