// agentcore-console: see command_line.cpp for its help, docs/console.md for more.
#include "console/command_line.hpp"
#include "console/host.hpp"
#include "console/top/run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

int quit_pipe[2] = {-1, -1};

extern "C" void on_signal(int /*signal*/) {
  const char byte = 0;
  static_cast<void>(!::write(quit_pipe[1], &byte, 1));
}

bool catch_signals() {
  if (::pipe2(quit_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  std::signal(SIGPIPE, SIG_IGN);
  return std::signal(SIGINT, on_signal) != SIG_ERR && std::signal(SIGTERM, on_signal) != SIG_ERR;
}

// A process often may have 1,024 descriptors; the console has up to 2,048 connections, and the agents call
// models and write files.
void raise_descriptor_limit() {
  constexpr rlim_t needed = 4096;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(limit.rlim_max, needed);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string text;
    const std::optional<console_app::Settings> settings = console_app::parse_command_line(argc, argv, text);
    if (!settings) {
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    if (settings->top) return console_app::top::run(*settings->top);
    if (!catch_signals()) throw std::runtime_error("the system refuses a pipe or a signal handler");
    raise_descriptor_limit();
    console_app::Host host(*settings);
    std::printf("the console is at %s\n", host.url().c_str());
    std::fflush(stdout);
    host.run(quit_pipe[0]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "agentcore-console: %s\n", error.what());
    return 2;
  }
}
