// How calls have ended, over HTTP: the same before and after a restart, and in a fork.
#include "support/console/console_life.hpp"

#include <agentcore/memory_store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

// The tools of a program: they exist in each of its runs.
struct Tools {
  Tools() {
    registry->add(
        make_tool({.name = "good"}, [](const json&, const ToolContext&) { return ToolResult::done("yes"); }));
    registry->add(
        make_tool({.name = "bad"}, [](const json&, const ToolContext&) { return ToolResult::failed("no"); }));
    for (const ToolReplay replay : {ToolReplay::never, ToolReplay::safe})
      registry->add({.spec = {.name = "held_" + std::string(to_string(replay)), .replay = replay},
                     .start = [this](const json&, const ToolContext&, ToolDone done) {
                       held.push_back(std::move(done));
                     }});
  }

  std::shared_ptr<ToolRegistry> registry = std::make_shared<ToolRegistry>();
  std::vector<ToolDone> held;
};

// A run of a console whose agents are in a store.
struct Run : ConsoleLife {
  Run(Store& store, Tools& tools, TreeOptions options = {}, InterruptedTurns turns = InterruptedTurns::end)
      : ConsoleLife({}, std::move(options)) {
    RestoreOptions restore{.turns = turns};
    restore.code.add_tools("tools", tools.registry);
    REQUIRE(tree->restore(&store, std::move(restore)));
  }

  // "a" is asked to make these calls, c1, c2, ... The model says nothing to their results.
  void call(const std::vector<std::string>& names) {
    testing::ScriptedReply reply;
    for (const std::string& name : names)
      reply.tool_calls.push_back(
          {.id = "c" + std::to_string(reply.tool_calls.size() + 1), .name = name, .arguments = "{}"});
    llm.enqueue(reply);
    testing::ScriptedReply silence;
    silence.silent = true;
    llm.enqueue(silence);
    AgentSpec spec;
    spec.id = "a";
    spec.code.tools = "tools";
    REQUIRE(tree->create(std::move(spec)).value().send("go"));
  }

  // "c1 completed true, c2 interrupted null"
  std::string ends(const std::string& agent = "a") {
    std::string all;
    const json page = get("/api/agent/" + agent + "/conversation").json();
    for (const json& message : page["messages"]) {
      if (message["role"] != "tool") continue;
      all += (all.empty() ? "" : ", ") + message["toolCallId"].get<std::string>() + ' ';
      all += message["open"] == true ? std::string("open")
                                     : message["outcome"].dump() + ' ' + message["success"].dump();
    }
    return all;
  }
};

}  // namespace

TEST_CASE("the ends of calls survive a restart", "[console][restore][G9]") {
  MemoryStore store;
  Tools tools;
  const std::string expected =
      R"(c1 "completed" true, c2 "completed" false, c3 "not_started" null, c4 "interrupted" null)";
  {
    Run run(store, tools, {.stop_grace = std::chrono::hours(1)});
    run.call({"good", "bad", "unknown", "held_never"});
    run.until([&] { return !tools.held.empty(); });
    CHECK(run.ends() == R"(c1 "completed" true, c2 "completed" false, c3 "not_started" null, c4 open)");
    CHECK(run.post("/api/agent/a/interrupt").status == 200);
    run.poll();
    CHECK(run.ends() == expected);
    REQUIRE(run.tree->find("a").value().fork({.id = "f"}));
    run.poll();
    CHECK(run.ends("f") == expected);
    REQUIRE(run.tree->flush());
  }
  for (int restart = 0; restart < 2; ++restart) {
    Run run(store, tools);
    CHECK(run.ends() == expected);
    CHECK(run.ends("f") == expected);
  }
}

TEST_CASE("a call that was given up is abandoned after a restart, too", "[console][restore][G9]") {
  MemoryStore store;
  Tools tools;
  const bool stops = GENERATE(true, false);
  {
    Run run(store, tools, {.stop_grace = Duration(0)});
    run.call({"held_never"});
    run.until([&] { return !tools.held.empty(); });
    // A stop gives it up before it has settled, a cancel in the middle of the turn.
    CHECK(run.post(stops ? "/api/agent/a/stop?wait=settled" : "/api/agent/a/calls/c1/cancel").status == 200);
    run.poll();
    CHECK(run.ends() == R"(c1 "abandoned" null)");
    REQUIRE(run.tree->flush());
  }
  Run run(store, tools);
  CHECK(run.ends() == R"(c1 "abandoned" null)");
}

TEST_CASE("a call that a killed process has left has the end that its restart gives it",
          "[console][restore][G9]") {
  for (const ToolReplay replay : {ToolReplay::never, ToolReplay::safe}) {
    for (const InterruptedTurns turns : {InterruptedTurns::end, InterruptedTurns::go_on}) {
      CAPTURE(to_string(replay), turns == InterruptedTurns::go_on);
      MemoryStore store;
      Tools tools;
      {
        Run run(store, tools);
        run.call({"good", "held_" + std::string(to_string(replay))});
        run.until([&] { return !tools.held.empty(); });
        REQUIRE(run.tree->flush());
      }
      const bool is_made_again = replay == ToolReplay::safe && turns == InterruptedTurns::go_on;
      std::vector<ToolDone> lost = std::exchange(tools.held, {});
      {
        Run run(store, tools, {}, turns);
        if (is_made_again) {
          run.until([&] { return !tools.held.empty(); });
          CHECK(run.ends() == R"(c1 "completed" true, c2 open)");
          tools.held[0](ToolResult::done("at last"));
          run.poll();
        }
        CHECK(run.ends() == (is_made_again ? R"(c1 "completed" true, c2 "completed" true)"
                                           : R"(c1 "completed" true, c2 "interrupted" null)"));
        REQUIRE(run.tree->flush());
      }
      Run run(store, tools);
      CHECK(run.ends() == (is_made_again ? R"(c1 "completed" true, c2 "completed" true)"
                                         : R"(c1 "completed" true, c2 "interrupted" null)"));
    }
  }
}

TEST_CASE("the end of a call goes with an exported agent", "[console][G9]") {
  MemoryStore store;
  Tools tools;
  std::string document;
  {
    Run run(store, tools);
    run.call({"good", "unknown"});
    run.until([&] { return run.ends() == R"(c1 "completed" true, c2 "not_started" null)"; });
    REQUIRE(run.tree->find("a").value().stop().took_effect());
    run.poll();
    document = export_agents(run.tree->find("a").value()).value();
  }
  MemoryStore other;
  Run run(other, tools);
  ImportOptions options;
  options.code.add_tools("tools", tools.registry);
  REQUIRE(import_agents(*run.tree, document, options));
  CHECK(run.ends() == R"(c1 "completed" true, c2 "not_started" null)");
}

TEST_CASE("a conversation of another program has no ends of calls", "[console][G9]") {
  ConsoleLife life;
  AgentSpec spec;
  spec.id = "a";
  spec.history = history_from_json(
                     R"([{"role":"user","content":"go"},
                         {"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{}"}}]},
                         {"role":"tool","tool_call_id":"c1","content":"done"},
                         {"role":"assistant","content":"so"}])")
                     .value();
  REQUIRE(life.tree->create(std::move(spec)));
  const json message = life.get("/api/agent/a/conversation").json()["messages"][2];
  CHECK(message["role"] == "tool");
  CHECK(message["outcome"] == nullptr);
  CHECK(message["success"] == nullptr);
}
