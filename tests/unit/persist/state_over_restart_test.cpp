// [G14] What a verb has changed, a restart finds so, also where two mechanisms meet.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

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
    REQUIRE(fork(agent, {.id = "copy"}));
    REQUIRE(agent.send("work"));
    poll(life);
    REQUIRE(agent.terminate({.when = StopWhen::after_turn, .forks = Forks::terminate}).took_effect());
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
    REQUIRE(rewind(agent, 2));
    poll(life);
  }
  for (std::uint64_t turn = 4; turn < 6; ++turn) {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.find("a");
    CHECK(turns_of(agent).value().size() == 1);
    const MessageId id = agent.send("again").id;
    for (const MessageId before : ids) CHECK(id != before);
    ids.push_back(id);
    life.runtime.run_until_idle();
    CHECK(turns_of(agent).value().back().turn == turn);
    REQUIRE(rewind(agent, turn));
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
