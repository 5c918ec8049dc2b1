#include "console/top/terminal/signals.hpp"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

namespace console_app::top {
namespace {

int signal_pipe[2] = {-1, -1};

extern "C" void write_signal(int signal) {
  const int error = errno;
  const char byte = static_cast<char>(signal);
  static_cast<void>(!::write(signal_pipe[1], &byte, 1));
  errno = error;
}

}  // namespace

Signals::Signals() {
  if (::pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::runtime_error("the system refuses a pipe");
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = write_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) ::sigaction(signal, &action, nullptr);
}

Signals::~Signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) std::signal(signal, SIG_DFL);
  ::close(signal_pipe[0]);
  ::close(signal_pipe[1]);
}

int Signals::descriptor() const {
  return signal_pipe[0];
}

Signals::Seen Signals::take() {
  Seen seen;
  char signal = 0;
  while (::read(signal_pipe[0], &signal, 1) == 1)
    (signal == static_cast<char>(SIGWINCH) ? seen.resized : seen.quit) = true;
  return seen;
}

}  // namespace console_app::top
