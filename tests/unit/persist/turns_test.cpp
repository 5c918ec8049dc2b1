// Turns that were in progress when the process ended: which go on, and how.
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"
#include "support/observe/event_audit.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::Life;

namespace {

// The tools of a program: they exist in each of its runs.
struct Tools {
  Tools() {
    add("never", ToolReplay::never);
    add("safe", ToolReplay::safe);
    add("careful", ToolReplay::never, true);
    registry->add(make_ask_human_tool());
  }
  void add(const std::string& name, ToolReplay replay, bool needs_approval = false,
           const std::string& parameters = "") {
    registry->add(
        {.spec = {.name = name, .parameters = parameters, .replay = replay, .needs_approval = needs_approval},
         .start = [this, name](const nlohmann::json&, const ToolContext& context, ToolDone done) {
           begun.push_back(name + ' ' + context.call_id());
           keys.push_back(context.idempotency_key());
           if (answers)
             done(ToolResult::done(name + " is done"));
           else
             open.push_back(std::move(done));
         }});
  }
  RestoreOptions options(InterruptedTurns turns = InterruptedTurns::go_on,
                         Durability durability = Durability::each_step) const {
    RestoreOptions made{.durability = durability, .turns = turns};
    made.code.add_tools("tools", registry);
    return made;
  }
  // The process ends: the results of its tools are dropped.
  void forget() {
    begun.clear();
    keys.clear();
    lost.insert(lost.end(), open.begin(), open.end());
    open.clear();
  }

  std::shared_ptr<ToolRegistry> registry = std::make_shared<ToolRegistry>();
  bool answers = false;  // at once
  std::vector<std::string> begun, keys;
  std::vector<ToolDone> open, lost;
};

testing::ScriptedReply calls(std::vector<ToolCall> calls) {
  testing::ScriptedReply reply;
  reply.tool_calls = std::move(calls);
  return reply;
}
testing::ScriptedReply answer(std::string text) {
  testing::ScriptedReply reply;
  reply.deltas = {std::move(text)};
  return reply;
}
testing::ScriptedReply silence() {
  testing::ScriptedReply reply;
  reply.silent = true;
  return reply;
}
ToolCall call(std::string id, std::string tool, std::string arguments = "{}") {
  return {.id = std::move(id), .name = std::move(tool), .arguments = std::move(arguments)};
}

void poll(Life& life) {
  for (int i = 0; i < 12; ++i) life.runtime.poll();
}

// A run in which an agent is asked to make these calls; it ends while they are in progress.
void begin(Store& store, Tools& tools, std::vector<ToolCall> asked, AgentSpec spec = {},
           Durability durability = Durability::each_step) {
  Life life(store, tools.options(InterruptedTurns::end, durability));
  life.llm.enqueue(calls(std::move(asked)));
  life.llm.enqueue(silence());
  spec.code.tools = "tools";
  const Agent agent = life.create("a", std::move(spec));
  poll(life);
  REQUIRE(agent.send("go"));
  poll(life);
  tools.lost.insert(tools.lost.end(), tools.open.begin(), tools.open.end());
}

const TurnResult& result_of(const std::vector<TurnEnded>& ended, std::size_t at = 0) {
  REQUIRE(ended.size() > at);
  return *ended[at].result;
}

// The system's clocks, moved forward.
class LaterClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return std::chrono::steady_clock::now() + shift; }
  std::chrono::system_clock::time_point wall_time() const noexcept override {
    return std::chrono::system_clock::now() + shift;
  }
  Duration shift{0};
};

// The ends of the turns of a run.
struct Ends {
  explicit Ends(Life& life)
      : on_end(life.tree->on<TurnEnded>([this](const TurnEnded& event) { all.push_back(event); })),
        on_start(life.tree->on<TurnStarted>([this](const TurnStarted&) { ++started; })) {}
  std::vector<TurnEnded> all;
  std::size_t started = 0;
  Subscription on_end, on_start;
};

}  // namespace

TEST_CASE("a turn whose model call was open asks the model again", "[persist][turns][G14]") {
  MemoryStore store;
  Tools tools;
  MessageId message;
  {
    Life life(store, tools.options(InterruptedTurns::end, Durability::each_message));
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    message = agent.send("question").id;
    REQUIRE(agent.send("next"));
    poll(life);
  }
  Life life(store, tools.options());
  Ends ends(life);
  life.llm.enqueue(answer("the answer"));
  REQUIRE(life.restored.size() == 1);
  CHECK(life.report->continued_turns == 1);
  CHECK(life.report->interrupted_turns == 0);
  CHECK(life.restored[0].fate == RestoredTurn::continues);
  CHECK(life.restored[0].turn == 1);
  CHECK(life.restored[0].message == message);
  CHECK(life.restored[0].state == AgentState::processing);
  CHECK(life.restored[0].interrupted_calls.empty());
  CHECK(life.llm.calls() == 0);  // not within restore()
  life.runtime.run_until_idle();
  REQUIRE(ends.all.size() == 2);
  CHECK(ends.all[0].turn == 1);
  CHECK(ends.all[0].message == message);
  CHECK(result_of(ends.all).text == "the answer");
  CHECK_FALSE(result_of(ends.all).usage.complete);  // that of the lost call is not known
  CHECK(ends.started == 1);                         // the second turn alone
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"question", "the answer", "next", "next"});
  CHECK(life.find("a").conversation().value()[0].interruption == Interruption::none);
}

TEST_CASE("a completed call never runs again, a safe one does with its key, another is unknown",
          "[persist][turns][G9][G14]") {
  MemoryStore store;
  Tools tools;
  tools.answers = true;
  std::vector<std::string> keys;
  {
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c1", "never"), call("c2", "safe")}));
    life.llm.enqueue(calls({call("d1", "safe"), call("d2", "never"), call("d3", "careful")}));
    const Agent agent = life.create("a", {.limits = {.parallel_tools = 4}, .code = {.tools = "tools"}});
    const auto on_end = life.tree->on<ToolEnded>([&](const ToolEnded& event) {
      if (event.call_id == "c1") tools.answers = false;
    });
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(tools.begun == std::vector<std::string>{"safe c2", "never c1", "safe d1", "never d2"});
    keys = tools.keys;
  }
  tools.forget();
  tools.answers = true;
  Life life(store, tools.options());
  Ends ends(life);
  life.llm.enqueue(answer("all done"));
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].fate == RestoredTurn::continues);
  const auto& interrupted = life.restored[0].interrupted_calls;
  REQUIRE(interrupted.size() == 2);
  CHECK(interrupted[0].call_id == "d1");
  CHECK(interrupted[0].tool == "safe");
  CHECK(interrupted[0].replayed);
  CHECK(interrupted[1].call_id == "d2");
  CHECK_FALSE(interrupted[1].replayed);
  REQUIRE(life.tree->questions().size() == 1);
  CHECK(tools.begun.empty());
  poll(life);
  CHECK(tools.begun == std::vector<std::string>{"safe d1"});
  CHECK(tools.keys == std::vector<std::string>{keys[2]});
  REQUIRE(life.tree->approve(life.tree->questions()[0].id).has_value());
  life.runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"safe d1", "careful d3"});
  const TurnResult& result = result_of(ends.all);
  CHECK(result.text == "all done");
  REQUIRE(result.calls.size() == 5);
  CHECK(result.calls[0].outcome == ToolOutcome::completed);
  CHECK(result.calls[0].success);
  CHECK(result.calls[0].message == "never is done");
  CHECK(result.calls[3].outcome == ToolOutcome::interrupted);
  CHECK(result.calls[3].message.find("effect is unknown") != std::string::npos);
  CHECK(result.calls[4].round == 2);
  CHECK(result.calls[4].index == 3);
  CHECK(is_valid_history(life.find("a").conversation().value()));
}

TEST_CASE("a safe call that had begun is never said not to have, whatever ends it before it is made again",
          "[persist][turns][begin][G9][G14]") {
  MemoryStore store;
  Tools before;
  begin(store, before, {call("c1", "safe")}, {.limits = {.turn_timeout = std::chrono::hours(1)}});
  REQUIRE(before.begun == std::vector<std::string>{"safe c1"});
  // The program of the next life.
  const std::string how = GENERATE("interrupt", "stop", "cancel", "policy", "schema", "approval", "pause",
                                   "deadline", "no tool", "another restart");
  CAPTURE(how);
  TreeOptions tree;
  if (how == "policy")
    tree.tool_policy = [](const ToolRequest&) { return ToolDecision{Permission::deny, "not now"}; };
  Tools tools;
  tools.registry = std::make_shared<ToolRegistry>();
  if (how == "schema")
    tools.registry->add({.spec = {.name = "safe",
                                  .parameters = R"({"type":"object","required":["x"]})",
                                  .replay = ToolReplay::safe},
                         .start = [](const nlohmann::json&, const ToolContext&, const ToolDone&) {}});
  else if (how != "no tool")
    tools.add("safe", ToolReplay::safe, how == "approval");
  if (how == "another restart") {
    Life life(store, tools.options(), tree);
    CHECK(life.find("a").pause().took_effect());
    poll(life);
  }
  LaterClock clock;
  Life life(store, tools.options(), tree, {.clock = &clock});
  Ends ends(life);
  life.llm.enqueue(answer("done"));
  const Agent agent = life.find("a");
  const auto told = [&] { return agent.conversation().value().at(2).content(); };
  CHECK(told().find("its effect is unknown") != std::string::npos);
  if (how == "interrupt" || how == "another restart") CHECK(agent.interrupt().took_effect());
  if (how == "stop") CHECK(agent.stop().took_effect());
  if (how == "cancel") CHECK(agent.cancel_call("c1").took_effect());
  if (how == "deadline") clock.shift = std::chrono::hours(2);
  if (how == "pause") {
    CHECK(agent.pause().took_effect());
    poll(life);
    CHECK(told().find("its effect is unknown") != std::string::npos);
    CHECK(agent.interrupt().took_effect());
  }
  poll(life);
  if (how == "approval") {
    REQUIRE(life.tree->questions().size() == 1);
    CHECK(told().find("its effect is unknown") != std::string::npos);
    CHECK(life.tree->decline(life.tree->questions()[0].id, "no").has_value());
  }
  life.runtime.run_until_idle();
  CHECK(tools.begun.empty());
  const TurnResult& result = result_of(ends.all);
  REQUIRE(result.calls.size() == 1);
  CHECK(result.calls[0].outcome == ToolOutcome::interrupted);
  CHECK(result.calls[0].message.find("its effect is unknown") != std::string::npos);
  CHECK(told().find("its effect is unknown") != std::string::npos);
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("a safe call that has begun again, or that no record says anything of, ends as any other",
          "[persist][turns][begin][G9]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "safe"), call("c2", "safe"), call("c3", "careful")});
  tools.forget();
  Life life(store, tools.options());
  Ends ends(life);
  life.llm.enqueue(answer("done"));
  poll(life);
  REQUIRE(tools.begun == std::vector<std::string>{"safe c1"});
  tools.open.at(0)(ToolResult::done("again"));
  poll(life);
  CHECK(life.find("a").interrupt().took_effect());
  poll(life);
  const TurnResult& result = result_of(ends.all);
  CHECK(result.calls.at(0).outcome == ToolOutcome::completed);
  CHECK(result.calls.at(1).outcome == ToolOutcome::interrupted);
  // The store would have its beginning.
  CHECK(result.calls.at(2).outcome == ToolOutcome::not_started);
}

TEST_CASE("a turn that waits only for people goes on waiting with the same questions",
          "[persist][turns][questions][G14]") {
  MemoryStore store;
  Tools tools;
  const Durability durability = GENERATE(Durability::each_turn, Durability::each_message);
  begin(store, tools, {call("c1", "ask_human", R"({"question":"Which beach?"})"), call("c2", "careful")},
        {.limits = {.parallel_tools = 2}}, durability);
  CHECK(tools.begun.empty());
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store, tools.options(InterruptedTurns::end, durability));
    CHECK(life.report->continued_turns == 1);
    const std::vector<OpenQuestion> open = life.tree->questions();
    REQUIRE(open.size() == 2);
    CHECK(open[0].id == "q_1");
    CHECK(open[0].text == "Which beach?");
    CHECK(open[0].kind == QuestionKind::question);
    CHECK(open[1].id == "q_2");
    CHECK(open[1].text == "{}");
    CHECK(open[1].kind == QuestionKind::approval);
    CHECK(open[1].call_id == "c2");
    poll(life);
    CHECK(life.tree->questions().size() == 2);
  }
  Life life(store, tools.options(InterruptedTurns::end, durability));
  Ends ends(life);
  life.llm.enqueue(answer("thanks"));
  tools.answers = true;
  REQUIRE(life.tree->answer("q_1", "Agios Pavlos").has_value());
  poll(life);
  CHECK(tools.begun.empty());
  REQUIRE(life.tree->approve("q_2").has_value());
  life.runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"careful c2"});
  CHECK(result_of(ends.all).text == "thanks");
  CHECK(result_of(ends.all).calls.at(0).message == "Agios Pavlos");
  // The next question has a number of its own.
  life.llm.enqueue(calls({call("e1", "careful")}));
  REQUIRE(life.find("a").send("more"));
  poll(life);
  REQUIRE(life.tree->questions().size() == 1);
  CHECK(life.tree->questions()[0].id != "q_1");
  CHECK(life.tree->questions()[0].id != "q_2");
}

TEST_CASE("a call that waits behind a question does not end its turn, however often the process ends",
          "[persist][turns][questions][G14]") {
  MemoryStore store;
  Tools tools;
  const std::string asking = GENERATE("careful", "ask_human");
  const std::string arguments = asking == "careful" ? "{}" : R"({"question":"Which beach?"})";
  begin(store, tools, {call("c1", asking, arguments), call("c2", "safe"), call("c3", "never")});
  for (int restart = 0; restart < 3; ++restart) {
    Life life(store, tools.options(InterruptedTurns::end));
    CHECK(life.report->continued_turns == 1);
    poll(life);
    REQUIRE(life.tree->questions().size() == 1);
    CHECK(life.tree->questions()[0].id == "q_1");
    CHECK(tools.begun.empty());
    REQUIRE(life.tree->flush());
  }
  Life life(store, tools.options(InterruptedTurns::end));
  Ends ends(life);
  life.llm.enqueue(answer("thanks"));
  tools.answers = true;
  REQUIRE((asking == "careful" ? life.tree->approve("q_1") : life.tree->answer("q_1", "all")).has_value());
  life.runtime.run_until_idle();
  CHECK(result_of(ends.all).text == "thanks");
  for (const ToolCallRecord& record : result_of(ends.all).calls)
    CHECK(record.outcome == ToolOutcome::completed);
}

TEST_CASE("a call that had begun and may be made again beside a question ends its turn",
          "[persist][turns][questions][G14]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "careful"), call("c2", "safe")}, {.limits = {.parallel_tools = 2}});
  CHECK(tools.begun == std::vector<std::string>{"safe c2"});
  {
    const Life life(store, tools.options(InterruptedTurns::go_on));  // the process ends before its first poll
    CHECK(life.report->continued_turns == 1);
  }
  tools.forget();
  Life life(store, tools.options(InterruptedTurns::end));
  CHECK(life.report->interrupted_turns == 1);
  CHECK(life.tree->questions().empty());
  poll(life);
  CHECK(tools.begun.empty());
}

TEST_CASE("a turn with a tool at work is interrupted with its questions, unless the host says otherwise",
          "[persist][turns][questions][G14]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "never"), call("c2", "careful")}, {.limits = {.parallel_tools = 2}});
  CHECK(tools.begun == std::vector<std::string>{"never c1"});
  {
    Life life(store, tools.options(InterruptedTurns::end));
    CHECK(life.report->interrupted_turns == 1);
    REQUIRE(life.restored.size() == 1);
    CHECK(life.restored[0].fate == RestoredTurn::interrupted);
    REQUIRE(life.closed.size() == 1);
    CHECK(life.closed[0].agent.id() == "a");
    CHECK(life.closed[0].turn == 1);
    CHECK(life.closed[0].question_id == "q_1");
    CHECK(life.closed[0].outcome == QuestionOutcome::cancelled);
    REQUIRE(life.restored[0].interrupted_calls.size() == 1);
    CHECK(life.restored[0].interrupted_calls[0].call_id == "c1");
    CHECK(life.tree->questions().empty());
    CHECK(life.tree->approve("q_1").code() == Errc::question_closed);
    const std::vector<std::string> texts = Life::texts(life.find("a"));
    REQUIRE(texts.size() == 4);
    CHECK(texts[2].find("effect is unknown") != std::string::npos);
    CHECK(texts[3].find("not started") != std::string::npos);
    poll(life);
    CHECK(life.llm.calls() == 0);
    // The memory of its message is free for the next one, which has an id of its own.
    const MessageId message = life.restored[0].message;
    const SendResult next = life.find("a").send("next");
    constexpr std::uint64_t cell = (std::uint64_t{1} << 28) - 1;
    CHECK((next.id.value & cell) == (message.value & cell));
    CHECK(next.id != message);
    CHECK(life.tree->message(message).stage == MessageInfo::Stage::unknown);
  }
}

TEST_CASE("a question of a restored turn is open in a pause, and nothing begins", "[persist][turns][pause]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "careful"), call("c2", "never")}, {.limits = {.parallel_tools = 2}},
        Durability::each_turn);
  // c2 had begun: only go_on continues the turn.
  {
    Life life(store, tools.options());
    REQUIRE(life.tree->pause_all().took_effect());
    poll(life);
  }
  tools.forget();
  Life life(store, tools.options());
  REQUIRE(life.tree->questions().size() == 1);
  REQUIRE(life.tree->approve("q_1").has_value());
  poll(life);
  CHECK(tools.begun.empty());
  CHECK(life.llm.calls() == 0);
  tools.answers = true;
  life.llm.enqueue(answer("done"));
  REQUIRE(life.tree->unpause_all().took_effect());
  life.runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"careful c1"});
  CHECK(life.find("a").state().value() == AgentState::idle);
}

TEST_CASE("what ends a restored turn before it goes on ends it for good", "[persist][turns][stop]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "safe")});
  const int verb = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(verb);
  {
    Life life(store, tools.options());
    test::Audit audit(*life.tree);
    tools.forget();
    Ends ends(life);
    const Agent agent = life.find("a");
    const MessageId message = life.restored[0].message;
    REQUIRE(agent.state().value() == AgentState::processing);
    switch (verb) {
      case 0:
        CHECK(agent.stop().took_effect());
        break;
      case 1:
        CHECK(agent.interrupt().took_effect());
        break;
      case 2:
        CHECK(agent.interrupt({.message = message}).took_effect());
        break;
      case 3:
        CHECK(agent.terminate().took_effect());
        break;
      default:
        CHECK(agent.cancel_call("c1").took_effect());
        life.llm.enqueue(answer("cancelled"));
    }
    life.runtime.run_until_idle();
    CHECK(tools.begun.empty());
    REQUIRE(ends.all.size() == 1);
    CHECK(ends.all[0].message == message);
    if (verb != 4) CHECK(result_of(ends.all).outcome != TurnOutcome::completed);
    REQUIRE(life.tree->flush());
  }
  Life life(store, tools.options());
  CHECK(life.report->continued_turns == 0);
  CHECK(life.report->interrupted_turns == 0);
  CHECK(life.report->agents == (verb == 3 ? 0 : 1));
}

TEST_CASE("the turn of an agent that is stopped, and a part of a tool call, never go on",
          "[persist][turns][stop]") {
  MemoryStore store;
  Tools tools;
  RestoreOptions options = tools.options();
  options.code.add_tools("own", std::make_shared<ToolRegistry>());
  {
    Life life(store, options);
    life.llm.enqueue(calls(
        {call("c1", "helper", R"({"message":"help"})"), call("c2", "research", R"({"message":"read"})")}));
    life.llm.enqueue(silence());
    life.llm.enqueue(silence());
    const Agent boss = life.create("boss", {.limits = {.parallel_tools = 2}, .code = {.tools = "own"}});
    auto own = std::make_shared<ToolRegistry>();
    own->add(make_agent_tool({.tool = {.name = "helper"}, .agent = {.id = "helper"}}));
    own->add(make_agent_tool({.tool = {.name = "research"}}));
    REQUIRE(boss.set_tools(own, "own"));
    REQUIRE(boss.send("go"));
    poll(life);
    REQUIRE(life.find("helper").state().value() == AgentState::waiting_llm);
    REQUIRE(boss.children().value().size() == 2);
    life.llm.enqueue(silence());
    const Agent other = life.create("other");
    REQUIRE(other.send("go"));
    poll(life);
    REQUIRE(other.pause().took_effect());
    REQUIRE(other.stop({.when = StopWhen::after_turn}).took_effect());
    poll(life);
  }
  Life life(store, options);
  REQUIRE(life.restored.size() == 3);  // the agent of the call "research" went with the call
  CHECK(life.report->deleted == 1);
  CHECK(life.restored[0].fate == RestoredTurn::continues);
  CHECK(life.restored[1].fate == RestoredTurn::interrupted);
  CHECK(life.restored[2].fate == RestoredTurn::interrupted);
  CHECK(life.find("other").state().value() == AgentState::stopped);
}

TEST_CASE("a call of an agent whose mailbox a restart holds is done, and what waited waits",
          "[persist][turns][mail][agent_tool][hold]") {
  MemoryStore store;
  const auto own = std::make_shared<ToolRegistry>();
  own->add(make_agent_tool({.tool = {.name = "helper"}, .agent = {.id = "helper"}}));
  RestoreOptions options{.durability = Durability::each_message};
  options.code.add_tools("own", own);
  {
    Life life(store, options);
    life.llm.enqueue(calls({call("c1", "helper", R"({"message":"one"})")}));
    life.llm.enqueue(answer("first"));
    life.llm.enqueue(answer("done"));
    const Agent boss = life.create("boss", {.code = {.tools = "own"}});
    REQUIRE(boss.send("go"));
    life.runtime.run_until_idle();
    const Agent helper = life.find("helper");
    REQUIRE(helper.pause().took_effect());
    REQUIRE(helper.send("waits"));
    life.runtime.run_until_idle();
    REQUIRE(helper.unpause().took_effect());
    // The process ends before the message begins its turn.
  }
  Life life(store, options);
  const Agent helper = life.find("helper");
  static_cast<void>(helper.unpause());
  life.runtime.run_until_idle();
  REQUIRE(helper.status().value().queue_held);
  REQUIRE(helper.queue_length().value() == 1);
  life.llm.enqueue(calls({call("c2", "helper", R"({"message":"two"})")}));
  life.llm.enqueue(answer("second"));
  life.llm.enqueue(answer("done again"));
  REQUIRE(life.find("boss").send("again"));
  life.runtime.run_until_idle();
  CHECK(Life::texts(helper) == std::vector<std::string>{"one", "first", "two", "second"});
  CHECK(Life::texts(life.find("boss")).back() == "done again");
  CHECK(helper.queue_length().value() == 1);
  CHECK(helper.status().value().queue_held);
}

TEST_CASE("limits of a turn count over a restart", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "safe")}, {.limits = {.tool_rounds = 1}});
  Life life(store, tools.options());
  Ends ends(life);
  tools.answers = true;
  life.llm.enqueue(calls({call("c2", "safe")}));
  life.runtime.run_until_idle();
  CHECK(result_of(ends.all).error.code == Errc::tool_round_limit);
}

TEST_CASE("a call with unreadable arguments is refused after a restart, too", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "safe"), call("c2", "never", "no object")});
  tools.forget();
  Life life(store, tools.options());
  Ends ends(life);
  tools.answers = true;
  life.llm.enqueue(answer("done"));
  life.runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"safe c1"});
  CHECK(result_of(ends.all).calls.at(1).outcome == ToolOutcome::not_started);
}

TEST_CASE("a turn keeps its deadline over a restart", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "safe")}, {.limits = {.turn_timeout = std::chrono::hours(1)}});
  tools.forget();
  LaterClock clock;
  {
    Life life(store, tools.options(), {}, {.clock = &clock});
    poll(life);
    CHECK(tools.begun.size() == 1);
    REQUIRE(life.tree->flush());
  }
  tools.forget();
  clock.shift = std::chrono::hours(2);
  Life life(store, tools.options(), {}, {.clock = &clock});
  life.runtime.run_until_idle();
  CHECK(tools.begun.empty());
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.find("a").conversation().value().at(0).interruption == Interruption::failed);
}

TEST_CASE("a turn that goes on over a restart begins nothing when the lease of its agent is over",
          "[persist][turns][lease][G1]") {
  MemoryStore store;
  Tools tools;
  LaterClock clock;
  {
    Life life(store, tools.options(InterruptedTurns::end, Durability::each_message), {}, {.clock = &clock});
    life.llm.enqueue(silence());
    REQUIRE(life.create("a", {.limits = {.lease = std::chrono::hours(1)}}).send("go"));
    poll(life);
  }
  Life life(store, tools.options(), {}, {.clock = &clock});
  REQUIRE(life.report->continued_turns == 1);
  clock.shift = std::chrono::minutes(61);  // the lease began again with the restore
  CHECK(life.find("a").send("late").reason == Errc::agent_stopping);
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 0);
  CHECK(life.find("a").state().value() == AgentState::stopped);
}

TEST_CASE("a turn that ends at its deadline after a restart names the limit of its spec",
          "[persist][turns]") {
  const bool of_message = GENERATE(false, true);
  MemoryStore store;
  Tools tools;
  LaterClock clock;
  {
    Life life(store, tools.options(), {}, {.clock = &clock});
    AgentSpec spec{.code = {.tools = "tools"}};
    SendOptions sent;
    if (of_message)
      sent.deadline = life.runtime.now() + std::chrono::seconds(7200);
    else
      spec.limits.turn_timeout = std::chrono::seconds(7200);
    life.llm.enqueue(calls({call("c1", "safe")}));
    REQUIRE(life.create("a", spec).send("go", sent));
    poll(life);
    REQUIRE(life.tree->flush());
  }
  tools.forget();
  clock.shift = std::chrono::seconds(7000);
  std::string text;
  Life life(store, tools.options(), {}, {.clock = &clock});
  const Subscription ended =
      life.tree->on<TurnEnded>([&](const TurnEnded& event) { text = event.result->error.message; });
  poll(life);
  clock.shift = std::chrono::seconds(7300);
  poll(life);
  INFO(text);
  // The message's deadline is a time of its own: the turn began a moment after it was sent.
  CHECK(text.find(of_message ? "SendOptions::deadline (7" : "AgentSpec::limits.turn_timeout (7200 s)") !=
        std::string::npos);
}

TEST_CASE("the record of a failed call is the same after a restart", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  tools.registry->add(make_tool({.name = "fails"}, [](const nlohmann::json&, const ToolContext&) {
    return ToolResult::failed("no such file");
  }));
  begin(store, tools, {call("c1", "fails"), call("c2", "safe")});
  tools.forget();
  tools.answers = true;
  Life life(store, tools.options());
  Ends ends(life);
  life.llm.enqueue(answer("a pity"));
  life.runtime.run_until_idle();
  CHECK_FALSE(result_of(ends.all).calls.at(0).success);
  CHECK(result_of(ends.all).calls.at(0).message == "no such file");
}

TEST_CASE("a turn that fails after a restart has the words of its last answer", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  testing::ScriptedReply first = calls({call("c1", "careful")});
  first.deltas = {"I will ask."};
  {
    Life life(store, tools.options());
    life.llm.enqueue(std::move(first));
    REQUIRE(life.create("a", {.code = {.tools = "tools"}}).send("go"));
    poll(life);
    REQUIRE(life.tree->questions().size() == 1);
  }
  for (int restarts = 0; restarts < 2; ++restarts) {
    const Life between(store, tools.options());
    REQUIRE(between.tree->questions().size() == 1);
  }
  Life life(store, tools.options());
  Ends ends(life);
  testing::ScriptedReply failed;
  failed.error = {.code = Errc::api_error, .message = "no answer"};
  life.llm.enqueue(std::move(failed));
  REQUIRE(life.tree->decline(life.tree->questions()[0].id, "no"));
  life.runtime.run_until_idle();
  CHECK(result_of(ends.all).outcome == TurnOutcome::failed);
  CHECK(result_of(ends.all).text == "I will ask.");
}

TEST_CASE("policies decide again about a restored approval", "[persist][turns][policy]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "careful")});
  const Permission now = GENERATE(Permission::ask, Permission::deny);
  const InterruptedTurns turns = GENERATE(InterruptedTurns::end, InterruptedTurns::go_on);
  Life life(store, tools.options(turns), {.tool_policy = [now](const ToolRequest&) {
              return ToolDecision{now, "not any more"};
            }});
  CHECK(life.tree->questions().size() == (now == Permission::ask ? 1 : 0));
  if (now == Permission::ask) return;
  if (turns == InterruptedTurns::end) {  // nothing goes on without a person
    CHECK(life.find("a").state().value() == AgentState::idle);
    life.runtime.run_until_idle();
    CHECK(tools.begun.empty());
    CHECK(life.llm.calls() == 0);
    CHECK(life.find("a").conversation().value()[0].interruption == Interruption::interrupted);
    CHECK(is_valid_history(life.find("a").conversation().value()));
    return;
  }
  life.llm.enqueue(answer("a pity"));
  life.runtime.run_until_idle();
  CHECK(tools.begun.empty());
  CHECK(Life::texts(life.find("a")).at(2).find("not any more") != std::string::npos);
}

TEST_CASE("a question that is answered as soon as it is asked again lets its turn go on",
          "[persist][turns][questions]") {
  MemoryStore store;
  Tools tools;
  begin(store, tools, {call("c1", "careful")});
  tools.answers = true;
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  llm.enqueue(answer("thanks"));
  const auto on_asked = tree.on<QuestionAsked>(
      [&](const QuestionAsked& event) { CHECK(tree.approve(event.question.id).has_value()); });
  REQUIRE(tree.restore(&store, tools.options(InterruptedTurns::end)));
  runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"careful c1"});
  CHECK(Life::texts(tree.find("a").value()).back() == "thanks");
}

TEST_CASE("grants hold over a restart until they are revoked", "[persist][grants]") {
  MemoryStore store;
  Tools tools;
  tools.answers = true;
  std::uint64_t grant = 0;
  {
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c1", "careful")}));
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::subtree).has_value());
    poll(life);
    grant = life.tree->grants().at(0).id;
  }
  {
    Life life(store, tools.options());
    REQUIRE(life.tree->grants().size() == 1);
    CHECK(life.tree->grants()[0].id == grant);
    CHECK(life.tree->grants()[0].tool == "careful");
    tools.forget();
    life.llm.enqueue(calls({call("c2", "careful")}));
    REQUIRE(life.find("a").send("again"));
    life.runtime.run_until_idle();
    CHECK(tools.begun == std::vector<std::string>{"careful c2"});
    REQUIRE(life.tree->revoke(grant));
    poll(life);
  }
  Life life(store, tools.options());
  CHECK(life.tree->grants().empty());
}

TEST_CASE("an id of a grant is never given again", "[persist][grants]") {
  MemoryStore store;
  Tools tools;
  tools.answers = true;
  std::vector<std::uint64_t> given;
  for (int run = 0; run < 4; ++run) {
    Life life(store, tools.options());
    const Agent agent = run == 0 ? life.create("a", {.code = {.tools = "tools"}}) : life.find("a");
    life.llm.enqueue(calls({call("c" + std::to_string(run), "careful")}));
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::subtree).has_value());
    if (run == 1) REQUIRE(life.tree->flush());
    REQUIRE(life.tree->grants().size() == 1);
    given.push_back(life.tree->grants()[0].id);
    REQUIRE(life.tree->revoke(given.back()));
    life.runtime.run_until_idle();
  }
  for (std::size_t i = 1; i < given.size(); ++i) CHECK(given[i] > given[i - 1]);
}

TEST_CASE("ids of grants and questions that were lost with their process are never given again",
          "[persist][grants][questions]") {
  MemoryStore store;
  Tools tools;
  tools.answers = true;
  std::uint64_t grant = 0;
  MemoryStore left;
  {
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c1", "careful")}));
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->flush());
    left = store;  // what a kill leaves
    REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::agent).has_value());
    grant = life.tree->grants().at(0).id;
  }
  Life life(left, tools.options());
  poll(life);
  REQUIRE(life.tree->questions().size() == 1);
  REQUIRE(life.tree->approve(life.tree->questions()[0].id, GrantScope::agent).has_value());
  CHECK(life.tree->grants().at(0).id > grant);
}

TEST_CASE("a grant of a store without numbers of grants keeps its id", "[persist][grants]") {
  MemoryStore store;
  Tools tools;
  { Life(store, tools.options()).create("a", {.code = {.tools = "tools"}}); }
  StoreBatch batch;
  batch.put({6, 1, 0}, R"({"id":4000000000,"tool":"careful"})");
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store, tools.options());
  REQUIRE(life.tree->grants().size() == 1);
  CHECK(life.tree->grants()[0].id == 4'000'000'000);
  life.llm.enqueue(calls({call("c1", "careful")}));
  REQUIRE(life.find("a").send("go"));
  poll(life);
  REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::agent).has_value());
  CHECK(life.tree->grants().at(1).id > 4'000'000'000);
}

TEST_CASE("a question gets its number again only if it asks the same", "[persist][turns][questions]") {
  MemoryStore store;
  std::vector<std::string> texts{"Which beach?", "Which town?"};
  std::vector<std::string> choices{"a", "b"};
  auto registry = std::make_shared<ToolRegistry>();
  const auto start = [&](const nlohmann::json&, const ToolContext& context, ToolDone done) {
    context.ask({.text = texts[0], .choices = choices}, [&, context, done](const Answer&) {
      context.ask({.text = texts[1]}, [done](const Answer& second) { done(ToolResult::done(second.text)); });
    });
  };
  registry->add({.spec = {.name = "two", .replay = ToolReplay::safe}, .start = start});
  RestoreOptions options{.durability = Durability::each_step};
  options.code.add_tools("tools", registry);
  {
    Life life(store, options);
    life.llm.enqueue(calls({call("c1", "two")}));
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->answer("q_1", "this").has_value());
    poll(life);
    REQUIRE(life.tree->questions().at(0).id == "q_2");
    REQUIRE(life.tree->flush());
  }
  SECTION("the tool begins with its first question") {
    Life life(store, options);
    REQUIRE(life.tree->questions().size() == 1);
    const std::string first = life.tree->questions()[0].id;
    CHECK(life.tree->questions()[0].text == "Which beach?");
    CHECK(first != "q_1");
    CHECK(first != "q_2");
    CHECK(life.tree->answer("q_2", "this").code() == Errc::question_closed);
    REQUIRE(life.tree->answer(first, "this").has_value());
    poll(life);
    REQUIRE(life.tree->questions().size() == 1);
    CHECK(life.tree->questions()[0].id == "q_2");
    CHECK(life.tree->questions()[0].text == "Which town?");
  }
  SECTION("the tool begins with its first question, and the process ends again before it is answered") {
    std::string first;
    for (int restart = 0; restart < 3; ++restart) {
      CAPTURE(restart);
      Life life(store, options);
      REQUIRE(life.tree->questions().size() == 1);
      CHECK(life.tree->questions()[0].text == "Which beach?");
      if (restart == 0) first = life.tree->questions()[0].id;
      CHECK(life.tree->questions()[0].id == first);
      poll(life);
      REQUIRE(life.tree->flush());
      if (restart < 2) continue;
      REQUIRE(life.tree->answer(first, "this").has_value());
      poll(life);
      REQUIRE(life.tree->questions().size() == 1);
      CHECK(life.tree->questions()[0].id == "q_2");
    }
  }
  SECTION("the same text has other choices") {
    texts = {"Which town?", "x"};
    Life life(store, options);
    CHECK(life.tree->questions().at(0).id != "q_2");
  }
  SECTION("the same is asked first") {
    texts = {"Which town?", "x"};
    choices.clear();
    Life life(store, options);
    CHECK(life.tree->questions().at(0).id == "q_2");
  }
}

TEST_CASE("a grant that ended with its tool does not come back with a later restart", "[persist][grants]") {
  MemoryStore store;
  const auto run = [&store](const std::string& description, bool approves) {
    Tools tools;
    tools.answers = true;
    tools.registry->add({.spec = {.name = "pay", .description = description, .needs_approval = true},
                         .start = [](const nlohmann::json&, const ToolContext&, ToolDone done) {
                           done(ToolResult::done("paid"));
                         }});
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c" + description, "pay")}));
    const Agent agent =
        life.tree->find("a") ? life.find("a") : life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    const std::vector<OpenQuestion> open = life.tree->questions();
    if (!open.empty())
      CHECK((approves ? life.tree->approve(open[0].id, GrantScope::agent) : life.tree->decline(open[0].id))
                .has_value());
    poll(life);
    return open.size();
  };
  CHECK(run("v1", true) == 1);
  CHECK(run("v1", true) == 0);
  CHECK(run("v2", false) == 1);
  CHECK(run("v1", false) == 1);
}

TEST_CASE("a background task is unknown after a restart, and its model reads that",
          "[persist][turns][tasks]") {
  MemoryStore store;
  Tools tools;
  tools.registry->add({.spec = {.name = "long", .mode = ToolMode::async},
                       .start = [&](const nlohmann::json&, const ToolContext&, ToolDone done) {
                         tools.open.push_back(std::move(done));
                       }});
  std::string task;
  {
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c1", "long")}));
    life.llm.enqueue(answer("it runs"));
    const Agent agent = life.create("a", {.limits = {.background_tasks = 1}, .code = {.tools = "tools"}});
    const auto on_task =
        life.tree->on<TaskChanged>([&](const TaskChanged& change) { task = change.task_id; });
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(tools.open.size() == 1);
    tools.forget();
  }
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store, tools.options());
    REQUIRE(life.restored.size() == 1);
    REQUIRE(life.restored[0].interrupted_calls.size() == (restart == 0 ? 1 : 0));
    if (restart == 0) CHECK(life.restored[0].interrupted_calls[0].call_id == task);
    CHECK(tools.open.empty());
    if (restart == 0) {
      poll(life);
      continue;
    }
    REQUIRE(life.find("a").send("how is it?"));
    life.runtime.run_until_idle();
    const std::string question = Life::texts(life.find("a")).at(4);
    CHECK(question.find(task) != std::string::npos);
    CHECK(question.find("\"state\":\"unknown\"") != std::string::npos);
  }
}

TEST_CASE("a call that takes the place of one that was lost has a key of its own", "[persist][turns][G14]") {
  test::GuardedStore store;
  Tools tools;
  tools.registry->add({.spec = {.name = "pay",
                                .parameters = R"({"type":"object","properties":{"to":{"type":"string"}}})",
                                .replay = ToolReplay::safe},
                       .start = [&](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                         tools.keys.push_back(context.idempotency_key());
                         tools.open.push_back(std::move(done));
                       }});
  RestoreOptions options = tools.options(InterruptedTurns::go_on, Durability::each_message);
  options.max_attempts = 10;
  {
    Life life(store, options);
    life.llm.enqueue(silence());
    REQUIRE(life.create("a", {.code = {.tools = "tools"}}).send("pay!"));
    poll(life);
  }
  // The first of these runs makes its call, but cannot store that.
  const std::vector<std::string> people{"Ann", "Bob", "Bob"};
  for (const std::string& person : people) {
    store.failure = {};
    Life life(store, options);
    store.failure = {Errc::store_failed, "the disk is gone"};
    life.llm.enqueue(calls({call("c1", "pay", R"({"to":")" + person + R"("})")}));
    poll(life);
    tools.lost.insert(tools.lost.end(), tools.open.begin(), tools.open.end());
    tools.open.clear();
  }
  REQUIRE(tools.keys.size() == 3);
  CHECK(tools.keys[0] != tools.keys[1]);
  CHECK(tools.keys[1] == tools.keys[2]);  // the same request of the same turn
  CHECK(tools.keys[0].size() <= 120);
}

TEST_CASE("answers whose calls cannot be read count over a restart", "[persist][turns]") {
  MemoryStore store;
  Tools tools;
  const RestoreOptions options = tools.options(InterruptedTurns::go_on, Durability::each_step);
  const std::string broken = "<tool_call>{\"calls\":[</tool_call>";
  {
    Life life(store, options);
    life.llm.enqueue(answer(broken));
    life.llm.enqueue(silence());
    AgentSpec spec{.tool_protocol = ToolProtocol::text, .limits = {.repairs = 9, .tool_rounds = 1}};
    spec.code.tools = "tools";
    REQUIRE(life.create("a", std::move(spec)).send("go"));
    poll(life);
    REQUIRE(life.llm.calls() == 2);
  }
  Life life(store, options);
  Ends ends(life);
  life.llm.enqueue(answer(broken));
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 1);  // AgentLimits::tool_rounds allows no third answer of that kind
  CHECK(result_of(ends.all).text == broken);
  CHECK_FALSE(result_of(ends.all).parse_error.empty());
}

TEST_CASE("an answer that was cut off counts over a restart", "[persist][turns][cut_off]") {
  MemoryStore store;
  Tools tools;
  const RestoreOptions options = tools.options(InterruptedTurns::go_on, Durability::each_step);
  testing::ScriptedReply cut = calls({call("c1", "safe")});
  cut.finish_reason = FinishReason::length;
  {
    Life life(store, options);
    life.llm.enqueue(cut);
    life.llm.enqueue(silence());
    REQUIRE(life.create("a", {.code = {.tools = "tools"}}).send("go"));
    poll(life);
    REQUIRE(life.llm.calls() == 2);
  }
  Life life(store, options);
  Ends ends(life);
  life.llm.enqueue(cut);
  life.llm.enqueue(answer("done"));
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 1);  // the model was told before the restart
  CHECK(result_of(ends.all).outcome == TurnOutcome::failed);
  CHECK(result_of(ends.all).finish_reason == FinishReason::length);
  CHECK(tools.begun.empty());
}

TEST_CASE("trees have different identities, also with the same seed", "[persist][turns]") {
  std::vector<std::string> keys;
  for (int tree = 0; tree < 2; ++tree) {
    MemoryStore store;
    Tools tools;
    tools.answers = true;
    Life life(store, tools.options(), {}, {.seed = 7});
    life.llm.enqueue(calls({call("c1", "safe")}));
    REQUIRE(life.create("a", {.code = {.tools = "tools"}}).send("go"));
    poll(life);
    REQUIRE(tools.keys.size() == 1);
    keys.push_back(tools.keys[0]);
  }
  CHECK(keys[0] != keys[1]);
}

TEST_CASE("a shared spec finds the code that it names", "[persist][restore]") {
  MemoryStore store;
  Tools tools;
  tools.answers = true;
  Life life(store, tools.options());
  AgentSpec spec;
  spec.code.tools = "tools";
  const Agent agent = life.tree->create(std::make_shared<const AgentSpec>(spec)).value();
  life.llm.enqueue(calls({call("c1", "safe")}));
  REQUIRE(agent.send("go"));
  poll(life);
  CHECK(tools.begun.size() == 1);
  spec.code.tools = "others";
  CHECK(life.tree->create(std::make_shared<const AgentSpec>(spec)).error().code == Errc::invalid_config);
}

TEST_CASE("a damaged conversation of a turn in progress under stop_all() is stopped, and its messages go",
          "[persist][turns][corrupt][stop]") {
  MemoryStore store;
  Tools tools;
  {
    Life life(store, tools.options());
    life.llm.enqueue(silence());
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(agent.send("later"));
    REQUIRE(life.tree->flush());
    MemoryStore before_settling;
    REQUIRE(life.tree->stop_all().accepted());
    REQUIRE(life.tree->flush());
    before_settling = store;
    life.tree.reset();
    store = before_settling;
  }
  StoreBatch damage;
  damage.put({7, 1, 0}, "nonsense");
  REQUIRE(store.commit(damage, StoreSync::process));
  Life life(store, tools.options());
  REQUIRE(life.report);
  REQUIRE(life.restored.size() == 1);
  CHECK(life.restored[0].state == AgentState::stopped);
  CHECK_FALSE(life.restored[0].damage.empty());
  CHECK(life.restored[0].messages == 0);
}

TEST_CASE("a damaged conversation of a turn in progress stops its agent, and no other",
          "[persist][turns][corrupt]") {
  MemoryStore store;
  Tools tools;
  {
    Life life(store, tools.options());
    life.llm.enqueue(silence());
    AgentSpec spec;
    spec.code.tools = "tools";
    const Agent agent = life.create("a", spec);
    const Agent child = agent.create_child({.id = "child"}).value();
    poll(life);
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(agent.send("later"));
    REQUIRE(life.tree->flush());
  }
  std::string message;
  REQUIRE(store.read({7, 0, 0}, {7, RecordKey::max, RecordKey::max},
                     [&](const RecordKey&, std::string_view body) {
                       message = body;
                       return true;
                     }));
  StoreBatch damage, repair;
  damage.put({7, 1, 0}, "nonsense");
  repair.put({7, 1, 0}, message);
  REQUIRE(store.commit(damage, StoreSync::process));
  {
    Life life(store, tools.options());
    REQUIRE(life.report);
    CHECK(life.report->agents == 2);
    CHECK(life.report->continued_turns == 0);
    REQUIRE(life.restored.size() == 2);
    CHECK(life.restored[0].state == AgentState::stopped);
    CHECK(life.restored[0].damage.find("'a' in the store cannot be read") != std::string::npos);
    CHECK(life.restored[0].fate == RestoredTurn::none);  // it is kept for a repair
    CHECK(life.restored[1].damage.empty());
    poll(life);
    CHECK(life.llm.calls() == 0);
    const Agent agent = life.find("a"), child = life.find("child");
    CHECK(agent.state().value() == AgentState::stopped);
    CHECK(child.state().value() == AgentState::idle);
    REQUIRE(child.send("hello"));
    poll(life);
    CHECK(Life::texts(child) == std::vector<std::string>{"hello", "hello"});
    REQUIRE(life.dropped.size() == 1);
    CHECK(life.dropped[0].message.text == "later");
    REQUIRE(agent.pause().took_effect());  // its record is written again
    REQUIRE(agent.unpause().took_effect());
    REQUIRE(child.pause().took_effect());
    for (int i = 0; i < 3; ++i) REQUIRE(child.send("waits"));
    REQUIRE(life.tree->flush());
  }
  // The store has kept all of it.
  REQUIRE(store.commit(repair, StoreSync::process));
  Life life(store, tools.options());
  REQUIRE(life.report);
  CHECK(life.report->continued_turns == 1);
  CHECK(life.report->messages == 4);
  poll(life);
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"go", "go", "later", "later"});
}

TEST_CASE("a turn whose call asks nothing after a restart ends before anything else of it begins",
          "[persist][turns][questions][G14]") {
  MemoryStore store;
  std::function<void(const ToolContext&, const ToolDone&)> act = [](const ToolContext& context,
                                                                    const ToolDone& done) {
    context.ask({.text = "Sure?"}, [done](const Answer&) { done(ToolResult::done("yes")); });
  };
  auto registry = std::make_shared<ToolRegistry>();
  registry->add({.spec = {.name = "asks", .replay = ToolReplay::safe},
                 .start = [&](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                   act(context, done);
                 }});
  RestoreOptions options{.durability = Durability::each_step};
  options.code.add_tools("tools", registry);
  {
    Life life(store, options);
    life.llm.enqueue(calls({call("c1", "asks")}));
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->questions().size() == 1);
    REQUIRE(life.tree->flush());
  }
  SECTION("its tool gives its result at once") {
    act = [](const ToolContext&, const ToolDone& done) { done(ToolResult::done("at once")); };
  }
  SECTION("its tool takes the turn back") {
    act = [](const ToolContext& context, const ToolDone&) { CHECK(context.agent().rewind(1).has_value()); };
  }
  Life life(store, options);
  poll(life);
  CHECK(life.llm.calls() == 0);
  CHECK(life.find("a").state().value() == AgentState::idle);
  CHECK(life.tree->questions().empty());
}

TEST_CASE("after a restart an approval does not get the number of a question of the same call",
          "[persist][turns][questions]") {
  MemoryStore store;
  auto registry = std::make_shared<ToolRegistry>();
  registry->add({.spec = {.name = "both", .replay = ToolReplay::safe, .needs_approval = true},
                 .start = [](const nlohmann::json&, const ToolContext& context, ToolDone done) {
                   // The words in which its approval is asked, too.
                   context.ask({.text = "{}"},
                               [done](const Answer& answer) { done(ToolResult::done(answer.text)); });
                 }});
  RestoreOptions options{.durability = Durability::each_step, .turns = InterruptedTurns::go_on};
  options.code.add_tools("tools", registry);
  {
    Life life(store, options);
    life.llm.enqueue(calls({call("c1", "both")}));
    const Agent agent = life.create("a", {.code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(life.tree->approve("q_1").has_value());
    poll(life);
    REQUIRE(life.tree->questions().at(0).id == "q_2");
    REQUIRE(life.tree->flush());
  }
  Life life(store, options);
  poll(life);
  REQUIRE(life.tree->questions().size() == 1);
  const OpenQuestion approval = life.tree->questions()[0];
  CHECK(approval.kind == QuestionKind::approval);
  CHECK(approval.id != "q_2");
  REQUIRE(life.tree->approve(approval.id).has_value());
  poll(life);
  REQUIRE(life.tree->questions().size() == 1);
  CHECK(life.tree->questions()[0].kind == QuestionKind::question);
  CHECK(life.tree->questions()[0].id == "q_2");
}

TEST_CASE(
    "the mark of a turn that ended early is there after a restart, although its question was stored before",
    "[persist][turns][G8]") {
  const Interruption how = GENERATE(Interruption::aborted, Interruption::interrupted, Interruption::stopped);
  MemoryStore store;
  Tools tools;
  {
    Life life(store, tools.options(InterruptedTurns::end, Durability::each_message));
    life.llm.enqueue(silence());
    const Agent agent = life.create("a");
    REQUIRE(agent.send("question"));
    poll(life);
    REQUIRE(life.tree->flush());
    if (how == Interruption::aborted) REQUIRE(agent.abort().took_effect());
    if (how == Interruption::interrupted) REQUIRE(agent.interrupt().took_effect());
    if (how == Interruption::stopped) REQUIRE(agent.stop().took_effect());
    poll(life);
    REQUIRE(life.tree->flush());
    REQUIRE(agent.conversation().value().at(0).interruption == how);
  }
  Life life(store, tools.options());
  REQUIRE(life.find("a").conversation().value().size() == 1);
  CHECK(life.find("a").conversation().value()[0].interruption == how);
}

TEST_CASE("an answer that was shortened to nothing is gone after a restart, and its question is marked",
          "[persist][turns][G8]") {
  MemoryStore store;
  Tools tools;
  {
    Life life(store, tools.options());
    life.llm.enqueue(answer("words"));
    const Agent agent = life.create("a");
    const MessageId message = agent.send("question").id;
    poll(life);
    REQUIRE(life.tree->flush());
    REQUIRE(agent.truncate_answer(message, 0));
    REQUIRE(life.tree->flush());
    REQUIRE(agent.conversation().value().size() == 1);
  }
  Life life(store, tools.options());
  REQUIRE(life.find("a").conversation().value().size() == 1);
  CHECK(life.find("a").conversation().value()[0].interruption == Interruption::interrupted);
}

TEST_CASE("a call that the host has completed is over after a restart, too, and its result is the host's",
          "[persist][turns][complete_call]") {
  MemoryStore store;
  Tools tools;
  {
    Life life(store, tools.options());
    life.llm.enqueue(calls({call("c1", "never"), call("c2", "safe")}));
    const Agent agent = life.create("a", {.limits = {.parallel_tools = 2}, .code = {.tools = "tools"}});
    REQUIRE(agent.send("go"));
    poll(life);
    REQUIRE(agent.complete_call("c1", ToolResult::done("by hand")).took_effect());
    poll(life);
    REQUIRE(life.tree->flush());
  }
  tools.forget();
  tools.answers = true;
  Life life(store, tools.options());
  Ends ends(life);
  std::uint32_t model_call = 0;
  const auto deltas =
      life.tree->on<DeltaReceived>([&](const DeltaReceived& delta) { model_call = delta.call; });
  CHECK(life.find("a").cancel_call("c1").reason == Errc::call_over);
  CHECK(life.find("a").complete_call("c1", ToolResult::done("again")).reason == Errc::call_over);
  life.llm.enqueue(answer("done"));
  life.runtime.run_until_idle();
  CHECK(model_call == 2);  // of the turn, the one before the restart included
  const TurnResult& result = result_of(ends.all);
  REQUIRE(result.calls.size() == 2);
  CHECK(result.calls[0].message == "by hand");
  CHECK(result.calls[0].by_host);
  CHECK_FALSE(result.calls[1].by_host);
}

TEST_CASE("a turn that goes on over a restart has the usage and the cost of both parts",
          "[persist][turns][G15]") {
  MemoryStore store;
  Tools tools;
  // 1 for each token.
  const AgentSpec spec{.model = {.prices = {.prompt = 1e6, .completion = 1e6}}, .code = {.tools = "tools"}};
  testing::ScriptedReply asks = calls({call("c1", "safe")}), answers = answer("done");
  asks.usage = {.prompt_tokens = 20, .completion_tokens = 10, .total_tokens = 30};
  answers.usage = {.prompt_tokens = 4, .completion_tokens = 3, .total_tokens = 7};
  {
    Life life(store, tools.options());
    life.llm.enqueue(asks);
    REQUIRE(life.create("a", spec).send("go"));
    poll(life);
    REQUIRE(life.tree->flush());
  }
  tools.forget();
  tools.answers = true;
  Life life(store, tools.options());
  Ends ends(life);
  life.llm.enqueue(answers);
  life.runtime.run_until_idle();
  const TurnResult& result = result_of(ends.all);
  CHECK(result.usage.total_tokens == 37);
  REQUIRE(result.cost);
  CHECK(*result.cost > 36.9);
  CHECK(*result.cost < 37.1);
}

TEST_CASE("a call whose arguments never came is refused after a restart, too", "[persist][turns][missing]") {
  MemoryStore store;
  Tools tools;
  tools.add("city", ToolReplay::never, false, R"({"type":"object","properties":{"city":{}}})");
  begin(store, tools, {call("c1", "safe"), call("c2", "city", ""), call("c3", "safe", "")});
  tools.forget();
  Life life(store, tools.options());
  Ends ends(life);
  tools.answers = true;
  life.llm.enqueue(answer("done"));
  life.runtime.run_until_idle();
  CHECK(tools.begun == std::vector<std::string>{"safe c1", "safe c3"});
  CHECK(result_of(ends.all).calls.at(1).outcome == ToolOutcome::not_started);
  CHECK(result_of(ends.all).calls.at(1).message.starts_with("the call has no arguments"));
}
