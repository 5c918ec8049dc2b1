#include "support/store/store_program.hpp"

#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace agentcore::test {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// The program, from its start to its end.
class RunningProgram {
 public:
  // `output`: its standard output; negative: closed.
  RunningProgram(std::vector<std::string> arguments, int output) : errors_(std::tmpfile()) {
    arguments.insert(arguments.begin(), AGENTCORE_STORE_PROGRAM);
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output >= 0)
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    else
      posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ::fileno(errors_.get()), STDERR_FILENO);
    REQUIRE(::posix_spawn(&process_, words[0], &actions, nullptr, words.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }

  ProgramRun wait(std::string out) {
    int status = 0;
    REQUIRE(::waitpid(process_, &status, 0) == process_);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), std::move(out), content_of(errors_)};
  }
  static std::string content_of(const File& file) {
    std::string text;
    std::array<char, 4096> buffer{};
    std::rewind(file.get());
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get()))
      text.append(buffer.data(), got);
    return text;
  }

 private:
  File errors_;
  pid_t process_ = -1;
};

}  // namespace

ProgramRun run_store_program(const std::vector<std::string>& arguments) {
  const File output(std::tmpfile());
  ProgramRun run = RunningProgram(arguments, ::fileno(output.get())).wait({});
  run.out = RunningProgram::content_of(output);
  return run;
}

ProgramRun head_of_store_program(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  RunningProgram program(arguments, ends[1]);
  ::close(ends[1]);
  std::string line;
  for (char byte = 0; byte != '\n' && ::read(ends[0], &byte, 1) == 1;) line += byte;
  ::close(ends[0]);
  return program.wait(std::move(line));
}

ProgramRun run_store_program_without_output(const std::vector<std::string>& arguments) {
  return RunningProgram(arguments, -1).wait({});
}

}  // namespace agentcore::test
