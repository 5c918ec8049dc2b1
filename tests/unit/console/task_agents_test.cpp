// Agents that were made for a task: when they are deleted, and when they stay.
#include "support/console/console_life.hpp"
#include "support/drive/unhurried.hpp"
#include "support/store/guarded_store.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

using std::chrono::minutes;

// A clock that the test moves, and that outlives the Runtime.
struct HasClock {
  testing::ManualClock clock;
};

struct TaskLife : HasClock, ConsoleLife {
  explicit TaskLife(ConsoleOptions options = {})
      : ConsoleLife(std::move(options), {}, RuntimeOptions{.clock = &clock}) {}

  // Makes an agent for a task. Returns its id when the task has ended.
  std::string task(const std::string& body = R"({"prompt":"do it"})") {
    llm.enqueue({.deltas = {"done"}});
    const HttpAnswer made = post("/tasks", body);
    REQUIRE(made.status == 201);
    const std::string id = made.json()["taskId"];
    until([&] { return get("/tasks/" + id).json()["status"] == "completed"; });
    return made.json()["agentId"];
  }
  bool exists(const std::string& id) const { return tree->find(id).has_value(); }
  void pass(Duration time) {
    clock.advance(time);
    poll();
  }
};

}  // namespace

TEST_CASE("the agent of a task is deleted some time after its task", "[console][tasks][X48]") {
  TaskLife life;
  const std::string agent = life.task();
  life.pass(minutes(10) - std::chrono::milliseconds(1));
  CHECK(life.exists(agent));
  life.pass(std::chrono::milliseconds(1));
  CHECK_FALSE(life.exists(agent));
  CHECK(life.get("/tasks").json()["tasks"][0]["agentId"] == agent);  // the task is kept
  CHECK(life.tree->size() == 0);
}

TEST_CASE("if more tasks have ended than are kept, the agent of the oldest is deleted", "[console][tasks]") {
  TaskLife life({.kept_tasks = 2, .task_retention = no_limit});
  const std::string first = life.task(), second = life.task(), third = life.task();
  life.pass({});
  CHECK_FALSE(life.exists(first));
  CHECK(life.exists(second));
  CHECK(life.exists(third));
  CHECK(life.get("/tasks").json()["tasks"].size() == 2);
}

TEST_CASE("an agent whose task runs is not deleted", "[console][tasks]") {
  TaskLife life({.kept_tasks = 1});
  testing::ScriptedReply silent;
  silent.silent = true;
  life.llm.enqueue(silent);
  const std::string running = life.post("/tasks", R"({"prompt":"think"})").json()["agentId"];
  life.until([&] { return life.llm.open_calls() == 1; });
  life.task();
  life.task();
  life.pass(minutes(60));
  CHECK(life.exists(running));
  CHECK(life.tree->size() == 1);
}

TEST_CASE("the agent of a task that is used for more stays", "[console][tasks][X48]") {
  TaskLife life;
  const auto stays = [&](const auto& use) {
    const std::string agent = life.task();
    use(agent);
    life.poll();
    life.pass(minutes(20));
    return life.exists(agent);
  };
  CHECK_FALSE(stays([](const std::string&) {}));
  CHECK(stays([&](const std::string& agent) {
    life.llm.enqueue({.deltas = {"again"}});
    life.post("/api/agent/" + agent + "/send", R"({"text":"more"})");
  }));
  CHECK(
      stays([&](const std::string& agent) { life.task(R"({"prompt":"more","agentId":")" + agent + "\"}"); }));
  CHECK(stays([&](const std::string& agent) {
    life.post("/api/agents", R"({"id":"child","parentId":")" + agent + "\"}");
    life.request("DELETE", "/api/agent/child");  // that it had one is enough
  }));
  CHECK(stays([&](const std::string& agent) {  // the message waits
    life.post("/api/agent/" + agent + "/pause");
    life.post("/api/agent/" + agent + "/send", R"({"text":"more"})");
  }));
}

TEST_CASE("the agent of a task that gets a message right before it would be deleted stays",
          "[console][tasks]") {
  const std::string verb = GENERATE("send", "steer");
  TaskLife life;
  const std::string id = life.task();
  life.llm.enqueue({.deltas = {"again"}});
  ConsoleClient client(life.console->port());
  life.poll();
  client.send(life.text_of("POST", "/api/agent/" + id + '/' + verb, R"({"text":"more"})"));
  life.clock.advance(minutes(10));  // the poll that reads the request would delete the agent
  life.poll();
  REQUIRE(life.exists(id));
  CHECK(life.tree->find(id).value().conversation().value().size() == 4);
}

TEST_CASE("an agent that there was before a task stays after it", "[console][tasks]") {
  TaskLife life;
  life.create("a");
  life.task(R"({"prompt":"do it","agentId":"a"})");
  life.pass(minutes(60));
  CHECK(life.exists("a"));
}

TEST_CASE("the agent of a task that was stopped or terminated is deleted, too", "[console][tasks]") {
  TaskLife life;
  testing::ScriptedReply silent;
  silent.silent = true;
  for (const bool stops : {true, false}) {
    CAPTURE(stops);
    life.llm.enqueue(silent);
    const json made = life.post("/tasks", R"({"prompt":"think"})").json();
    const std::string agent = made["agentId"], task = made["taskId"];
    life.until([&] { return life.llm.open_calls() == 1; });
    life.post(stops ? "/api/agent/" + agent + "/stop" : "/tasks/" + task + "/terminate");
    life.poll();
    life.pass(minutes(10));
    CHECK_FALSE(life.exists(agent));
  }
}

TEST_CASE("after a restart the agents of tasks are known, and their time starts anew",
          "[console][tasks][G13]") {
  GuardedStore store;
  std::string plain, used;
  {
    TaskLife life;
    REQUIRE(life.tree->restore(&store.records));
    plain = life.task();
    used = life.task();
    life.llm.enqueue({.deltas = {"again"}});
    life.post("/api/agent/" + used + "/send", R"({"text":"more"})");
    life.poll();
    life.pass(minutes(9));
  }
  TaskLife life;
  REQUIRE(life.tree->restore(&store.records));
  life.pass(minutes(9));
  CHECK(life.exists(plain));
  life.pass(minutes(1));
  CHECK_FALSE(life.exists(plain));
  CHECK(life.exists(used));
}

TEST_CASE("a message that is dropped during a task that goes on over a restart does not end the task",
          "[console][tasks]") {
  GuardedStore store;
  testing::ScriptedReply silent;
  silent.silent = true;
  std::string id;
  {
    TaskLife life;
    REQUIRE(life.tree->restore(&store.records));
    life.llm.enqueue(silent);
    id = life.post("/tasks", R"({"prompt":"think"})").json()["agentId"];
    life.until([&] { return life.llm.open_calls() == 1; });
    REQUIRE(life.tree->flush());
  }
  TaskLife life({.task_retention = minutes(1)});
  life.llm.enqueue(silent);
  bool shown_later = false;
  SECTION("the console shows the tree when it is restored") {
  }
  SECTION("the console shows the tree later") {
    shown_later = true;
    life.shown.reset();
  }
  REQUIRE(life.tree->restore(&store.records, {.turns = InterruptedTurns::go_on}));
  life.until([&] { return life.llm.open_calls() == 1; });
  if (shown_later) life.shown = life.console->show(*life.tree);
  SendOptions late;
  late.deadline = life.clock.now();
  REQUIRE(life.tree->find(id).value().send("too late", std::move(late)));
  life.poll();
  life.pass(minutes(2));
  CHECK(life.exists(id));
}

TEST_CASE("an agent that got a message after its task stays, although a restart came before its turn",
          "[console][tasks][G13]") {
  GuardedStore store;
  std::string agent;
  {
    TaskLife life;
    REQUIRE(life.tree->restore(&store.records));
    agent = life.task();
    life.post("/api/agent/" + agent + "/pause");
    life.post("/api/agent/" + agent + "/send", R"({"text":"more"})");
    life.poll();
  }
  TaskLife life;
  REQUIRE(life.tree->restore(&store.records));
  life.llm.enqueue({.deltas = {"again"}});
  life.post("/api/agent/" + agent + "/release");
  life.post("/api/agent/" + agent + "/unpause");
  life.poll();
  life.pass(minutes(10));
  CHECK(life.llm.calls() == 1);
  CHECK(life.exists(agent));
}

TEST_CASE("an agent that got a message before its task began stays, although a restart came before both",
          "[console][tasks][G13]") {
  GuardedStore store;
  std::string agent;
  {
    TaskLife life;
    REQUIRE(life.tree->restore(&store.records));
    static_cast<void>(life.tree->pause_all());
    const HttpAnswer made = life.post("/tasks", R"({"prompt":"do it"})");
    REQUIRE(made.status == 201);
    agent = made.json()["agentId"];

    REQUIRE(life.tree->find(agent).value().send({.text = "before it", .priority = MessagePriority::urgent}));
    life.poll();
  }
  TaskLife life;
  REQUIRE(life.tree->restore(&store.records));
  static_cast<void>(life.tree->unpause_all());
  life.llm.enqueue({.silent = true});
  life.post("/api/agent/" + agent + "/release");
  life.poll();
  REQUIRE(life.llm.calls() == 1);  // for the urgent message
  life.post("/api/agent/" + agent + "/stop");
  life.poll();
  life.pass(minutes(20));
  CHECK(life.exists(agent));
}

TEST_CASE("a console that shows a tree later knows the agents of its tasks", "[console][tasks]") {
  TaskLife life;
  const std::string agent = life.task();
  life.shown.reset();
  life.pass(minutes(20));
  CHECK(life.exists(agent));
  life.shown = life.console->show(*life.tree);
  life.pass(minutes(10));
  CHECK_FALSE(life.exists(agent));
}

TEST_CASE("the limits of tasks are checked", "[console][tasks]") {
  Runtime runtime{test::unhurried()};
  CHECK(Console::open(runtime, {.kept_tasks = 0}).error().code == Errc::invalid_config);
  const auto negative = Console::open(runtime, {.task_retention = Duration(-1)});
  CHECK(negative.error().message == "ConsoleOptions::task_retention is negative: it must be at least 0");
}
