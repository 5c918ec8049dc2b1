// Child: a program that a benchmark starts, and talks to by lines.
#pragma once

#include "stream_record.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bench {

// The program must end when its standard input ends: then it also ends if the benchmark dies.
class Child {
 public:
  // Exits with `not_possible` when the program cannot be started.
  explicit Child(std::vector<std::string> command) {
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) std::perror("pipe"), std::exit(1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    const int failure = posix_spawnp(&process_, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    if (failure != 0) {
      std::fprintf(stderr, "%s: %s\n", words[0], std::strerror(failure));
      std::exit(not_possible);
    }
    input_ = input[1];
    output_ = fdopen(output[0], "r");
  }

  ~Child() {
    end_input();
    std::fclose(output_);
    waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Tells the program to end.
  void end_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }

  // True if line() would not wait. To be asked before the first line, or after the line before was read.
  bool has_line() const {
    pollfd watched{.fd = fileno(output_), .events = POLLIN, .revents = 0};
    return poll(&watched, 1, 0) > 0;
  }

  // The next line of the program, without its end. Empty: the program has ended.
  std::string line() {
    std::string text;
    for (int c = std::getc(output_); c != EOF && c != '\n'; c = std::getc(output_))
      text += static_cast<char>(c);
    return text;
  }

 private:
  pid_t process_ = 0;
  int input_ = -1;
  std::FILE* output_ = nullptr;
};

}  // namespace bench
