// [G14] A restart and one more thing: a second task, a second budget above, a second agent without its code.
#include "persist/found_state.hpp"
#include "persist/record_kinds.hpp"
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using detail::persist::Kind;

namespace {

testing::ScriptedReply answer(std::string text) {
  testing::ScriptedReply reply;
  reply.deltas = {std::move(text)};
  return reply;
}

// Tools whose tasks never end.
struct Tasks {
  Tasks() {
    for (const char* const name : {"build", "test", "deploy"})
      registry->add({.spec = {.name = name, .mode = ToolMode::async},
                     .start = [this](const nlohmann::json&, const ToolContext&, ToolDone done) {
                       open.push_back(std::move(done));
                     }});
  }
  RestoreOptions options() const {
    RestoreOptions made{.durability = Durability::each_step, .turns = InterruptedTurns::go_on};
    made.code.add_tools("tools", registry);
    return made;
  }
  // An agent "a" that has begun all three; returns their ids in the order of their begin.
  std::vector<std::string> begin(Store& store) const {
    Life life(store, options());
    testing::ScriptedReply calls;
    for (const char* const name : {"build", "test", "deploy"})
      calls.tool_calls.push_back({.id = std::string("call ") + name, .name = name, .arguments = "{}"});
    life.llm.enqueue(calls);
    life.llm.enqueue(answer("they run"));
    std::vector<std::string> ids;
    const auto on_task = life.tree->on<TaskChanged>([&](const TaskChanged& change) {
      if (ids.empty() || ids.back() != change.task_id) ids.push_back(change.task_id);
    });
    AgentSpec spec{.limits = {.background_tasks = 3}, .code = {.tools = "tools"}};
    spec.limits.parallel_tools = 3;
    REQUIRE(life.create("a", spec).send("go"));
    for (int i = 0; i < 20; ++i) life.runtime.poll();
    REQUIRE(life.tree->flush());
    ids.resize(3);
    return ids;
  }
  // What the next question of the agent says: the places of the ids, which must rise.
  static void check_told(Life& life, const std::vector<std::string>& ids) {
    const std::size_t before = Life::texts(life.find("a")).size();
    REQUIRE(life.find("a").send("well?"));
    life.runtime.run_until_idle();
    const std::string question = Life::texts(life.find("a")).at(before);
    CAPTURE(question);
    std::size_t place = 0;
    for (const std::string& id : ids) {
      const std::size_t found = question.find('"' + id + '"', place);
      REQUIRE(found != std::string::npos);
      place = found;
    }
  }

  std::shared_ptr<ToolRegistry> registry = std::make_shared<ToolRegistry>();
  mutable std::vector<ToolDone> open;
};

std::size_t count_of(Store& store, Kind kind) {
  return records_of(store, detail::persist::key_of(kind), detail::persist::last_of(kind)).size();
}

}  // namespace

TEST_CASE("several background tasks are told in the order of their begin after a restart",
          "[persist][restore][tasks]") {
  MemoryStore store;
  const Tasks tasks;
  const std::vector<std::string> ids = tasks.begin(store);
  Life life(store, tasks.options());
  REQUIRE(life.restored.size() == 1);
  REQUIRE(life.restored[0].interrupted_calls.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(life.restored[0].interrupted_calls[i].call_id == ids[i]);
  Tasks::check_told(life, ids);
}

TEST_CASE("background tasks of an agent without its code are told by the restart that has it",
          "[persist][restore][tasks][code]") {
  MemoryStore store;
  const Tasks tasks;
  const std::vector<std::string> ids = tasks.begin(store);
  const int without = GENERATE(1, 2);
  for (int restart = 0; restart < without; ++restart) {
    Life life(store);
    CHECK(life.find("a").state().value() == AgentState::stopped);
    REQUIRE(life.find("a").pause().accepted());  // its record is written
    REQUIRE(life.tree->flush());
    REQUIRE(life.find("a").unpause().accepted());
  }
  Life life(store, tasks.options());
  Tasks::check_told(life, ids);
}

TEST_CASE("background tasks of an agent whose conversation is damaged are told after its repair",
          "[persist][restore][tasks][corrupt]") {
  MemoryStore store;
  const Tasks tasks;
  const std::vector<std::string> ids = tasks.begin(store);
  const RecordKey first = detail::persist::key_of(Kind::history, 1);
  const std::string message = records_of(store).at(first);
  StoreBatch damage, repair;
  damage.put(first, "{");
  repair.put(first, message);
  REQUIRE(store.commit(damage, StoreSync::process));
  for (int restart = GENERATE(1, 2); restart > 0; --restart) {
    Life life(store, tasks.options());
    REQUIRE(life.find("a").state().value() == AgentState::stopped);
    REQUIRE(life.find("a").pause().accepted());  // its record is written
    REQUIRE(life.tree->flush());
    REQUIRE(life.find("a").unpause().accepted());
  }
  REQUIRE(store.commit(repair, StoreSync::process));
  Life life(store, tasks.options());
  REQUIRE(life.find("a").state().value() == AgentState::idle);
  Tasks::check_told(life, ids);
}

TEST_CASE("a spec that no agent has any more is not in the store", "[persist][restore][G13]") {
  MemoryStore store;
  std::size_t specs = 0;
  {
    Life life(store);
    const auto shared = std::make_shared<const AgentSpec>(AgentSpec{.model = {.name = "shared"}});
    const Agent a = life.create("a"), b = life.tree->create(shared).value(),
                c = life.tree->create(shared).value();
    REQUIRE(life.tree->flush());
    CHECK(count_of(store, Kind::spec) == 2);
    for (const char* const model : {"m1", "m2", "m3"}) {
      REQUIRE(a.set_model(model));
      REQUIRE(life.tree->flush());
      CHECK(count_of(store, Kind::spec) == 2);
    }
    REQUIRE(b.set_model("m4"));  // the other one still has it
    REQUIRE(life.tree->flush());
    CHECK(count_of(store, Kind::spec) == 3);
    REQUIRE(c.terminate().took_effect());
    life.runtime.run_until_idle();
    CHECK(count_of(store, Kind::spec) == 2);
    CHECK(faults_of(store).empty());
    specs = 2;
  }
  // The same for specs that a restart has found, also where several agents share one.
  Life life(store);
  CHECK(life.find("a").model().value() == "m3");
  REQUIRE(life.find("a").set_model("m5"));
  REQUIRE(life.tree->flush());
  CHECK(count_of(store, Kind::spec) == specs);
  REQUIRE(life.find("a").terminate().took_effect());
  life.runtime.run_until_idle();
  CHECK(count_of(store, Kind::spec) == specs - 1);
  CHECK(faults_of(store).empty());
}

TEST_CASE("the record of what is sent is gone when everything is sent again",
          "[persist][restore][context][G13]") {
  MemoryStore store;
  const bool restarts = GENERATE(false, true);
  std::optional<Life> life(std::in_place, store);
  AgentSpec spec;
  spec.context = {.max_tokens = 400, .target_tokens = 200, .min_conversation_tokens = 1};
  life->create("a", spec);
  for (int i = 0; i < 8; ++i) {
    REQUIRE(life->find("a").send(std::string(300, 'x')));
    life->runtime.run_until_idle();
  }
  REQUIRE(life->tree->flush());
  REQUIRE(count_of(store, Kind::context) == 1);
  if (restarts) {
    life.reset();
    life.emplace(store);
  }
  REQUIRE(life->find("a").rewind(1));
  life->runtime.run_until_idle();
  REQUIRE(life->tree->flush());
  CHECK(Life::texts(life->find("a")).empty());
  CHECK(count_of(store, Kind::context) == 0);
  CHECK(faults_of(store).empty());
}

TEST_CASE("what is used counts in each budget above after a kill", "[persist][restore][budget]") {
  MemoryStore store;
  Life life(store);
  testing::ScriptedReply reply = answer("ok");
  reply.usage = {.prompt_tokens = 30, .completion_tokens = 12};
  Agent last = life.create("0", {.limits = {.subtree_budget = {.tokens = 10'000}}});
  for (const char* const id : {"1", "2", "3"}) {
    AgentSpec spec{.id = id};
    if (*id != '1') spec.limits.subtree_budget.tokens = 20'000;  // one between has none
    last = last.create_child(std::move(spec)).value();
  }
  life.runtime.run_until_idle();
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    life.llm.enqueue(reply);
    REQUIRE(last.send("x"));
    life.runtime.run_until_idle();
    REQUIRE(life.tree->flush());
    MemoryStore killed = store;
    const Life next(killed);
    for (const char* const id : {"0", "2", "3"}) {
      CAPTURE(id);
      CHECK(next.tree->find(id).value().spent(Scope::subtree).value().tokens == 42 * turn);
      CHECK(next.tree->find(id).value().spent(Scope::subtree).value().turns == turn);
    }
  }
}

TEST_CASE("a delete that a restart finishes leaves nothing of an agent that had everything",
          "[persist][restore][delete][grants][G13]") {
  MemoryStore store;
  {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(make_tool({.name = "careful", .needs_approval = true},
                         [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("done"); }));
    RestoreOptions options{.durability = Durability::each_message};
    options.code.add_tools("tools", tools);
    Life life(store, options);
    AgentSpec spec{.code = {.tools = "tools"}};
    spec.context = {.max_tokens = 600, .target_tokens = 300, .min_conversation_tokens = 1};
    const Agent agent = life.create("a", spec);
    for (int i = 0; i < 8; ++i) {
      REQUIRE(agent.send(std::string(300, 'x')));
      life.runtime.run_until_idle();
    }
    testing::ScriptedReply call, deaf;
    call.tool_calls = {{.id = "c1", .name = "careful", .arguments = "{}"}};
    deaf.silent = deaf.deaf = true;
    life.llm.enqueue(call);
    life.llm.enqueue(deaf);
    REQUIRE(agent.send("go"));
    for (int i = 0; i < 12; ++i) life.runtime.poll();
    REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::agent).has_value());
    REQUIRE(agent.send("waits"));
    for (int i = 0; i < 12; ++i) life.runtime.poll();
    for (const Kind kind : {Kind::agent, Kind::spec, Kind::context, Kind::mail, Kind::grant, Kind::history}) {
      CAPTURE(static_cast<int>(kind));
      CHECK(count_of(store, kind) != 0);
    }
    REQUIRE(agent.terminate().took_effect());
    for (int i = 0; i < 4; ++i) life.runtime.poll();
    REQUIRE(life.tree->size() == 1);  // its model call is deaf
  }
  Life life(store);
  CHECK(life.report->deleted == 1);
  REQUIRE(life.tree->flush());
  CHECK(faults_of(store).empty());
  CHECK(count_records(store) == 1);  // of the tree
}

TEST_CASE("a question that was sent before another one is known as such after a restart",
          "[persist][restore][context]") {
  const auto sent_before = [](bool restarts) {
    MemoryStore store;
    std::optional<Life> life(std::in_place, store);
    life->create("a", {.system_prompt = "s"});
    testing::ScriptedReply silent;
    silent.silent = true;
    life->llm.enqueue(silent);
    REQUIRE(life->find("a").send("one"));
    for (int i = 0; i < 12; ++i) life->runtime.poll();
    REQUIRE(life->find("a").interrupt().took_effect());
    for (const char* const text : {"two", "three"}) {
      REQUIRE(life->find("a").send(text));
      life->runtime.run_until_idle();
    }
    if (restarts) {
      life.reset();
      life.emplace(store);
    }
    std::vector<std::size_t> asked;
    testing::ScriptedClient client(life->runtime, [&](const ChatRequest& request) {
      asked = request.sent_before;
      return answer("ok");
    });
    REQUIRE(life->find("a").set_llm(&client));
    REQUIRE(life->find("a").send("four"));
    life->runtime.run_until_idle();
    life->tree.reset();
    return asked;
  };
  // The request of "two" had both questions, and that of "three" was the last one.
  const auto kept = sent_before(false);
  CHECK(kept.size() == 2);
  CHECK(sent_before(true) == kept);
}

TEST_CASE("a question whose answer was cut by the end of the process was sent, too",
          "[persist][restore][context]") {
  MemoryStore store;
  std::optional<Life> life(std::in_place, store);
  life->create("a", {.system_prompt = "s"});
  testing::ScriptedReply silent;
  silent.silent = true;
  life->llm.enqueue(silent);
  REQUIRE(life->find("a").send("one"));
  for (int i = 0; i < 12; ++i) life->runtime.poll();
  REQUIRE(life->tree->flush());
  life.reset();
  life.emplace(store);
  std::vector<std::size_t> asked;
  testing::ScriptedClient client(life->runtime, [&](const ChatRequest& request) {
    asked = request.sent_before;
    return answer("ok");
  });
  REQUIRE(life->find("a").set_llm(&client));
  life->runtime.run_until_idle();
  REQUIRE(life->find("a").send("two"));
  life->runtime.run_until_idle();
  CHECK(asked == std::vector<std::size_t>{2});  // the system message and "one"
  life->tree.reset();
}

TEST_CASE("how an agent is found follows from its record, and from what is above it",
          "[persist][restore][stop]") {
  using namespace detail;
  using persist::AgentRecord;
  using persist::found_state;
  using persist::FoundState;
  const auto record = [](core::Gate gate, core::Grade grade = core::Grade::none,
                         core::Grade below = core::Grade::none) {
    AgentRecord made;
    made.gate = gate;
    made.grade = grade;
    made.grade_below = below;
    made.cause = StopCause::budget;
    return made;
  };
  struct Row {
    AgentRecord record;
    core::Gate gate;          // below an open parent
    core::Gate below_closed;  // below a closed one
    bool closes_below;
    bool was_open;  // then the ancestor is the cause
  };
  using core::Gate;
  using core::Grade;
  const std::vector<Row> rows{
      {record(Gate::open), Gate::open, Gate::stop_tree, false, true},
      {record(Gate::stop_self), Gate::stop_self, Gate::stop_self, false, false},
      {record(Gate::stop_tree), Gate::stop_tree, Gate::stop_tree, true, false},
      {record(Gate::open, Grade::after_turn), Gate::stop_self, Gate::stop_tree, false, false},
      {record(Gate::open, Grade::after_step), Gate::stop_self, Gate::stop_tree, false, false},
      {record(Gate::open, Grade::after_turn, Grade::after_turn), Gate::stop_tree, Gate::stop_tree, true,
       false},
      {record(Gate::open, Grade::after_step, Grade::after_step), Gate::stop_tree, Gate::stop_tree, true,
       false}};
  FoundState open, closed;
  closed.is_closed_below = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const Row& row = rows[i];
    for (const FoundState& below_open :
         {found_state(row.record, nullptr, false), found_state(row.record, &open, false),
          found_state(row.record, &open, true)}) {
      CHECK(below_open.gate == row.gate);
      CHECK(below_open.is_closed_below == row.closes_below);
      CHECK(below_open.cause == StopCause::budget);
      CHECK_FALSE(below_open.stopped_by_ancestor);
      CHECK_FALSE(below_open.is_deleted);
    }
    for (const FoundState& below :
         {found_state(row.record, &closed, false), found_state(row.record, nullptr, true)}) {
      CHECK(below.gate == row.below_closed);
      CHECK(below.is_closed_below);
      CHECK(below.stopped_by_ancestor == row.was_open);
      CHECK(below.cause == (row.was_open ? StopCause::parent : StopCause::budget));
    }
  }
}

TEST_CASE("the names of what a restore does are those of its options", "[persist][restore]") {
  CHECK(to_string(Durability::each_turn) == "each_turn");
  CHECK(to_string(Durability::each_message) == "each_message");
  CHECK(to_string(AfterStoreFailure::retry) == "retry");
  CHECK(to_string(AfterStoreFailure::stop_all) == "stop_all");
  CHECK(to_string(InterruptedTurns::end) == "end");
  CHECK(to_string(InterruptedTurns::go_on) == "go_on");
  CHECK(to_string(RestoredTurn::none) == "none");
  CHECK(to_string(RestoredTurn::interrupted) == "interrupted");
  CHECK(to_string(RestoredTurn::continues) == "continues");
}

TEST_CASE("an agent that a restart stops because it is damaged keeps its lease",
          "[persist][restore][corrupt][lease][G1]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    testing::ScriptedReply silent;
    silent.silent = silent.deaf = true;
    life.llm.enqueue(silent);
    REQUIRE(life.create("a", {.limits = {.lease = std::chrono::hours(1)}}).send("work"));
    life.runtime.poll();
    REQUIRE(life.tree->flush());
  }
  const auto messages = agentcore::test::records_of(store, {7}, RecordKey::last_of(7));
  REQUIRE(messages.size() == 1);
  StoreBatch damage;
  damage.put(messages.begin()->first, "{");
  REQUIRE(store.commit(damage, StoreSync::process));
  testing::ManualClock clock;
  Life life(store, {}, {}, {.clock = &clock});
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].damage != "");
  REQUIRE(life.find("a").resume().took_effect());
  life.runtime.poll();
  clock.advance(std::chrono::minutes(61));
  CHECK(life.find("a").send("late").reason == Errc::agent_stopping);
}

TEST_CASE("a turn counts after a restart, although a callback of its beginning has flushed the store",
          "[persist][restore][budget]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    const auto hook = life.tree->on<StateChanged>([&](const StateChanged&) { CHECK(life.tree->flush()); });
    const Agent boss = life.create("boss", {.limits = {.subtree_budget = {.turns = 5}}});
    const Agent a = boss.create_child({.id = "a", .limits = {.budget = {.turns = 5}}}).value();
    REQUIRE(a.send("work"));
    life.runtime.poll();
    REQUIRE(a.spent()->turns == 1);
  }
  Life life(store);
  CHECK(life.find("a").spent()->turns == 1);
  CHECK(life.find("boss").spent(Scope::subtree)->turns == 1);
}
