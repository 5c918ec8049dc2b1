#include "keyboard.hpp"

#include <cctype>
#include <cerrno>
#include <csignal>
#include <regex>

#include <unistd.h>

Keyboard::Keyboard() : is_terminal_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &lines_) == 0) {
}

Keyboard::~Keyboard() {
  give_keys(false);
}

void Keyboard::give_keys(bool keys) {
  if (!is_terminal_ || std::exchange(keys_, keys) == keys) return;
  escape_ = false;
  termios mode = lines_;
  if (keys) mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHOCTL);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
}

void Keyboard::read() {
  char bytes[4096];
  const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (size == 0 || (size < 0 && errno != EINTR)) ended_ = true;
  if (size > 0) take(std::string(bytes, static_cast<std::size_t>(size)));
}

std::optional<std::string> Keyboard::next_line() {
  const auto end = input_.find('\n');
  if (end == std::string::npos && !(ended_ && !input_.empty())) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, line.size() + 1);
  return line;
}

// A terminal may also give single keys after it was told to give lines: those that were typed before.
void Keyboard::take(const std::string& typed) {
  static const std::regex sequence("\033[[O][^@-~]*[@-~]");  // an arrow, a function key, ...
  if (!is_terminal_) return void(input_ += typed);
  for (const char key : std::regex_replace(typed, sequence, "")) {
    const auto byte = static_cast<unsigned char>(key);
    if (key == '\033') escape_ = true;
    if (key == '\004') ended_ = true;  // Ctrl-D
    if ((key == '\177' || key == '\b') && !input_.empty() && input_.back() != '\n') input_.pop_back();
    if (std::isspace(byte) != 0 || std::iscntrl(byte) == 0) input_ += key;
  }
}

namespace {

int ctrl_c_pipe[2] = {-1, -1};

}  // namespace

int watch_ctrl_c() {
  const auto handler = [](int) {
    const int saved = errno;
    [[maybe_unused]] const auto written = ::write(ctrl_c_pipe[1], "", 1);
    errno = saved;
  };
  return ::pipe(ctrl_c_pipe) == 0 && std::signal(SIGINT, handler) != SIG_ERR ? ctrl_c_pipe[0] : -1;
}
