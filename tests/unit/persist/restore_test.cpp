// [G14] Agents that a store keeps: what a restart finds.
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::count_records;
using agentcore::test::Life;

TEST_CASE("a restart finds the agents, their parents and their order", "[persist][restore][G14]") {
  MemoryStore store;
  std::vector<std::string> ids;
  {
    Life life(store);
    CHECK(life.report->agents == 0);
    const Agent root = life.create("root");
    root.create_child({.id = "first"}).value();
    root.create_child({.id = "second"}).value().create_child().value();
    life.create("other");
    life.runtime.poll();
    life.tree->walk([&](const Agent& agent) { ids.push_back(agent.id()); });
  }
  Life life(store);
  CHECK(life.report->agents == 5);
  CHECK(life.tree->size() == 5);
  std::vector<std::string> found;
  life.tree->walk([&](const Agent& agent) { found.push_back(agent.id()); });
  CHECK(found == ids);
  CHECK(life.find("first").parent().value().id() == "root");
  CHECK(life.restored_ids.size() == 5);
  CHECK(life.restored_ids.front() == "root");
  CHECK(life.restored[0].state == AgentState::idle);
}

TEST_CASE("a restart finds the spec of an agent", "[persist][restore]") {
  MemoryStore store;
  AgentSpec spec;
  spec.system_prompt = "You plan trips. \xE2\x9C\x88";
  spec.model.name = "m-1";
  spec.model.temperature = 0.25;
  spec.model.max_tokens = 77;
  spec.model.stop_sequences = {"END"};
  spec.role = AgentRole::system;
  spec.limits.mailbox = 5;
  spec.limits.turn_timeout = std::chrono::seconds(90);
  spec.context.max_tokens = 9'000;
  spec.model.prices = {.prompt = 2.5, .completion = 10, .cached_prompt = 1.25};
  {
    Life life(store);
    life.create("planner", spec);
    life.runtime.poll();
  }
  // What a request of the restored agent has.
  Life life(store);
  ChatRequest request;
  testing::ScriptedClient client(life.runtime, [&](const ChatRequest& asked) {
    request = asked;
    return testing::ScriptedReply{.deltas = {"ok"}};
  });
  const Agent planner = life.find("planner");
  REQUIRE(planner.set_llm(&client));
  REQUIRE(planner.send("go"));
  life.runtime.run_until_idle();
  CHECK(request.model == "m-1");
  CHECK(request.messages.front().content() == spec.system_prompt);
  CHECK(request.temperature == 0.25);
  CHECK(request.max_tokens == 77U);
  CHECK(request.stop_sequences == std::vector<std::string>{"END"});
  CHECK(planner.terminate().reason == Errc::cannot_delete_system_agent);
  for (int i = 0; i < 5; ++i) REQUIRE(planner.send("x"));
  CHECK(planner.send("x").reason == Errc::mailbox_full);
}

TEST_CASE("a restart finds conversations, which continue", "[persist][restore][G8][Y7]") {
  MemoryStore store;
  std::vector<std::string> texts;
  {
    Life life(store);
    const Agent agent = life.create("a", {.system_prompt = "s"});
    REQUIRE(agent.send("one"));
    REQUIRE(agent.send("two"));
    life.runtime.run_until_idle();
    texts = Life::texts(agent);
    CHECK(texts == std::vector<std::string>{"s", "one", "one", "two", "two"});
  }
  {
    Life life(store);
    const Agent agent = life.find("a");
    CHECK(Life::texts(agent) == texts);
    CHECK(agent.turns().value().size() == 2);
    REQUIRE(agent.send("three"));
    life.runtime.run_until_idle();
    texts = Life::texts(agent);
    CHECK(texts.size() == 7);
    CHECK(agent.turns().value().back().turn == 3);
  }
  Life life(store);
  CHECK(Life::texts(life.find("a")) == texts);
}

TEST_CASE("messages wait over a restart, in their order and with their ids", "[persist][restore][mail]") {
  MemoryStore store;
  std::vector<MessageId> ids;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    ids.push_back(agent.send("normal").id);
    ids.push_back(agent.send({.text = "last", .sender = "s", .kind = "k"}).id);
    life.runtime.poll();
    ids.insert(ids.begin(), agent.send({.text = "urgent", .priority = MessagePriority::urgent}).id);
    life.runtime.poll();
    REQUIRE(life.messages.size() == 3);
    CHECK(life.messages[0].message == ids[1]);
    CHECK_FALSE(life.messages[0].ended);
  }
  Life life(store, {.durability = Durability::each_message});
  CHECK(life.report->messages == 3);
  const Agent agent = life.find("a");
  const std::vector<QueuedMessage> queued = agent.queued().value();
  REQUIRE(queued.size() == 3);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(queued[i].id == ids[i]);
  CHECK(queued[0].message.text == "urgent");
  CHECK(queued[2].message.sender == "s");
  CHECK(queued[2].message.kind == "k");
  CHECK(agent.status().value().paused);
  // New ids are other ids.
  const MessageId fresh = agent.send("fresh").id;
  for (const MessageId id : ids) CHECK(fresh != id);
  REQUIRE(agent.unpause().took_effect());
  REQUIRE(agent.release_queue().took_effect());
  life.runtime.run_until_idle();
  CHECK(Life::texts(agent) ==
        std::vector<std::string>{"urgent", "urgent", "normal", "normal", "last", "last", "fresh", "fresh"});
  CHECK(life.messages.back().ended);
  CHECK(life.messages.back().message == fresh);
}

TEST_CASE("messages that waited begin no turn after a restart until their mailbox is released",
          "[persist][restore][mail][stop][G14]") {
  MemoryStore killed;
  {
    MemoryStore store;
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    life.create("b");
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.send("waits"));
    life.runtime.poll();
    REQUIRE(agent.unpause().took_effect());
    REQUIRE(agent.stop().took_effect());
    killed = store;  // before the stop has reached the store
  }
  SECTION("and they are not lost") {
    {
      Life life(killed, {.durability = Durability::each_message});
      REQUIRE(life.restored.size() == 2);
      CHECK(life.restored[0].queue_held);
      CHECK(life.restored[0].held_by_restart);
      CHECK(life.restored[0].messages == 1);
      CHECK_FALSE(life.restored[1].queue_held);  // no message waits for it
      const Agent agent = life.find("a");
      CHECK(agent.status().value().queue_held);
      REQUIRE(agent.unpause().took_effect());
      REQUIRE(agent.send("new"));
      REQUIRE(life.find("b").send("at once"));
      life.runtime.run_until_idle();
      CHECK(agent.queue_length().value() == 2);
      CHECK(Life::texts(life.find("b")).size() == 2);
      CHECK(life.llm.calls() == 1);
    }
    // The hold is kept, as any other, and its cause.
    Life life(killed, {.durability = Durability::each_message, .turns = InterruptedTurns::go_on});
    CHECK(life.restored[0].held_by_restart);
    const Agent agent = life.find("a");
    life.runtime.run_until_idle();
    CHECK(agent.status().value().queue_held);
    CHECK(life.llm.calls() == 0);
    REQUIRE(agent.release_queue().took_effect());
    life.runtime.run_until_idle();
    CHECK(Life::texts(agent) == std::vector<std::string>{"waits", "waits", "new", "new"});
  }
  SECTION("and the store has the hold, also if nothing else changes") {
    { const Life life(killed); }
    const Life life(killed, {.turns = InterruptedTurns::go_on});
    CHECK(life.restored[0].queue_held);
    CHECK(life.restored[0].held_by_restart);
  }
  SECTION("unless the host lets agents go on") {
    Life life(killed, {.turns = InterruptedTurns::go_on});
    CHECK_FALSE(life.restored[0].queue_held);
    REQUIRE(life.find("a").unpause().took_effect());
    life.runtime.run_until_idle();
    CHECK(life.llm.calls() == 1);
  }
}

TEST_CASE("a hold of a verb stays apart from one of a restart, and holds the descendants",
          "[persist][restore][mail]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent parent = life.create("parent");
    const Agent child = parent.create_child({.id = "child"}).value();
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    REQUIRE(parent.send("work"));
    life.runtime.poll();
    REQUIRE(parent.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}).took_effect());
    REQUIRE(child.send("waits"));
    life.runtime.run_until_idle();
  }
  {
    Life life(store);
    REQUIRE(life.restored.size() == 2);
    for (const AgentRestored& restored : life.restored) {
      CHECK(restored.queue_held);
      CHECK_FALSE(restored.held_by_restart);
    }
    REQUIRE(life.find("parent").release_queue().took_effect());
    life.runtime.run_until_idle();
    CHECK(Life::texts(life.find("child")).size() == 2);
    REQUIRE(life.tree->flush());
  }
  Life life(store);
  CHECK_FALSE(life.restored[0].queue_held);
}

TEST_CASE("a hold of a restart ends with its release, also in the store", "[persist][restore][mail]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.send("waits"));
    life.runtime.poll();
  }
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.find("a");
    REQUIRE(agent.release_queue().took_effect());
    life.runtime.poll();
    // A person holds it now.
    REQUIRE(agent.unpause().took_effect());
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    for (int i = 0; i < 4; ++i) life.runtime.poll();
    REQUIRE(agent.interrupt({.queue = QueueAction::hold}).took_effect());
    life.runtime.run_until_idle();
  }
  Life life(store);
  CHECK(life.restored[0].queue_held);
  CHECK_FALSE(life.restored[0].held_by_restart);
}

TEST_CASE("more messages than the limit of a mailbox are there after a restart",
          "[persist][restore][mail][G12]") {
  MemoryStore store;
  std::vector<MessageId> ids;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    for (const char* const text : {"one", "two", "three"}) ids.push_back(agent.send(text).id);
    life.runtime.poll();
  }
  Life life(store, {}, {.mailbox_limit = 2});
  const Agent agent = life.find("a");
  const std::vector<QueuedMessage> queued = agent.queued().value();
  REQUIRE(queued.size() == 3);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(queued[i].id == ids[i]);
  CHECK(agent.send("one more").reason == Errc::mailbox_full);
}

TEST_CASE("a message that was handled is not handled again", "[persist][restore][mail]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.send("one"));
    life.runtime.run_until_idle();
  }
  Life life(store);
  CHECK(life.report->messages == 0);
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 0);
}

TEST_CASE("a stop that is resumed before the store has it is not reported as stored",
          "[persist][restore][stop]") {
  MemoryStore store;
  // One poll does all, however slow the machine is: the stop and the resume are in one commit.
  Life life(store, {}, {}, {.poll_budget = std::chrono::hours(1)});
  const Agent agent = life.create("a");
  life.runtime.poll();
  const bool whole_tree = GENERATE(false, true);
  CAPTURE(whole_tree);
  StopOptions resumed;
  resumed.on_settled = [&](const StopReport&) {
    REQUIRE((whole_tree ? life.tree->resume_all() : agent.resume()).took_effect());
  };
  REQUIRE((whole_tree ? life.tree->stop_all(resumed) : agent.stop(resumed)).took_effect());
  life.runtime.run_until_idle();
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(life.stops.empty());
  REQUIRE((whole_tree ? life.tree->stop_all() : agent.stop()).took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.stops.size() == 1);
  CHECK(life.stops[0].agent_id == (whole_tree ? "" : "a"));
}

TEST_CASE("a deferred delete that is withdrawn before the store has it is not reported as stored",
          "[persist][restore][stop][delete][G14]") {
  MemoryStore store;
  Life life(store);
  const Agent agent = life.create("a");
  life.runtime.poll();
  REQUIRE(agent.terminate({.when = StopWhen::after_step}).took_effect());
  REQUIRE(agent.resume().took_effect());
  const bool stops_then = GENERATE(false, true);
  if (stops_then) REQUIRE(agent.stop().took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.stops.size() == (stops_then ? 1 : 0));
  if (stops_then) CHECK_FALSE(life.stops[0].deleted);
}

TEST_CASE("stopped stays stopped over a restart, and is resumed as before", "[persist][restore][stop][G14]") {
  MemoryStore store;
  {
    Life life(store);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    child.create_child({.id = "grandchild"}).value();
    life.create("other");
    REQUIRE(root.stop().took_effect());
    life.runtime.run_until_idle();
    REQUIRE(life.stops.size() == 1);
    CHECK(life.stops[0].agent_id == "root");
    CHECK_FALSE(life.stops[0].deleted);
  }
  Life life(store);
  for (const char* id : {"root", "child", "grandchild"})
    CHECK(life.find(id).state().value() == AgentState::stopped);
  CHECK(life.find("other").state().value() == AgentState::idle);
  CHECK(life.find("child").send("x").reason == Errc::agent_stopped);
  CHECK(life.find("child").resume().reason == Errc::parent_stopped);
  REQUIRE(life.find("root").resume().took_effect());
  life.runtime.run_until_idle();
  for (const char* id : {"root", "child", "grandchild"}) {
    CHECK(life.find(id).state().value() == AgentState::idle);
    REQUIRE(life.find(id).send("x"));
  }
  life.runtime.run_until_idle();
  CHECK(Life::texts(life.find("grandchild")).size() == 2);
}

TEST_CASE("a child that was stopped by itself stays so when its parent is resumed after a restart",
          "[persist][restore][stop]") {
  MemoryStore store;
  {
    Life life(store);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(child.stop().took_effect());
    life.runtime.run_until_idle();
    REQUIRE(root.stop().took_effect());
    life.runtime.run_until_idle();
  }
  Life life(store);
  REQUIRE(life.find("root").resume().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.find("root").state().value() == AgentState::idle);
  CHECK(life.find("child").state().value() == AgentState::stopped);
}

TEST_CASE("a child that is stopped by itself while its parent is stopped stays so after a restart",
          "[persist][restore][stop]") {
  MemoryStore store;
  {
    Life life(store);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(root.stop().took_effect());
    life.runtime.run_until_idle();
    CHECK(child.stop().reason == Errc::agent_stopped);
    life.runtime.poll();
    MemoryStore killed = store;
    Life later(killed);
    REQUIRE(later.find("root").resume().took_effect());
    later.runtime.run_until_idle();
    CHECK(later.find("child").state().value() == AgentState::stopped);
  }
  Life life(store);
  REQUIRE(life.find("root").resume().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.find("root").state().value() == AgentState::idle);
  CHECK(life.find("child").state().value() == AgentState::stopped);
}

TEST_CASE("a stop that had not settled is a stop after a restart", "[persist][restore][stop][G14]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = silent.deaf = true;
    life.llm.enqueue(silent);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(child.send("work"));
    life.runtime.poll();
    REQUIRE(child.state().value() == AgentState::waiting_llm);
    REQUIRE(root.stop().took_effect());
    life.runtime.poll();
    CHECK(root.state().value() == AgentState::stopping);
    REQUIRE(life.stops.size() == 1);
  }
  Life life(store);
  CHECK(life.find("root").state().value() == AgentState::stopped);
  CHECK(life.find("child").state().value() == AgentState::stopped);
}

TEST_CASE("a deferred stop is a stop after a restart", "[persist][restore][stop]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    const Agent root = life.create("root");
    root.create_child({.id = "child"}).value();
    REQUIRE(root.send("work"));
    life.runtime.poll();
    REQUIRE(root.stop({.when = StopWhen::after_turn}).took_effect());
    life.runtime.poll();
    CHECK(root.state().value() == AgentState::waiting_llm);
    CHECK(life.stops.size() == 1);
  }
  Life life(store);
  CHECK(life.find("root").state().value() == AgentState::stopped);
  CHECK(life.find("child").state().value() == AgentState::stopped);
  CHECK(life.report->interrupted_turns == 1);
}

TEST_CASE("stop_all() and pause_all() stay in force over a restart", "[persist][restore][stop]") {
  MemoryStore store;
  {
    Life life(store);
    life.create("a");
    REQUIRE(life.tree->stop_all().took_effect());
    life.runtime.run_until_idle();
    REQUIRE(life.stops.size() == 1);
    CHECK(life.stops[0].agent_id.empty());
    REQUIRE(life.tree->pause_all().took_effect());
    life.runtime.poll();
  }
  Life life(store);
  CHECK(life.find("a").state().value() == AgentState::stopped);
  CHECK(life.tree->create({.id = "b"}).error().code == Errc::agent_stopped);
  REQUIRE(life.tree->resume_all().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.find("a").status().value().paused);
  REQUIRE(life.find("a").send("x"));
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 0);
  REQUIRE(life.tree->unpause_all().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 1);
}

TEST_CASE("a turn that was in progress is interrupted by a restart", "[persist][restore][turn][G8][G14]") {
  MemoryStore store;
  MessageId message;
  {
    Life life(store, {.durability = Durability::each_message});
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    const Agent agent = life.create("a");
    message = agent.send("question").id;
    REQUIRE(agent.send("next"));
    life.runtime.poll();
    REQUIRE(agent.state().value() == AgentState::waiting_llm);
  }
  Life life(store);
  CHECK(life.report->interrupted_turns == 1);
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].turn == 1);
  CHECK(life.restored[0].message == message);
  CHECK(life.restored[0].messages == 1);
  const Agent agent = life.find("a");
  std::vector<ChatMessage> history = agent.conversation().value();
  REQUIRE(history.size() == 1);
  CHECK(history[0].interruption == Interruption::interrupted);
  CHECK(life.restored[0].queue_held);
  REQUIRE(agent.release_queue().took_effect());
  life.runtime.run_until_idle();
  history = agent.conversation().value();
  CHECK(is_valid_history(history));
  CHECK(Life::texts(agent) == std::vector<std::string>{"question", "next", "next"});
  CHECK(agent.turns().value().back().turn == 2);
}

TEST_CASE("a tool call without a stored result is unknown after a restart", "[persist][restore][turn][G9]") {
  MemoryStore store;
  auto tools = std::make_shared<ToolRegistry>();
  std::vector<ToolDone> open;
  tools->add(
      {.spec = {.name = "slow"}, .start = [&](const nlohmann::json&, const ToolContext&, ToolDone done) {
         open.push_back(std::move(done));
       }});
  RestoreOptions options{.durability = Durability::each_step};
  options.code.add_tools("tools", tools);
  {
    Life life(store, options);
    testing::ScriptedReply call;
    call.tool_calls = {{.id = "c1", .name = "slow", .arguments = "{}"}};
    life.llm.enqueue(call);
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    while (open.empty()) life.runtime.poll();
    life.runtime.poll();
  }
  open.clear();
  Life life(store, options);
  CHECK(life.report->interrupted_turns == 1);
  const std::vector<ChatMessage> history = life.find("a").conversation().value();
  REQUIRE(history.size() == 3);
  CHECK(history[2].content().find("effect is unknown") != std::string::npos);
  CHECK(is_valid_history(history));
  life.runtime.run_until_idle();
  CHECK(open.empty());  // nothing runs again
}

TEST_CASE("a delete leaves nothing in the store", "[persist][restore][delete][G13][D8][X9]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    life.runtime.poll();
    const Agent keep = life.create("keep");
    life.runtime.poll();
    const std::size_t before = count_records(store);
    const Agent root = keep.create_child({.id = "root", .system_prompt = "p"}).value();
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(child.send("one"));
    life.runtime.run_until_idle();
    REQUIRE(child.pause().took_effect());
    REQUIRE(child.send("waits"));
    life.runtime.poll();
    CHECK(count_records(store) > before);
    REQUIRE(root.terminate().took_effect());
    life.runtime.run_until_idle();
    CHECK(count_records(store) == before);
    REQUIRE(life.stops.size() == 1);
    CHECK(life.stops[0].deleted);
    CHECK(life.stops[0].agent_id == "root");
    CHECK_FALSE(life.stops[0].agent.exists());
  }
  Life life(store);
  CHECK(life.tree->size() == 1);
  // The id of a deleted agent is never given again.
  const std::string id = life.tree->create().value().id();
  CHECK(id != "@2.1");
  CHECK(id != "@3.1");
}

TEST_CASE("a restore without memory makes no agent, or succeeds", "[persist][restore][memory]") {
  const std::string long_name = "the name of an agent that needs a heap of its own";
  MemoryStore filled;
  {
    MemoryStore store;
    Life life(store, {.durability = Durability::each_message});
    testing::ScriptedReply deaf;
    deaf.silent = deaf.deaf = true;
    life.llm.enqueue(deaf);
    const Agent deleted = life.create(long_name);
    const Agent waits = life.create("waits");
    REQUIRE(waits.pause().took_effect());
    REQUIRE(waits.send("a message that needs a heap of its own"));
    REQUIRE(deleted.send("work"));
    life.runtime.poll();
    REQUIRE(deleted.terminate().took_effect());
    life.runtime.poll();
    filled = store;
  }
  bool failed = true;
  std::size_t failures = 0;
  for (std::size_t n = 1; failed; ++n) {
    MemoryStore store = filled;
    Runtime runtime{test::unhurried()};
    AgentTree tree(runtime);
    RestoreOptions options;
    Result<RestoreReport> report = RestoreReport();
    {
      const test::FailingAllocation failing(n, 1);
      report = tree.restore(&store, std::move(options));
      failed = failing.failed();
    }
    CAPTURE(n);
    if (report) {
      CHECK(tree.size() == 1);
      CHECK(report->deleted_ids == std::vector<std::string>{long_name});
    } else {
      ++failures;
      CHECK(report.error().code == Errc::out_of_memory);
      CHECK(tree.size() == 0);
    }
  }
#ifndef RACES_WATCHED  // ThreadSanitizer lets no allocation fail
  CHECK(failures > 10);
#endif
}

TEST_CASE("a delete that had not settled is finished by a restart", "[persist][restore][delete][G14]") {
  MemoryStore store;
  std::string child_id;
  {
    Life life(store);
    testing::ScriptedReply deaf;
    deaf.silent = deaf.deaf = true;
    life.llm.enqueue(deaf);
    const Agent root = life.create("root");
    const Agent child = root.create_child().value();
    child_id = child.id();
    REQUIRE(child.send("work"));
    life.runtime.poll();
    REQUIRE(root.terminate().took_effect());
    life.runtime.poll();
    CHECK(life.tree->size() == 2);
    CHECK(life.stops.size() == 1);
  }
  Life life(store);
  CHECK(life.report->deleted == 2);
  CHECK(life.report->deleted_ids == std::vector<std::string>{"root", child_id});
  CHECK(life.report->agents == 0);
  CHECK(life.tree->size() == 0);
  life.runtime.poll();
  CHECK(count_records(store) == 1);  // of the tree
}

TEST_CASE("code is bound by its name and what is not bound comes back stopped", "[persist][restore][code]") {
  MemoryStore store;
  std::vector<std::string> handled;
  const auto handler = [&](const Agent&, const Message& message) { handled.push_back(message.text); };
  CodeRegistry code;
  code.add_handler("printer", handler);
  {
    Life life(store, {.code = code});
    life.create("named", {.code = {.handler = "printer"}});
    life.create("unnamed", {.handler = handler});
    CHECK(life.tree->create({.code = {.handler = "nobody"}}).error().code == Errc::invalid_config);
    life.runtime.poll();
  }
  {
    Life life(store, {.code = code});
    CHECK(life.report->unbound == 1);
    CHECK(life.find("named").state().value() == AgentState::idle);
    CHECK(life.find("unnamed").state().value() == AgentState::stopped);
    CHECK(life.restored[0].unbound.empty());
    CHECK(life.restored[1].unbound == "handler has no name (AgentSpec::code)");
    REQUIRE(life.find("named").send("hello"));
    life.runtime.run_until_idle();
    CHECK(handled == std::vector<std::string>{"hello"});
  }
  Life life(store);
  CHECK(life.restored[0].unbound == "handler 'printer' is not in RestoreOptions::code");
  CHECK(life.find("named").state().value() == AgentState::stopped);
}

TEST_CASE("an agent without its code is not opened by its parent or a message", "[persist][restore][code]") {
  MemoryStore store;
  CodeRegistry code;
  code.add_handler("printer", [](const Agent&, const Message&) {});
  {
    Life life(store, {.code = code});
    const Agent parent = life.create("parent");
    parent.create_child({.id = "child", .auto_resume = true, .code = {.handler = "printer"}}).value();
    life.create("eager", {.auto_resume = true, .code = {.handler = "printer"}});
    REQUIRE(parent.stop().took_effect());
    life.runtime.run_until_idle();
  }
  Life life(store);
  CHECK(life.report->unbound == 2);
  REQUIRE(life.find("parent").resume().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.find("parent").state().value() == AgentState::idle);
  CHECK(life.find("child").state().value() == AgentState::stopped);
  CHECK(life.find("eager").send("x").reason == Errc::agent_stopped);
}

TEST_CASE("messages of an agent without its code wait for a restart with the code",
          "[persist][restore][code]") {
  MemoryStore store;
  std::vector<std::string> handled;
  CodeRegistry code;
  code.add_handler("printer", [&](const Agent&, const Message& message) { handled.push_back(message.text); });
  {
    Life life(store, {.durability = Durability::each_message, .code = code});
    const Agent agent = life.create("a", {.code = {.handler = "printer"}});
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.send("waits"));
    life.runtime.poll();
  }
  {
    Life life(store);
    life.runtime.poll();
    REQUIRE(life.dropped.size() == 1);  // the host may send it again
    CHECK(life.dropped[0].message.text == "waits");
  }
  SECTION("at once") {
    Life life(store, {.code = code});
    REQUIRE(life.find("a").unpause().took_effect());
    REQUIRE(life.find("a").release_queue().took_effect());
    life.runtime.run_until_idle();
    CHECK(handled == std::vector<std::string>{"waits"});
  }
  SECTION("after other agents have got messages, and the record was written again") {
    {
      Life life(store, {.durability = Durability::each_message});
      CHECK(life.tree->message(life.dropped.at(0).id).stage == MessageInfo::Stage::unknown);
      const Agent other = life.create("other");
      REQUIRE(other.pause().took_effect());
      REQUIRE(life.find("a").unpause().took_effect());
      for (int i = 0; i < 3; ++i) REQUIRE(other.send("to another one"));
      life.runtime.poll();
    }
    Life life(store, {.code = code});
    REQUIRE(life.report);
    CHECK(life.find("other").queued().value().size() == 3);
    REQUIRE(life.find("a").release_queue().took_effect());
    life.runtime.run_until_idle();
    CHECK(handled == std::vector<std::string>{"waits"});
  }
  SECTION("but not after a stop of that agent") {
    {
      Life life(store);
      const bool cascade = GENERATE(false, true);
      CHECK(life.find("a").stop({.scope = cascade ? Scope::subtree : Scope::agent}).took_effect() == cascade);
      REQUIRE(life.tree->flush());
    }
    Life life(store, {.code = code});
    CHECK(life.find("a").state().value() == AgentState::stopped);
    life.runtime.run_until_idle();
    CHECK(handled.empty());
    CHECK(life.dropped.size() <= 1);
  }
  SECTION("nor after it was resumed and stopped") {
    {
      Life life(store);
      life.runtime.poll();
      REQUIRE(life.find("a").resume().took_effect());
      REQUIRE(life.find("a").stop().took_effect());
      life.runtime.run_until_idle();
    }
    Life life(store, {.code = code});
    CHECK(life.find("a").state().value() == AgentState::stopped);
    CHECK(life.dropped.empty());
  }
}

TEST_CASE("a history that begins with a summary is found by a restart, and imported",
          "[persist][restore][export]") {
  MemoryStore store;
  ChatMessage summary = ChatMessage::user("They spoke of boats.");
  summary.summary = true;
  std::string document;
  {
    Life life(store);
    const Agent agent = life.create("a", {.history = {summary}});
    const Agent other = life.create("b", {.history = {summary}});
    REQUIRE(agent.send("one"));
    life.runtime.run_until_idle();
    document = export_agents(agent).value();
  }
  Life life(store);
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"They spoke of boats.", "one", "one"});
  REQUIRE(life.find("b").send("two"));
  life.runtime.run_until_idle();
  CHECK(Life::texts(life.find("b")) == std::vector<std::string>{"They spoke of boats.", "two", "two"});
  MemoryStore empty;
  Life target(empty);
  REQUIRE(import_agents(*target.tree, document));
  CHECK(Life::texts(target.find("a")).size() == 3);
}

TEST_CASE("a delete that is pending is in force after a restart, also if a stop comes first",
          "[persist][restore][delete][later][G14]") {
  MemoryStore store, left;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    const Agent agent = life.create("a");
    REQUIRE(agent.send("go"));
    while (agent.state().value() != AgentState::waiting_llm) life.runtime.poll();
    REQUIRE(agent.terminate({.when = StopWhen::after_turn}).took_effect());
    for (int i = 0; i < 4; ++i) life.runtime.poll();
    REQUIRE(agent.stop().took_effect());
    REQUIRE(life.tree->flush());
    left = store;
  }
  const Life next(left);
  CHECK(next.tree->size() == 0);
}

TEST_CASE("ids are not given twice, although nothing was committed in between", "[persist][restore]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    life.create("a");
    REQUIRE(life.find("a").send("x"));
    life.runtime.run_until_idle();
  }
  // Runs that end without a commit: the store of each is what the restore has left.
  std::vector<MessageId> messages;
  std::vector<std::string> agents;
  for (int run = 0; run < 3; ++run) {
    MemoryStore running = store;
    Life life(running);
    store = running;
    messages.push_back(life.find("a").send("y").id);
    agents.push_back(life.tree->create().value().id());
    REQUIRE(life.find(agents.back()).terminate().took_effect());
    life.runtime.poll();
    agents.push_back(life.tree->create().value().id());
  }
  for (std::size_t i = 0; i < messages.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) CHECK(messages[i] != messages[k]);
  for (std::size_t i = 0; i < agents.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) CHECK(agents[i] != agents[k]);
}

TEST_CASE("budgets and what was used of them survive a restart", "[persist][restore][budget]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply reply;
    reply.deltas = {"ok"};
    reply.usage = {.prompt_tokens = 30, .completion_tokens = 12};
    life.llm.enqueue(reply);
    const Agent agent = life.create("a", {.limits = {.budget = {.turns = 2, .tokens = 10'000}}});
    REQUIRE(agent.send("x"));
    life.runtime.run_until_idle();
    CHECK(agent.spent().value().tokens == 42);
  }
  Life life(store);
  const Agent agent = life.find("a");
  CHECK(agent.spent().value().tokens == 42);
  CHECK(agent.spent().value().turns == 1);
  REQUIRE(agent.send("x"));
  REQUIRE(agent.send("y"));
  life.runtime.run_until_idle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(Life::texts(agent).size() == 5);
}

TEST_CASE("what a child has used of its parent's budget survives a restart", "[persist][restore][budget]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply reply;
    reply.deltas = {"ok"};
    reply.usage = {.prompt_tokens = 30, .completion_tokens = 12};
    life.llm.enqueue(reply);
    const Agent parent = life.create("parent", {.limits = {.subtree_budget = {.tokens = 10'000}}});
    const Agent child = parent.create_child({.id = "child"}).value();
    life.runtime.poll();
    REQUIRE(child.send("x"));
    life.runtime.run_until_idle();
    CHECK(parent.spent(Scope::subtree).value().tokens == 42);
  }
  const Life life(store);
  CHECK(life.tree->find("parent").value().spent(Scope::subtree).value().tokens == 42);
}

TEST_CASE("a turn in progress counts in the budgets of the agent's ancestors after a kill",
          "[persist][restore][budget][G14]") {
  MemoryStore store;
  Life life(store, {.durability = Durability::each_message});
  testing::ScriptedReply refused, silent;
  refused.deltas = {"no JSON"};
  refused.usage = {.prompt_tokens = 30, .completion_tokens = 12};
  silent.silent = true;
  life.llm.enqueue(refused);
  life.llm.enqueue(silent);
  const Agent parent = life.create("parent", {.limits = {.subtree_budget = {.turns = 5, .tokens = 10'000}}});
  AgentSpec spec{.id = "child"};
  spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
  const Agent child = parent.create_child(std::move(spec)).value();
  for (int i = 0; i < 12; ++i) life.runtime.poll();
  REQUIRE(child.send("x"));
  const auto after_kill = [&] {
    MemoryStore left = store;
    const Life next(left, {.turns = InterruptedTurns::end});
    return next.tree->find("parent").value().spent(Scope::subtree).value();
  };
  while (child.state().value() != AgentState::waiting_llm) life.runtime.poll();
  CHECK(after_kill().turns == 1);
  while (life.llm.calls() < 2) life.runtime.poll();  // the first answer was refused
  life.runtime.poll();
  CHECK(after_kill().tokens == 42);
}

TEST_CASE("a resume of the tree opens what is below an agent that was stopped alone",
          "[persist][restore][stop][G3]") {
  MemoryStore store;
  const bool restarts = GENERATE(false, true);
  Life first(store);
  const Agent alone = first.create("alone");
  REQUIRE(alone.create_child({.id = "below"}));
  REQUIRE(alone.stop({.scope = Scope::agent}).took_effect());
  first.runtime.run_until_idle();
  REQUIRE(first.tree->stop_all().took_effect());
  first.runtime.run_until_idle();
  MemoryStore left = store;
  Life second(left);
  Life& life = restarts ? second : first;
  CHECK(life.find("below").state().value() == AgentState::stopped);
  REQUIRE(life.tree->resume_all().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.find("alone").state().value() == AgentState::stopped);
  CHECK(life.find("below").state().value() == AgentState::idle);
}

TEST_CASE("a hold that is extended to the descendants holds them after a restart", "[persist][restore]") {
  MemoryStore store;
  {
    Life life(store);
    const Agent parent = life.create("parent");
    REQUIRE(parent.create_child({.id = "child"}));
    static_cast<void>(parent.interrupt({.queue = QueueAction::hold}));
    life.runtime.run_until_idle();
    static_cast<void>(parent.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}));
    if (GENERATE(false, true)) REQUIRE(life.tree->flush());  // before the loop has read it
    life.runtime.run_until_idle();
    CHECK(life.find("child").status().value().queue_held);
  }
  Life life(store);
  CHECK(life.find("child").status().value().queue_held);
}

TEST_CASE("the end of a tree frees the specs of its agents, although a handle is left", "[persist][D7]") {
  MemoryStore store;
  auto held = std::make_shared<int>(1);
  Agent left;
  {
    Life life(store);
    left = life.create("a", {.handler = [held](const Agent&, const Message&) {}});
    life.runtime.poll();
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("a rewind and a fork are as they were after a restart", "[persist][restore][fork]") {
  MemoryStore store;
  std::vector<std::string> origin_texts, fork_texts;
  {
    Life life(store);
    const Agent origin = life.create("origin");
    for (const char* text : {"one", "two", "three"}) REQUIRE(origin.send(text));
    life.runtime.run_until_idle();
    const std::size_t before = count_records(store);
    const Agent forked = origin.fork({.id = "fork", .at = 2}).value();
    life.runtime.poll();
    CHECK(count_records(store) == before + 2);  // the agent and its spec; no message
    REQUIRE(forked.send("four"));
    life.runtime.run_until_idle();
    REQUIRE(origin.rewind(1));
    life.runtime.poll();
    REQUIRE(origin.send("again"));
    life.runtime.run_until_idle();
    origin_texts = Life::texts(origin);
    fork_texts = Life::texts(forked);
    CHECK(fork_texts == std::vector<std::string>{"one", "one", "two", "two", "four", "four"});
  }
  {
    Life life(store);
    CHECK(Life::texts(life.find("origin")) == origin_texts);
    CHECK(Life::texts(life.find("fork")) == fork_texts);
    REQUIRE(life.find("origin").terminate().took_effect());
    life.runtime.run_until_idle();
  }
  {
    Life life(store);
    CHECK(Life::texts(life.find("fork")) == fork_texts);
    REQUIRE(life.find("fork").terminate().took_effect());
    life.runtime.run_until_idle();
  }
  CHECK(count_records(store) == 1);
}

TEST_CASE("restore is refused where it cannot be right", "[persist][restore]") {
  MemoryStore store;
  Life life(store);
  CHECK(life.tree->restore(&store).error().code == Errc::invalid_config);
  AgentTree late(life.runtime);
  late.create().value();
  CHECK(late.restore(&store).error().code == Errc::invalid_config);
  AgentTree none(life.runtime);
  CHECK(none.restore(nullptr).error().code == Errc::invalid_config);
  CHECK(none.flush());
}

TEST_CASE("a store with as many agents, as deep, as the tree allows is restored", "[persist][restore][G15]") {
  MemoryStore store;
  {
    Life life(store);
    CHECK(life.create("a").create_child({.id = "b"}).value().create_child({.id = "c"}));
    life.runtime.run_until_idle();
  }
  {
    Life life(store, {}, {.max_depth = 3, .max_agents = 3});
    REQUIRE(life.report);
    CHECK(life.report->agents == 3);
    CHECK(life.tree->create().error().code == Errc::agent_limit);
  }
  const Life few(store, {}, {.max_agents = 2}), flat(store, {}, {.max_depth = 2});
  REQUIRE_FALSE(few.report);
  CHECK(few.report.error().message == "the store has 3 agents; TreeOptions::max_agents is 2");
  REQUIRE_FALSE(flat.report);
  CHECK(flat.report.error().message == "the store has an agent at depth 3; TreeOptions::max_depth is 2");
}

TEST_CASE("a restart finds the client and the tools that were set last, by their names",
          "[persist][restore][code]") {
  MemoryStore store;
  testing::ScriptedReply call;
  call.tool_calls = {{.id = "c1", .name = "look", .arguments = "{}"}};
  const auto registry = [](std::string answer) {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add({.spec = {.name = "look"},
                .start = [answer](const nlohmann::json&, const ToolContext&, ToolDone done) {
                  done(ToolResult::done(answer));
                }});
    return tools;
  };
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient one(runtime), two(runtime);
  RestoreOptions options;
  options.code.add_llm("one", &one);
  options.code.add_llm("two", &two);
  options.code.add_tools("old", registry("old"));
  options.code.add_tools("new", registry("new"));
  const auto run = [&](Life& life) {
    for (int i = 0; i < 20; ++i) {
      life.runtime.poll();
      runtime.poll();
    }
  };
  {
    Life life(store, options);
    const Agent named = life.create("named", {.code = {.llm = "one", .tools = "old"}});
    REQUIRE(named.set_llm(&two, "two"));
    REQUIRE(named.set_tools(registry("set"), "new"));
    const Agent unnamed = life.create("unnamed", {.code = {.llm = "one", .tools = "old"}});
    REQUIRE(unnamed.set_llm(&two));
    REQUIRE(unnamed.set_tools(registry("set")));
    const Agent cleared = life.create("cleared", {.code = {.llm = "one", .tools = "old"}});
    REQUIRE(cleared.set_llm(nullptr));
    REQUIRE(cleared.set_tools(nullptr));
    life.runtime.run_until_idle();
  }
  Life life(store, options);
  two.enqueue(call);
  REQUIRE(life.find("named").send("go"));
  run(life);
  CHECK(one.calls() == 0);
  CHECK(two.calls() == 2);
  REQUIRE(Life::texts(life.find("named")).size() >= 3);
  CHECK(Life::texts(life.find("named"))[2] == "new");
  // Without a name it is not known which they were: never those from before.
  CHECK(life.find("unnamed").state().value() == AgentState::stopped);
  CHECK(life.restored[1].unbound == "llm has no name (AgentSpec::code); tools has no name (AgentSpec::code)");
  CHECK(life.find("cleared").state().value() == AgentState::idle);
  REQUIRE(life.find("cleared").send("go"));
  run(life);
  CHECK(life.llm.calls() == 1);
}
