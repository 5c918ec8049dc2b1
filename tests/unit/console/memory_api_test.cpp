// A request whose handling finds no memory: it is answered with an error, or its connection ends; the process
// goes on.
#include "support/console/console_life.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("no failed allocation of a request ends the process", "[console][G16]") {
#ifdef SANITIZED
  return;  // its allocator is used
#endif
  ConsoleLife life({.max_writes_per_second = 1'000'000});
  life.create("a");
  life.create("b", "a");
  life.llm.enqueue({.deltas = {"yes"}});
  const std::string task = life.post("/tasks", R"({"agentId":"a","prompt":"so?"})").json()["taskId"];
  life.until([&] { return life.get("/tasks/" + task).json()["status"] == "completed"; });
  const std::vector<std::pair<std::string, std::string>> requests{
      {"GET /api/agents", ""},
      {"GET /api/agent/a", ""},
      {"GET /api/agent/a/conversation", ""},
      {"GET /tasks/" + task, ""},
      {"GET /api/usage", ""},
      {"POST /api/agent/b/pause", R"({"reason":"so"})"},
      {"POST /api/agent/b/unpause", "{}"},
      {"POST /api/agent/b/stop?wait=settled", R"({"reason":"so","unknown":[{"a":[1]}]})"},
      {"POST /api/agent/b/stop?wait=settled", R"({"reason":"so"})"},
      {"POST /api/agent/nobody/abort", ""},
  };
  for (const auto& [request, body] : requests) {
    CAPTURE(request);
    const std::size_t blank = request.find(' ');
    bool failed = true;
    for (std::size_t n = 1; failed && n < 2000; ++n) {
      ConsoleClient client(life.console->port());
      life.poll();  // accepted
      client.send(life.text_of(request.substr(0, blank), request.substr(blank + 1), body));
      {
        const FailingAllocation failing(n);
        for (int polls = 0; polls < 4; ++polls) life.runtime.poll();
        failed = failing.failed();
      }
      life.until([&] { return client.ended() || !client.received().empty(); }, {&client});
    }
    CHECK_FALSE(failed);
  }
  CHECK(life.get("/api/agents").json()["total"] == 2);
}
