// [G14] A turn whose handling ends the process in each run, before a commit has it.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::Life;
using agentcore::test::StoreFolder;

namespace {

// Notes its begin in a file, and ends the process.
void die(const std::string& effects) {
  std::ofstream(effects, std::ios::app) << "begun" << std::endl;
  ::raise(SIGKILL);
}

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

// The code of the program: a handler, and a safe tool, both of which end it.
struct Code {
  explicit Code(const std::string& effects) {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add({{.name = "deadly", .replay = ToolReplay::safe},
                [effects](const nlohmann::json&, const ToolContext&, const ToolDone&) { die(effects); }});
    options.code.add_tools("tools", tools);
    options.code.add_handler("deadly", [effects](const Agent&, const Message&) { die(effects); });
    options.turns = InterruptedTurns::go_on;
    options.sync = StoreSync::process;
  }
  RestoreOptions options;
};

// One run of the program in a process of its own. Returns its status.
int run(const StoreFolder& folder, const std::function<void(Life&)>& act) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto store = SqliteStore::open(folder.file());
    if (!store) ::_exit(2);
    Life life(**store, Code(folder.file("effects")).options);
    if (!life.report) ::_exit(3);
    for (int i = 0; i < 3; ++i) {
      testing::ScriptedReply reply;
      reply.tool_calls = {{.id = "c", .name = "deadly", .arguments = "{}"}};
      life.llm.enqueue(std::move(reply));
    }
    act(life);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a turn that kills its process before a commit has it is begun three times",
          "[persist][kills][restore][attempts][G14][G15]") {
  const bool handles = GENERATE(true, false);
  CAPTURE(handles);
  const StoreFolder folder;
  const std::string effects = folder.file("effects");
  // The message is in the store, and its turn has not begun when the process is killed.
  const int first = run(folder, [handles](Life& life) {
    AgentSpec spec{.id = "a"};
    (handles ? spec.code.handler : spec.code.tools) = handles ? "deadly" : "tools";
    const Agent agent = life.tree->create(std::move(spec)).value();
    static_cast<void>(agent.pause());
    static_cast<void>(agent.send("go"));
    life.runtime.run_until_idle();
    static_cast<void>(agent.unpause());
    if (!life.tree->flush()) ::_exit(4);
    ::raise(SIGKILL);
  });
  REQUIRE((WIFSIGNALED(first) && WTERMSIG(first) == SIGKILL));
  for (std::size_t life = 1; life <= 8; ++life) {
    CAPTURE(life);
    const int status = run(folder, [](Life& in) { in.runtime.run_until_idle(); });
    CHECK(WIFSIGNALED(status) == (life <= 3));
    CHECK(lines_of(effects) == std::min<std::size_t>(life, 3));
  }
  auto store = SqliteStore::open(folder.file()).value();
  Life life(*store, Code(effects).options);
  REQUIRE(life.report);
  CHECK(life.find("a").queue_length().value() == 0);
  CHECK(life.find("a").state().value() == AgentState::idle);
}
