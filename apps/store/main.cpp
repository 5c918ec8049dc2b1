// agentcore-store: see command_line.cpp for its help, docs/agentcore-store.md for more.
#include "command_line.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "safe_text.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include <unistd.h>

namespace {

int report(const char* problem) {
  std::fprintf(stderr, "agentcore-store: %s\n", store_tool::printable(problem).c_str());
  return store_tool::exit_error;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // Output notices a reader that is gone
  try {
    store_tool::Output output(STDOUT_FILENO);
    const int code = store_tool::run_command_line(argc, argv, output);
    output.flush();
    return code;
  } catch (const std::bad_alloc&) {
    return report("out of memory");
  } catch (const std::exception& error) {
    return report(error.what());
  }
}
