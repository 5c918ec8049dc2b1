// Fixtures for the tests of programs: shell scripts as tools, named pipes to read from them, and a check that
// nothing is left after their end.
#pragma once

#include "support/drive/loop_fixture.hpp"
#include "support/drive/tool_fixture.hpp"
#include "tools/subprocess_tool.hpp"

#include <agentcore/subprocess.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace agentcore::test {

// A pipe that scripts open by its path. Their output is read here, blocking, without the loop.
class Fifo {
 public:
  Fifo() {
    REQUIRE(::mkdtemp(directory_.data()) != nullptr);
    path_ = directory_ + "/fifo";
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    keeper_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    ::fcntl(reader_, F_SETFL, 0);
  }
  ~Fifo() {
    ::close(reader_);
    let_go();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }

  std::string line() const {
    std::string text;
    for (char byte = 0; readable() && ::read(reader_, &byte, 1) == 1 && byte != '\n';) text += byte;
    return text;
  }
  pid_t pid() const { return std::stoi(line()); }
  void say(const std::string& text) const {
    REQUIRE(::write(keeper_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  // Blocks until no process has it open for writing.
  void wait_closed() {
    let_go();
    while (!line().empty()) {
    }
  }

 private:
  // Data to read, or the end. False when there is neither for half a minute.
  bool readable() const {
    pollfd entry{reader_, POLLIN, 0};
    const bool came = ::poll(&entry, 1, 30'000) == 1;
    CHECK(came);
    return came;
  }
  void let_go() {
    if (keeper_ >= 0) ::close(std::exchange(keeper_, -1));
  }

  std::string directory_ = "/tmp/agentcore-XXXXXX";
  std::string path_;
  int reader_ = -1;
  int keeper_ = -1;
};

inline ToolSpec program_spec() {
  ToolSpec spec;
  spec.name = "program";
  return spec;
}

inline SubprocessOptions running(SubprocessCommand command) {
  SubprocessOptions options;
  options.command = [command = std::move(command)](const nlohmann::json&) { return command; };
  return options;
}

inline SubprocessCommand command_of(std::vector<std::string> arguments) {
  SubprocessCommand command;
  command.arguments = std::move(arguments);
  return command;
}

// `script` finds the path of `fifo` in $F.
inline SubprocessCommand script(std::string text, const Fifo* fifo = nullptr) {
  SubprocessCommand command = command_of({"/bin/sh", "-c", std::move(text)});
  if (fifo != nullptr) command.environment.emplace_back("F", fifo->path());
  return command;
}

inline Tool program(SubprocessCommand command,
                    detail::process::ExitWatch watch = detail::process::ExitWatch::automatic) {
  return detail::tools::subprocess_tool(program_spec(), running(std::move(command)), watch);
}

// True when no child of this process is left, running or dead.
inline bool no_children() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

inline bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace agentcore::test

// Runs the rest of a test case once for each way to detect that a program has ended.
#define EACH_WATCH() \
  GENERATE(agentcore::detail::process::ExitWatch::automatic, agentcore::detail::process::ExitWatch::timer)
