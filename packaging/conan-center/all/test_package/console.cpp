// A consumer of the console, as an installed package has it.
#include <agentcore/agentcore.hpp>
#include <agentcore/console.hpp>

#include <cstdio>

int main() {
  agentcore::Runtime runtime;
  auto console = agentcore::Console::open(runtime);
  if (!console) {
    std::fprintf(stderr, "%s\n", console.error().message.c_str());
    return 1;
  }
  agentcore::AgentTree tree{runtime, {.audit = (*console)->receipts()}};
  agentcore::Subscription shown = (*console)->show(tree);
  runtime.poll();
  std::puts("the console listens");
  return (*console)->port() == 0;
}
