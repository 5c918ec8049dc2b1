// What an answer over HTTP means in a tree with a store: what was answered is there after a crash.
#include "support/clients/fake_client.hpp"
#include "support/console/console_life.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

// Keeps its jobs until the test runs them.
class KeepingExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

// A store that outlives the tree.
struct HasStore {
  GuardedStore store;
};

// A console whose tree has a store. What the store does is the test's to decide.
struct StoredConsole : HasStore, ConsoleLife {
  explicit StoredConsole(RestoreOptions options = {}, ConsoleOptions console_options = {},
                         RuntimeOptions runtime_options = {})
      : ConsoleLife(std::move(console_options), {}, std::move(runtime_options)) {
    REQUIRE(tree->restore(&store, std::move(options)));
  }

  // What the store has now: what a process would find after a crash.
  MemoryStore copy() {
    MemoryStore records;
    StoreBatch batch;
    const RecordKey last{RecordKey::max, RecordKey::max, RecordKey::max};
    REQUIRE(store.records.read({}, last, [&](const RecordKey& key, std::string_view body) {
      batch.put(key, std::string(body));
      return true;
    }));
    REQUIRE(records.commit(batch, StoreSync::process));
    return records;
  }
};

// What a restart finds in `store`, which is that of a process that was killed.
std::string state_after_crash(StoredConsole& console, const std::string& id) {
  MemoryStore left = console.copy();
  Life life(left);
  REQUIRE(life.report);
  const Result<Agent> agent = life.tree->find(id);
  if (!agent) return "gone";
  std::string state(to_string(agent->state().value()));
  if (agent->status().value().paused) state += ", paused";
  if (agent->status().value().queue_held) state += ", held";
  const std::size_t waiting = agent->queue_length().value();
  return waiting == 0 ? state : state + ", " + std::to_string(waiting) + " waiting";
}

struct Change {
  std::string request;  // "POST /path"
  std::string body;
  std::string expected;  // of agent "a" after a crash
};

// "$" stands for `message`, which becomes the message that the request has sent, if it is one that sends.
HttpAnswer send(ConsoleLife& life, const Change& change, std::string& message) {
  const std::size_t blank = change.request.find(' ');
  std::string target = change.request.substr(blank + 1);
  if (const std::size_t at = target.find('$'); at != std::string::npos) target.replace(at, 1, message);
  HttpAnswer answer = life.request(change.request.substr(0, blank), target, change.body);
  for (const char* name : {"messageId", "taskId"})
    if (const json body = answer.json(); body.contains(name)) message = body[name];
  return answer;
}

}  // namespace

TEST_CASE("what a request has changed is in the store when it is answered",
          "[console][durable][X37][G13][X46]") {
  const std::vector<Change> changes{
      {"POST /api/agents", R"({"id":"a"})", "idle"},
      {"POST /api/agent/a/pause", "", "idle, paused"},
      {"POST /api/agent/a/send", R"({"text":"one"})", "idle, paused, held, 1 waiting"},
      {"DELETE /api/agent/a/queue/$", "", "idle, paused"},
      {"POST /tasks", R"({"agentId":"a","prompt":"two"})", "idle, paused, held, 1 waiting"},
      {"POST /tasks/$/terminate", "", "idle, paused"},
      {"POST /api/agent/a/unpause", "", "idle"},
      {"POST /api/agent/a/interrupt", R"({"queue":"hold"})", "idle, held"},
      {"POST /api/agent/a/release", "", "idle"},
      {"POST /api/agent/a/stop", "", "stopped"},
      {"POST /api/agent/a/resume", "", "idle"},
      {"POST /api/tree/pause", "", "idle, paused"},
      {"POST /api/tree/unpause", "", "idle"},
      {"POST /api/tree/stop", "", "stopped"},
      {"POST /api/tree/resume", "", "idle"},
      {"DELETE /api/agent/a", "", "gone"},
  };
  for (const Durability durability :
       {Durability::each_turn, Durability::each_step, Durability::each_message}) {
    CAPTURE(to_string(durability));
    StoredConsole life({.durability = durability});
    std::string message;
    for (const Change& change : changes) {
      CAPTURE(change.request);
      const HttpAnswer answer = send(life, change, message);
      CHECK(answer.status / 100 == 2);
      CHECK(answer.json()["persisted"] == true);
      CHECK(state_after_crash(life, "a") == change.expected);
    }
  }
}

TEST_CASE("a resume is stored with all agents that it opens when it is answered", "[console][durable][X37]") {
  testing::ManualClock clock;
  RuntimeOptions options;
  options.clock = &clock;
  StoredConsole life({}, {}, std::move(options));
  const Agent top = life.create("a");
  life.create("b", "a");
  life.create("c", "b");
  // Each poll opens one agent, because its time is over then.
  const Subscription slow = life.tree->on<StateChanged>(
      [&clock](const StateChanged&) { clock.advance(std::chrono::milliseconds(20)); });
  for (const auto& [stop, resume] : {std::pair{"/api/agent/a/stop", "/api/agent/a/resume"},
                                     std::pair{"/api/tree/stop", "/api/tree/resume"}}) {
    CAPTURE(resume);
    CHECK(life.post(stop).json()["persisted"] == true);
    CHECK(state_after_crash(life, "c") == "stopped");
    life.until([&] { return top.state().value() == AgentState::stopped; });  // its children have settled
    CHECK(life.post(resume).json()["persisted"] == true);
    for (const char* id : {"a", "b", "c"}) CHECK(state_after_crash(life, id) == "idle");
  }
}

TEST_CASE("a stop that has settled is in the store when it is answered", "[console][durable][X37]") {
  StoredConsole life;
  life.create("a");
  life.create("b", "a");
  life.let_wait(life.tree->find("b").value());
  const HttpAnswer stopped = life.post("/api/agent/a/stop?wait=settled");
  CHECK(stopped.json()["cascadeStopped"] == json{"b"});
  CHECK(stopped.json()["persisted"] == true);
  CHECK(state_after_crash(life, "b") == "stopped");
  CHECK(life.request("DELETE", "/api/agent/a?wait=settled").json()["persisted"] == true);
  CHECK(life.store.records.size() == 1);  // the record of the tree
}

TEST_CASE("a request waits for the store, and the loop does not", "[console][durable][X37]") {
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor});
  const Agent agent = life.create("a");
  life.poll();
  executor.run_all();
  life.poll();
  ConsoleClient client(life.console->port());
  client.send(life.text_of("POST", "/api/agent/a/stop"));
  life.until([&] { return !executor.jobs.empty(); }, {&client});
  CHECK(is_stopped(agent.state().value()));
  CHECK(life.get("/api/agent/a").json()["agent"]["computeStatus"] == "stopped");
  client.receive();
  CHECK(client.received().empty());
  executor.run_all();
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = client.take_answer()).has_value(); }, {&client});
  CHECK(answer->json() == json{{"ok", true}, {"agentId", "a"}, {"stopped", true}, {"persisted", true}});
}

TEST_CASE("a request that changes nothing waits for the change that did", "[console][durable][X37]") {
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor});
  life.create("a");
  CHECK(life.post("/api/agent/a/stop?wait=gate").json()["stopped"] == true);
  ConsoleClient client(life.console->port());
  client.send(life.text_of("POST", "/api/agent/a/stop"));
  std::optional<HttpAnswer> answer;
  life.until([&] {
    client.receive();
    executor.run_all();
    return (answer = client.take_answer()).has_value();
  });
  CHECK(answer->json()["stopped"] == false);
  CHECK(answer->json()["persisted"] == true);
  CHECK(state_after_crash(life, "a") == "stopped");
}

TEST_CASE("with wait=gate an answer does not wait for the store", "[console][durable][X37][X46]") {
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor});
  life.let_wait(life.create("a"));
  const json aborted = life.post("/api/agent/a/abort").json();
  CHECK(aborted == json{{"ok", true}, {"agentId", "a"}, {"aborted", true}});
  CHECK(life.post("/api/agent/a/calls/c1/cancel").json()["ok"] == true);
  CHECK(life.post("/api/background/t1/cancel").json()["ok"] == true);
  const json stopped = life.post("/api/agent/a/stop?wait=gate").json();
  CHECK(stopped == json{{"ok", true}, {"agentId", "a"}, {"stopped", true}});
  CHECK(life.post("/api/tree/pause?wait=gate").json() == json{{"ok", true}, {"paused", true}});
  CHECK(life.post("/api/tree/unpause?wait=settled").json()["error"] == "invalid_request");
  CHECK(life.post("/api/agent/a/stop?wait=soon").json() == json{{"error", "invalid_request"}});
}

TEST_CASE("durable answers can be switched off", "[console][durable][X37]") {
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor}, {.durable_answers = false});
  life.create("a");
  CHECK(life.post("/api/agent/a/stop").json() == json{{"ok", true}, {"agentId", "a"}, {"stopped", true}});
  life.runtime.run_until_idle(std::chrono::milliseconds(0));
  CHECK(life.post("/api/agent/a/stop?wait=settled").json()["stopped"] == false);
}

TEST_CASE("in a tree without a store an answer says nothing of one", "[console][durable]") {
  ConsoleLife life;
  life.create("a");
  CHECK(life.post("/api/agent/a/stop").json() == json{{"ok", true}, {"agentId", "a"}, {"stopped", true}});
  CHECK_FALSE(life.request("DELETE", "/api/agent/a?wait=settled").json().contains("persisted"));
}

TEST_CASE("if the store fails, the answer says so, and the change is in force", "[console][durable][X37]") {
  const Error failure =
      GENERATE(Error{Errc::store_full, "the disk is full"}, Error{Errc::store_failed, "the disk is broken"});
  StoredConsole life;
  const Agent agent = life.create("a");
  life.poll();
  life.store.failure = failure;
  for (const char* verb :
       {"pause", "stop"}) {  // the second one finds a commit that waits for its next attempt
    const json answer = life.post("/api/agent/a/" + std::string(verb)).json();
    CHECK(answer["persisted"] == false);
    CHECK(answer["persistError"] == failure.message);
    CHECK(answer["persistReason"] == to_string(failure.code));
  }
  CHECK(is_stopped(agent.state().value()));
}

TEST_CASE("a stop or delete that a full store takes is answered as stored, and nothing else",
          "[console][durable][full][X37][G14]") {
  StoredConsole life;
  for (const char* id : {"a", "b", "c", "first"}) life.create(id);
  life.poll();
  life.store.failure = {Errc::store_full, "the disk is full"};
  life.store.has_reserve = true;
  const auto persisted = [&](const char* method, const std::string& target) {
    return life.request(method, target, "{}").json()["persisted"];
  };
  CHECK(persisted("POST", "/api/agent/first/stop") == true);  // no commit has failed yet
  CHECK(state_after_crash(life, "first") == "stopped");
  CHECK(persisted("POST", "/api/agent/a/pause") == false);
  CHECK(persisted("POST", "/api/agent/a/stop") == true);
  CHECK(state_after_crash(life, "a") == "stopped, paused");
  CHECK(persisted("DELETE", "/api/agent/b") == true);
  CHECK(state_after_crash(life, "b") == "gone");
  CHECK(persisted("POST", "/api/agent/c/send") == json());  // no text: refused
  CHECK(persisted("POST", "/api/agent/a/resume") == false);
  CHECK(state_after_crash(life, "a") == "stopped, paused");
  life.create("new");  // the store does not know it
  CHECK(persisted("POST", "/api/agent/new/stop") == false);
  CHECK(persisted("POST", "/api/tree/stop") == true);
  CHECK(state_after_crash(life, "c") == "stopped");
}

TEST_CASE("a full store that takes one of two stops has not stored the other",
          "[console][durable][full][X37][G14]") {
  StoredConsole life;
  const Agent known = life.create("known");
  life.poll();
  life.store.failure = {Errc::store_full, "the disk is full"};
  life.store.has_reserve = true;
  life.create("new");  // the store does not know it
  const auto stops_both = life.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.agent.id() == "new" && is_stopped(change.to)) static_cast<void>(known.stop());
  });
  const json answer = life.post("/api/agent/new/stop").json();
  CHECK(answer["persisted"] == false);
  CHECK(answer.value("persistReason", "") == "store_full");
  life.until([&] { return state_after_crash(life, "known") == "stopped"; });  // a slow poll is two
  CHECK(state_after_crash(life, "new") == "gone");
}

TEST_CASE("if the store takes more than a second, the answer says so", "[console][durable][X37]") {
  testing::ManualClock clock;
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor}, {}, {.clock = &clock});
  life.create("a");
  ConsoleClient client(life.console->port());
  client.send(life.text_of("POST", "/api/agent/a/pause"));
  life.until([&] { return life.tree->find("a")->status().value().paused; }, {&client});
  clock.advance(std::chrono::milliseconds(999));
  life.poll();
  client.receive();
  CHECK(client.received().empty());
  clock.advance(std::chrono::milliseconds(1));
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = client.take_answer()).has_value(); }, {&client});
  CHECK(answer->json()["persisted"] == false);
  CHECK(answer->json()["persistError"] == "the store has not confirmed it within a second");
  CHECK(answer->json()["persistReason"] == "store_failed");
  for (int commits = 0; commits < 2; ++commits) {  // the first one has the new agent alone
    executor.run_all();
    life.poll();
  }
  CHECK(state_after_crash(life, "a") == "idle, paused");
}

TEST_CASE("if the host polls late, an answer waits for the commit that this poll makes",
          "[console][durable][X37]") {
  const bool deletes = GENERATE(false, true);
  testing::ManualClock clock;
  StoredConsole life({}, {}, {.clock = &clock});
  FakeClient deaf;
  const Agent agent = life.tree->create({.id = "a", .llm = &deaf}).value();
  REQUIRE(agent.send("go"));
  life.until([&] { return !deaf.open_calls().empty(); });
  ConsoleClient client(life.console->port());
  client.send(deletes ? life.text_of("DELETE", "/api/agent/a?wait=settled")
                      : life.text_of("POST", "/api/agent/a/stop?wait=settled"));
  life.until([&] { return agent.state().value() != AgentState::waiting_llm; }, {&client});
  FakeClient::complete(*deaf.open_calls().front());  // between two polls: the store does not have it yet
  clock.advance(std::chrono::seconds(2));
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = client.take_answer()).has_value(); }, {&client});
  CHECK(answer->json()["persisted"] == true);
}

TEST_CASE("an agent is not shown after its delete, whatever an observer of the delete does",
          "[console][durable]") {
  StoredConsole life;
  const Agent agent = life.create("a");
  life.poll();
  const auto hook = life.tree->on<AgentDeleted>([&](const AgentDeleted&) {
    CHECK(life.tree->flush());  // StopPersisted follows while the agent still exists
  });
  CHECK(agent.terminate().took_effect());
  life.poll();
  CHECK(life.get("/api/agents").json()["agents"].empty());
}

TEST_CASE("a request is answered if the host goes on without the store", "[console][durable][X37]") {
  StoredConsole life({.on_failure = [](const Error&) { return AfterStoreFailure::go_on; }});
  life.create("a");
  life.poll();
  life.store.failure = {Errc::store_full, "the disk is full"};
  CHECK(life.post("/api/agent/a/pause").json()["persistError"] == "the disk is full");
  CHECK(life.post("/api/agent/a/unpause").json()["persistError"] ==
        "the tree goes on without its store (AfterStoreFailure::go_on)");
}

TEST_CASE("a request that waits for the store of a tree that ends is answered", "[console][durable][X37]") {
  KeepingExecutor executor;
  StoredConsole life({.executor = &executor});
  life.create("a");
  ConsoleClient client(life.console->port());
  client.send(life.text_of("POST", "/api/agent/a/pause"));
  life.until([&] { return life.tree->find("a")->status().value().paused; }, {&client});
  life.shown.reset();
  life.tree.reset();  // commits what has changed
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = client.take_answer()).has_value(); }, {&client});
  CHECK(answer->json()["persisted"] == true);
}
