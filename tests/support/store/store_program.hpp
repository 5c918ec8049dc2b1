// run_store_program: runs the real agentcore-store.
#pragma once

#include <string>
#include <vector>

namespace agentcore::test {

struct ProgramRun {
  int code = -1;    // the exit code; that of a signal is negative
  std::string out;  // what it printed
  std::string err;
};

ProgramRun run_store_program(const std::vector<std::string>& arguments);
// Reads the first line that it prints, and then closes the pipe: `| head -1`.
ProgramRun head_of_store_program(const std::vector<std::string>& arguments);
// Its standard output is closed from the beginning: `>&-`.
ProgramRun run_store_program_without_output(const std::vector<std::string>& arguments);

}  // namespace agentcore::test
