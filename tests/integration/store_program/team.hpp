// Team: agents that a real tree has written into a file, for agentcore-store.
#pragma once

#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>

#include <memory>
#include <string>

namespace agentcore::test {

// planner              one turn with a tool call; its code has a name
//   helper             stopped, with a pinned message; its child has a generated id
// writer               paused, two messages wait
// voice                an answer of which a part was kept
// thinker              a turn in progress
class Team {
 public:
  explicit Team(const std::string& file)
      : store_(SqliteStore::open(file).value()), life_(*store_, options()) {
    REQUIRE(life_.report);
    add_planner();
    add_helper();
    add_writer();
    add_voice();
    add_thinker();
  }

  Life& life() { return life_; }
  std::string waiting_id() const { return to_string(waiting_); }
  std::string generated_id() const { return generated_; }

 private:
  static RestoreOptions options() {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(make_tool({.name = "add", .parameters = R"({"type":"object"})"},
                         [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("42"); }));
    RestoreOptions options{.durability = Durability::each_message};
    options.code.add_tools("calculator", std::move(tools));
    return options;
  }
  void poll() {
    for (int i = 0; i < 8; ++i) life_.runtime.poll();
  }

  void add_planner() {
    testing::ScriptedReply call;
    call.tool_calls = {{.id = "call_1", .name = "add", .arguments = R"({"a":2,"b":40})"}};
    life_.llm.enqueue(call);
    life_.llm.enqueue({.deltas = {"It is ", "42."}});
    AgentSpec spec{.system_prompt = "You plan trips.\nBe brief.",
                   .model = {.name = "m-1", .temperature = 0.25}};
    spec.role = AgentRole::system;
    spec.limits.turn_timeout = std::chrono::seconds(90);
    spec.limits.budget = {.tokens = 5000};
    spec.code.tools = "calculator";
    const Agent planner = life_.create("planner", std::move(spec));
    REQUIRE(planner.send("What is 2 + 40?"));
    life_.runtime.run_until_idle();
  }
  void add_helper() {
    AgentSpec spec{.id = "helper"};
    spec.history = {ChatMessage::user("Keep this."), ChatMessage::assistant("Kept.")};
    spec.history[0].pinned = true;
    spec.handler = [](const Agent&, const Message&) {};
    const Agent helper = life_.find("planner").create_child(std::move(spec)).value();
    generated_ = helper.create_child().value().id();
    REQUIRE(helper.stop().took_effect());
    poll();
  }
  void add_writer() {
    const Agent writer = life_.create("writer");
    REQUIRE(writer.pause().took_effect());
    REQUIRE(writer.send("second"));
    waiting_ = writer
                   .send({.text = "first\nof all",
                          .sender = "editor",
                          .kind = "note",
                          .priority = MessagePriority::urgent})
                   .id;
    poll();
  }
  void add_voice() {
    const Agent voice = life_.create("voice", {.partial_answers = PartialAnswers::keep});
    life_.llm.enqueue({.deltas = {"Once upon "}, .silent = true});
    REQUIRE(voice.send("Tell me a story."));
    poll();
    REQUIRE(voice.interrupt().took_effect());
    poll();
  }
  void add_thinker() {
    life_.llm.enqueue({.silent = true});
    REQUIRE(life_.create("thinker").send("Think."));
    poll();
  }

  std::unique_ptr<SqliteStore> store_;
  Life life_;
  MessageId waiting_;
  std::string generated_;
};

}  // namespace agentcore::test
