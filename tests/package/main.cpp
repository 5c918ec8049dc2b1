// What a stranger's first program does: include, link, drive the loop once.
#include <agentcore/runtime.hpp>
#include <agentcore/version.hpp>

#include <cstdlib>
#include <iostream>

int main() {
  agentcore::Runtime runtime;
  bool ran = false;
  runtime.post([&] { ran = true; });
  runtime.poll();
  std::cout << "agentcore " << agentcore::version << (ran ? " runs\n" : " does not run\n");
  return ran ? EXIT_SUCCESS : EXIT_FAILURE;
}
