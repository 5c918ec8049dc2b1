// agentcore-store: see command_line.cpp for its help, docs/agentcore-store.md for more.
#include "command_line.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "safe_text.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace {

// A file that is opened later must not get the number of a standard stream that is closed: what is printed
// would be written into it.
void open_standard_streams() {
  int descriptor = -1;
  do descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) ::close(descriptor);
}

int report(const char* problem) {
  std::fprintf(stderr, "agentcore-store: %s\n", store_tool::printable(problem).c_str());
  return store_tool::exit_error;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
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
