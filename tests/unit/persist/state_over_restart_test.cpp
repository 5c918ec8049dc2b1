// [G14] What a verb has changed, a restart finds so, also where two mechanisms meet.
#include "core/stored_changes.hpp"
#include "support/catch.hpp"
#include "support/drive/test_clock.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

testing::ScriptedReply silence() {
  testing::ScriptedReply reply;
  reply.silent = true;
  return reply;
}
testing::ScriptedReply calls(std::vector<ToolCall> calls) {
  testing::ScriptedReply reply;
  reply.tool_calls = std::move(calls);
  return reply;
}
ToolCall call(std::string id, std::string tool) {
  return {.id = std::move(id), .name = std::move(tool), .arguments = "{}"};
}

void poll(Life& life) {
  for (int i = 0; i < 12; ++i) life.runtime.poll();
}

// "finish" ends the turn with its result; "careful" asks for an approval; "safe" may be made again.
struct SomeTools {
  SomeTools() {
    add({.name = "finish"}, {.message = "finished", .end_turn = true});
    add({.name = "careful", .needs_approval = true}, ToolResult::done("careful"));
    registry->add({.spec = {.name = "safe", .replay = ToolReplay::safe},
                   .start = [this](const nlohmann::json&, const ToolContext&, ToolDone done) {
                     ++begun;
                     open.push_back(std::move(done));
                   }});
  }
  void add(ToolSpec spec, ToolResult result) {
    registry->add({.spec = std::move(spec),
                   .start = [this, result](const nlohmann::json&, const ToolContext&, ToolDone done) {
                     ++begun;
                     done(result);
                   }});
  }
  RestoreOptions options(InterruptedTurns turns) const {
    RestoreOptions made{.durability = Durability::each_message, .turns = turns};
    made.code.add_tools("tools", registry);
    return made;
  }

  std::shared_ptr<ToolRegistry> registry = std::make_shared<ToolRegistry>();
  std::size_t begun = 0;
  std::vector<ToolDone> open;
};

AgentSpec with_tools() {
  AgentSpec spec;
  spec.code.tools = "tools";
  return spec;
}

}  // namespace

TEST_CASE("a deferred delete that was withdrawn is not carried out by a restart",
          "[persist][restore][delete][stop][G14]") {
  MemoryStore store;
  const bool stops_then = GENERATE(false, true);
  {
    Life life(store);
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    REQUIRE(agent.fork({.id = "copy"}));
    REQUIRE(agent.send("work"));
    poll(life);
    REQUIRE(agent.terminate({.when = StopWhen::after_turn, .scope = Scope::with_forks}).took_effect());
    poll(life);
    REQUIRE(agent.resume().took_effect());
    poll(life);
    if (stops_then) REQUIRE(agent.stop({.when = StopWhen::after_turn}).took_effect());
    poll(life);
  }
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store);
    REQUIRE(life.report->deleted == 0);
    CHECK(life.find("a").state().value() == (stops_then ? AgentState::stopped : AgentState::idle));
    CHECK(life.find("copy").state().value() == AgentState::idle);
    poll(life);
  }
}

TEST_CASE(
    "a turn that waits for a person goes on in a held mailbox, and the next message waits for its release",
    "[persist][restore][turns][mail][G14]") {
  MemoryStore store;
  SomeTools tools;
  {
    Life life(store, tools.options(InterruptedTurns::end));
    life.llm.enqueue(calls({call("c1", "careful")}));
    const Agent agent = life.create("a", with_tools());
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->questions().size() == 1);
    REQUIRE(agent.send("later"));
    poll(life);
  }
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store, tools.options(InterruptedTurns::end));
    REQUIRE(life.restored.size() == 1);
    CHECK(life.restored[0].fate == RestoredTurn::continues);
    CHECK(life.restored[0].held_by_restart);
    poll(life);
  }
  Life life(store, tools.options(InterruptedTurns::end));
  const Agent agent = life.find("a");
  REQUIRE(life.tree->approve(life.tree->questions().at(0).id));
  life.runtime.run_until_idle();
  CHECK(tools.begun == 1);
  CHECK(life.llm.calls() == 1);
  CHECK(agent.status().value().queue_held);
  CHECK(agent.queue_length().value() == 1);
  REQUIRE(agent.release_queue().took_effect());
  life.runtime.run_until_idle();
  CHECK(agent.queue_length().value() == 0);
  CHECK(life.llm.calls() == 2);
}

TEST_CASE(
    "a result that ends the turn does so after a restart in which another call of the answer was asking",
    "[persist][restore][turns]") {
  MemoryStore store;
  SomeTools tools;
  const InterruptedTurns turns = GENERATE(InterruptedTurns::end, InterruptedTurns::go_on);
  {
    Life life(store, tools.options(turns));
    life.llm.enqueue(calls({call("c1", "finish"), call("c2", "careful")}));
    const Agent agent = life.create("a", with_tools());
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(tools.begun == 1);
    REQUIRE(life.tree->questions().size() == 1);
  }
  Life life(store, tools.options(turns));
  std::vector<TurnEnded> ended;
  const auto on_end = life.tree->on<TurnEnded>([&](const TurnEnded& event) { ended.push_back(event); });
  REQUIRE(life.tree->approve(life.tree->questions().at(0).id));
  life.runtime.run_until_idle();
  CHECK(tools.begun == 2);
  CHECK(life.llm.calls() == 0);  // the model is not asked again
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].result->outcome == TurnOutcome::completed);
  CHECK(ended[0].result->text == "finished");
}

TEST_CASE("grants of a deleted agent are gone, also after a restart and for an agent of the same name",
          "[persist][restore][delete][grants][G13]") {
  MemoryStore store;
  SomeTools tools;
  const GrantScope scope = GENERATE(GrantScope::agent, GrantScope::subtree);
  {
    Life life(store, tools.options(InterruptedTurns::end));
    life.create("other");
    life.llm.enqueue(calls({call("c1", "careful")}));
    const Agent agent = life.create("a", with_tools());
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->approve(life.tree->questions().at(0).id, scope));
    poll(life);
    REQUIRE(life.tree->grants().size() == 1);
    REQUIRE(agent.terminate().took_effect());
    poll(life);
    CHECK(life.tree->grants().empty());
  }
  CHECK(faults_of(store).empty());
  Life life(store, tools.options(InterruptedTurns::end));
  CHECK(life.tree->grants().empty());
  life.llm.enqueue(calls({call("c1", "careful")}));
  const Agent agent = life.create("a", with_tools());
  REQUIRE(agent.send("go"));
  poll(life);
  CHECK(tools.begun == 1);
  CHECK(life.tree->questions().size() == 1);
}

TEST_CASE("no id of a message or number of a turn is used again after a rewind and a restart",
          "[persist][restore][rewind][G14]") {
  MemoryStore store;
  std::vector<MessageId> ids;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    for (const char* text : {"one", "two", "three"}) ids.push_back(agent.send(text).id);
    life.runtime.run_until_idle();
    REQUIRE(agent.rewind(2));
    poll(life);
  }
  for (std::uint64_t turn = 4; turn < 6; ++turn) {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.find("a");
    CHECK(agent.turns().value().size() == 1);
    const MessageId id = agent.send("again").id;
    for (const MessageId before : ids) CHECK(id != before);
    ids.push_back(id);
    life.runtime.run_until_idle();
    CHECK(agent.turns().value().back().turn == turn);
    REQUIRE(agent.rewind(turn));
    poll(life);
  }
}

TEST_CASE("a turn whose handling ends the process is begun three times, and then interrupted",
          "[persist][restore][turns][G14][G15]") {
  MemoryStore store;
  SomeTools tools;
  const std::uint32_t limit = GENERATE(3U, 1U, 5U);
  {
    Life life(store, tools.options(InterruptedTurns::go_on));
    life.llm.enqueue(calls({call("c1", "safe")}));
    REQUIRE(life.create("a", with_tools()).send("go"));
    poll(life);
    REQUIRE(tools.begun == 1);
  }
  RestoreOptions options = tools.options(InterruptedTurns::go_on);
  options.durability = Durability::each_turn;
  options.max_attempts = limit;
  for (std::uint32_t attempt = 2; attempt <= limit; ++attempt) {
    MemoryStore left;
    {
      Life life(store, options);
      left = store;  // its tool ends the process in the first poll, before a commit
      REQUIRE(life.restored.size() == 1);
      CHECK(life.restored[0].fate == RestoredTurn::continues);
      CHECK(life.restored[0].attempt == attempt);
      life.runtime.poll();
      CHECK(tools.begun == attempt);
    }
    store = left;
  }
  Life life(store, options);
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].fate == RestoredTurn::interrupted);
  CHECK(life.restored[0].attempt == limit);
  CHECK(life.restored[0].turn == 1);
  life.runtime.run_until_idle();
  CHECK(tools.begun == limit);
  CHECK(life.llm.calls() == 0);
}

namespace {

// Dies when it is called: from then on the test looks at what the store has at this moment.
struct DeadlyModel final : LlmClient {
  explicit DeadlyModel(MemoryStore& kept) : store(kept) {}
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    ++calls;
    left = store;
    open.push_back(std::move(sink));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
  MemoryStore& store;
  MemoryStore left;
  int calls = 0;
  std::vector<ChatSink> open;
};

// A store with an agent "a", whose message waits, and whose turn the store has never heard of.
MemoryStore with_waiting_message(AgentSpec spec, const RestoreOptions& options, std::size_t messages = 1) {
  MemoryStore store, left;
  Life life(store, options);
  const Agent agent = life.create("a", std::move(spec));
  REQUIRE(agent.pause().took_effect());
  for (std::size_t i = 0; i < messages; ++i) REQUIRE(agent.send("go " + std::to_string(i)));
  poll(life);
  REQUIRE(agent.unpause().took_effect());
  REQUIRE(life.tree->flush());  // before the turn begins
  left = store;
  return left;
}

}  // namespace

TEST_CASE("a turn that ends the process before a commit has it is begun three times, and then dropped",
          "[persist][restore][turns][attempts][G14][G15]") {
  const std::uint32_t limit = GENERATE(3U, 1U, 5U);
  const bool handles = GENERATE(false, true);
  const Durability durability = GENERATE(Durability::each_turn, Durability::each_message);
  CAPTURE(limit, handles, durability);
  MemoryStore store, left;
  DeadlyModel model(store);
  int handled = 0;
  RestoreOptions options{.durability = durability, .turns = InterruptedTurns::go_on};
  options.max_attempts = limit;
  options.code.add_llm("deadly", &model);
  options.code.add_handler("deadly", [&](const Agent&, const Message&) {
    ++handled;
    left = store;
  });
  AgentSpec spec;
  (handles ? spec.code.handler : spec.code.llm) = "deadly";
  store = with_waiting_message(spec, options);
  for (std::uint32_t attempt = 1; attempt <= limit; ++attempt) {
    CAPTURE(attempt);
    {
      Life life(store, options);
      REQUIRE(life.restored.size() == 1);
      poll(life);
      CHECK((handles ? handled : model.calls) == static_cast<int>(attempt));
      model.open.clear();
    }
    store = handles ? left : model.left;
  }
  Life life(store, options);
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].fate == RestoredTurn::interrupted);
  CHECK(life.restored[0].attempt == limit);
  CHECK(life.report->interrupted_turns == 1);
  CHECK(life.report->messages == 0);
  poll(life);
  CHECK((handles ? handled : model.calls) == static_cast<int>(limit));
  REQUIRE(life.dropped.size() == 1);
  CHECK(life.dropped[0].reason == DropReason::interrupted);
  CHECK(life.dropped[0].message.text == "go 0");
  CHECK(life.dropped[0].id == life.restored[0].message);
  CHECK(life.find("a").send("next"));
  poll(life);
  CHECK((handles ? handled : model.calls) == static_cast<int>(limit) + 1);
  CHECK(faults_of(store).empty());
}

TEST_CASE("restarts that begin no turn use up no attempt", "[persist][restore][turns][attempts]") {
  RestoreOptions options{.turns = InterruptedTurns::go_on};
  MemoryStore store = with_waiting_message({}, options, 2);
  for (int i = 0; i < 5; ++i) {
    MemoryStore left;
    {
      Life life(store, options);
      CHECK(life.report->messages == 2);
      left = store;
    }
    store = left;
  }
  {
    Life life(store, options);
    life.llm.enqueue({.deltas = {"one"}});
    life.llm.enqueue({.deltas = {"two"}});
    life.runtime.run_until_idle();
    CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"go 0", "one", "go 1", "two"});
  }
  CHECK(faults_of(store).empty());
}

TEST_CASE("a message that a restart has brought back waits for a store that fails, and so do those behind it",
          "[persist][restore][turns][attempts][failure]") {
  const RestoreOptions options{.turns = InterruptedTurns::go_on};
  GuardedStore store;
  store.records = with_waiting_message({}, options);
  testing::ManualClock clock;
  Life life(store, options, {}, {.clock = &clock});
  store.failure = {Errc::store_failed, "no disk"};
  life.llm.enqueue({.deltas = {"urgent"}});
  life.llm.enqueue({.deltas = {"late"}});
  poll(life);
  CHECK(life.llm.calls() == 0);
  REQUIRE(life.find("a").send({.text = "now", .priority = MessagePriority::urgent}));
  poll(life);
  CHECK(life.llm.calls() == 0);  // the agent waits for the commit, which is tried again later
  store.failure = {};
  clock.advance(std::chrono::minutes(1));
  life.runtime.run_until_idle();
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"now", "urgent", "go 0", "late"});
}

TEST_CASE("a restart counts on from the begin of a message", "[persist][restore][turns][attempts]") {
  RestoreOptions options{.durability = Durability::each_message, .turns = InterruptedTurns::go_on};
  MemoryStore store = with_waiting_message({}, options);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    Life life(store, options);
    REQUIRE(life.restored.size() == 1);
    CHECK(life.restored[0].attempt == (attempt == 1 ? 0 : attempt));
    life.llm.enqueue(silence());
    poll(life);
    CHECK(life.llm.calls() == 1);
  }
}

TEST_CASE("an interrupt that is stored holds over a restart, also if the loop has not read it",
          "[persist][restore][interrupt][turns][G14]") {
  const std::string verb = GENERATE("turn", "subtree", "message", "drop", "withdraw", "abort");
  CAPTURE(verb);
  MemoryStore store, left;
  const RestoreOptions options{.durability = Durability::each_message, .turns = InterruptedTurns::go_on};
  {
    Life life(store, options);
    life.llm.enqueue(silence());
    life.llm.enqueue(silence());
    const Agent parent = life.create("a");
    const Agent child = parent.create_child({.id = "b"}).value();
    REQUIRE(parent.send("parent"));
    const MessageId running = child.send("child").id;
    poll(life);
    const MessageId waiting = child.send("waits").id;
    poll(life);
    REQUIRE(life.llm.calls() == 2);
    if (verb == "turn") CHECK(child.interrupt().took_effect());
    if (verb == "subtree") CHECK(parent.interrupt({.scope = Scope::subtree}).took_effect());
    if (verb == "message") CHECK(child.interrupt({.message = running}).took_effect());
    if (verb == "drop") CHECK(child.interrupt({.queue = QueueAction::drop}).took_effect());
    if (verb == "withdraw") CHECK(child.interrupt({.message = waiting}).took_effect());
    if (verb == "abort") CHECK(child.abort({.queue = QueueAction::drop}).took_effect());
    REQUIRE(life.tree->flush());
    left = store;  // a kill: no poll has read the verb
  }
  Life life(left, options);
  REQUIRE(life.restored.size() == 2);
  const bool parent_ends = verb == "subtree", child_ends = verb != "withdraw";
  CHECK(life.restored[0].fate == (parent_ends ? RestoredTurn::interrupted : RestoredTurn::continues));
  CHECK(life.restored[1].fate == (child_ends ? RestoredTurn::interrupted : RestoredTurn::continues));
  const bool drops = verb == "drop" || verb == "withdraw" || verb == "abort";
  CHECK(life.restored[1].messages == (drops ? 0 : 1));
  CHECK(faults_of(left).empty());
}

TEST_CASE("an interrupt of many agents is in the store before the loop has ended all their turns",
          "[persist][restore][interrupt][turns][G14]") {
  constexpr int agents = 40;
  MemoryStore store, left;
  const RestoreOptions options{.durability = Durability::each_message, .turns = InterruptedTurns::go_on};
  {
    TestClock clock;
    Life life(store, options, {}, {.clock = &clock});
    const Agent root = life.create("root");
    for (int i = 0; i < agents; ++i) {
      life.llm.enqueue(silence());
      REQUIRE(root.create_child({.id = "a" + std::to_string(i)}).value().send("go"));
    }
    poll(life);
    std::size_t ended = 0, ended_when_stored = agents;
    const auto on_end = life.tree->on<TurnEnded>([&](const TurnEnded&) { ++ended; });
    bool is_stored = false;
    REQUIRE(root.interrupt({.scope = Scope::subtree}).took_effect());
    REQUIRE(detail::core::when_stored(*life.tree, [&](const Result<void>& stored) {
      CHECK(stored);
      is_stored = true;
      ended_when_stored = ended;
    }));
    clock.set_tick(std::chrono::milliseconds(1));
    for (int i = 0; i < 100 && !is_stored; ++i) life.runtime.poll(Duration(0));
    REQUIRE(is_stored);
    CHECK(ended_when_stored < agents);
    left = store;
  }
  Life life(left, options);
  REQUIRE(life.restored.size() == agents + 1);
  for (std::size_t i = 1; i < life.restored.size(); ++i)
    CHECK(life.restored[i].fate != RestoredTurn::continues);
}

TEST_CASE("the cause of a stop is in the store as it was, also if another stop came first",
          "[persist][restore][stop]") {
  const auto cause_of = [](Store& store, std::string_view id) {
    detail::persist::StoredForest forest;
    forest.read(detail::persist::ranges_of(store)).value();
    for (const auto& agent : forest.agents())
      if (agent->record.name == id) return agent->record.cause;
    return StopCause::user;
  };
  MemoryStore store;
  {
    Life life(store);
    life.llm.enqueue(silence());
    const Agent parent = life.create("parent");
    const Agent child = parent.create_child({.id = "child"}).value();
    const Agent other = life.create("other");
    REQUIRE(child.send("work"));
    poll(life);
    REQUIRE(child.stop({.cause = StopCause::deadline, .when = StopWhen::after_turn}).took_effect());
    poll(life);
    REQUIRE(parent.stop().took_effect());  // the other takes effect with it
    REQUIRE(other.stop({.cause = StopCause::shutdown}).took_effect());
    life.runtime.run_until_idle();
  }
  for (int restart = 0; restart < 2; ++restart) {
    CHECK(cause_of(store, "child") == StopCause::deadline);
    CHECK(cause_of(store, "other") == StopCause::shutdown);
    Life life(store);
    REQUIRE(life.find("child").pause().accepted());  // its record is written again
    REQUIRE(life.find("other").pause().accepted());
    poll(life);
  }
}

TEST_CASE("a delete after one with the forks that was withdrawn keeps the forks, wherever the process ends",
          "[persist][restore][delete][fork][G14]") {
  MemoryStore store, left;
  {
    Life life(store);
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    REQUIRE(agent.fork({.id = "copy"}));
    REQUIRE(agent.send("work"));
    poll(life);
    REQUIRE(agent.terminate({.when = StopWhen::after_turn, .scope = Scope::with_forks}).took_effect());
    poll(life);
    REQUIRE(agent.resume().took_effect());
    poll(life);
    REQUIRE(agent.terminate().took_effect());
    REQUIRE(life.tree->flush());  // the loop has not read the verb
    left = store;
  }
  Life life(left);
  CHECK_FALSE(life.tree->find("a"));
  CHECK(life.tree->find("copy"));
}

TEST_CASE("a budget of time that is used up stays so over a restart and an import",
          "[persist][restore][budget]") {
  testing::ManualClock clock;
  const RuntimeOptions runtime{.clock = &clock};
  MemoryStore store;
  const bool subtree = GENERATE(false, true);
  std::string document;
  {
    Life life(store, {}, {}, RuntimeOptions(runtime));
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    const Budget budget{.wall_clock = std::chrono::seconds(10)};
    REQUIRE((subtree ? agent.grant(budget, Scope::subtree) : agent.grant(budget)));
    REQUIRE(agent.send("go"));
    poll(life);
    clock.advance(std::chrono::seconds(11));
    poll(life);
    REQUIRE(agent.state().value() == AgentState::stopped);
    document = export_agents(agent).value();
  }
  const auto check_used_up = [](Life& life) {
    poll(life);
    const Agent agent = life.find("a");
    REQUIRE(agent.resume().took_effect());
    poll(life);
    REQUIRE(agent.send("go"));
    poll(life);
    CHECK(life.llm.calls() == 0);
    CHECK(agent.state().value() == AgentState::stopped);
    // A new grant is a new budget.
    REQUIRE((agent.grant({.wall_clock = std::chrono::seconds(10)}) &&
             agent.grant({.wall_clock = std::chrono::seconds(10)}, Scope::subtree)));
    REQUIRE(agent.resume().took_effect());
    poll(life);
    REQUIRE(agent.send("go"));
    poll(life);
    CHECK(life.llm.calls() == 1);
  };
  {
    Life life(store, {}, {}, RuntimeOptions(runtime));
    check_used_up(life);
  }
  MemoryStore other;
  Life life(other, {}, {}, RuntimeOptions(runtime));
  REQUIRE(import_agents(*life.tree, document));
  check_used_up(life);
}

TEST_CASE("a steered message is stored with the next commit, and waits after a kill",
          "[persist][restore][steer][G14]") {
  MemoryStore store, left;
  MessageId steered;
  {
    Life life(store, {.durability = Durability::each_message});
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    REQUIRE(agent.send("work"));
    poll(life);
    REQUIRE(agent.send("later"));
    poll(life);
    REQUIRE(life.tree->flush());  // nothing else is to be written
    const SendResult result = agent.steer("more");
    REQUIRE(result.accepted());
    steered = result.id;
    poll(life);
    left = store;  // what a kill leaves
  }
  Life life(left, {.durability = Durability::each_message});
  const std::vector<QueuedMessage> waiting = life.find("a").queued().value();
  REQUIRE(waiting.size() == 2);
  CHECK(waiting[0].id == steered);
  CHECK(waiting[0].message.text == "more");
  CHECK(waiting[1].message.text == "later");
}

TEST_CASE("a message that is steered after the queue was dropped is stored, and one from before is not",
          "[persist][restore][steer][interrupt][G14]") {
  MemoryStore store, left;
  MessageId steered;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.steer("before").accepted());
    static_cast<void>(agent.interrupt({.queue = QueueAction::drop}));
    const SendResult result = agent.steer("after");
    REQUIRE(result.accepted());
    steered = result.id;
    REQUIRE(life.tree->flush());  // the loop has read none of these
    left = store;
  }
  Life life(left, {.durability = Durability::each_message});
  const std::vector<QueuedMessage> waiting = life.find("a").queued().value();
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0].id == steered);
}
