// Work that arises outside of a poll wakes the loop: each public function, with each backend and durability.
#include "platform/await_readable.hpp"
#include "support/clients/fake_client.hpp"
#include "support/documented_functions.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/drive/unhurried.hpp"
#include "support/store/guarded_store.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/call_slots.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/console.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/loop_attachment.hpp>
#include <agentcore/terminate_scope.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using loop_test::readable;
using namespace std::chrono_literals;

namespace {

// A tree that is at rest, in which there is something for each function to do.
struct Stage {
  explicit Stage(LoopBackend backend, std::optional<Durability> durability)
      : runtime(loop_test::with(backend)), llm(runtime) {
    const std::string any = R"({"type":"object"})";
    tools->add({{.name = "held", .parameters = any}, held.start()});
    tools->add({{.name = "task", .parameters = any, .mode = ToolMode::async}, held.start()});
    tools->add({{.name = "danger", .parameters = any, .needs_approval = true}, held.start()});
    tools->add(make_ask_human_tool());
    tree.emplace(runtime, TreeOptions{.llm = &llm});
    if (durability) REQUIRE(tree->restore(kept.get(), {.durability = *durability}));
    wake = runtime.on_wake([this] { ++wakes; });
    descriptor = runtime.poll_descriptor();
    REQUIRE(descriptor >= 0);
    if (backend == LoopBackend::epoll) attached = attachment.open_descriptor();
    fill();
  }

  Agent make(std::string id, AgentSpec spec = {}) {
    spec.id = std::move(id);
    spec.tools = tools;
    spec.limits.background_tasks = 1;
    return tree->create(std::move(spec)).value();
  }
  Agent operator[](std::string_view id) { return tree->find(id).value(); }
  // Begins a turn of the agent, which then waits in the call of that tool.
  void begin(const std::string& id, const std::string& tool) {
    REQUIRE((*this)[id].send("question"));
    rest();
    llm.call_tools(id, {{.id = "call of " + id, .name = tool, .arguments = R"({"question":"Why?"})"}});
    rest();
  }
  std::string question_of(std::string_view id) {
    for (const OpenQuestion& question : tree->questions())
      if (question.agent_id == id) return question.id;
    return {};
  }

  void fill() {
    make("idle", {.limits = {.mailbox = 9}});
    make("leased", {.limits = {.lease = 1h}});
    for (const char* id : {"turns", "grants", "approves", "asks", "asks too", "calls", "tasks", "thinks"})
      make(id);
    for (int i = 0; i < 2; ++i) {
      last = (*this)["turns"].send("question").id;
      rest();
      llm.answer("turns", "a long answer");
    }
    begin("grants", "danger");
    CHECK(tree->approve(question_of("grants"), GrantScope::agent).code() == Errc::none);
    begin("approves", "danger");
    begin("asks", "ask_human");
    begin("asks too", "ask_human");
    begin("calls", "held");
    begin("tasks", "task");
    llm.answer("tasks", "begun");
    REQUIRE((*this)["thinks"].send("question"));
    REQUIRE(make("paused").pause().took_effect());
    for (int i = 0; i < 2; ++i) waiting.push_back((*this)["paused"].send("question").id);
    REQUIRE(make("holds").interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    REQUIRE((*this)["holds"].send("question"));
    REQUIRE(make("stopped").stop().took_effect());
    rest();
    for (const RunningTask& task : tree->tasks())
      if (task.kind == TaskKind::background) task_id = task.id;
    document = export_agents((*this)["idle"]).value();
    REQUIRE(tree->flush());
    rest();
  }

  // Polls until nothing is ready, and the descriptor is not readable.
  void rest() {
    for (int i = 0; i < 1000; ++i)
      if (!runtime.poll() && !is_due() && !readable(descriptor)) break;
    REQUIRE_FALSE(is_due());
    REQUIRE_FALSE(readable(descriptor));
    wakes = 0;
  }
  bool is_due() const {
    const auto next = runtime.next_deadline();
    return next && *next <= runtime.now();
  }
  // A host that knows the descriptor alone.
  void drive() {
    for (int i = 0; i < 1000 && readable(descriptor); ++i) runtime.poll();
  }

  const std::shared_ptr<GuardedStore> kept = std::make_shared<GuardedStore>();
  Runtime runtime{test::unhurried()};
  LoopAttachment attachment{runtime};
  FakeClient llm;
  std::shared_ptr<CallSlots> slots = std::make_shared<CallSlots>(runtime);
  LlmRouter router{runtime, {.routes = {{.client = &llm, .endpoint = "local"}}, .call_slots = slots}};
  HttpLlmClient http{runtime, {.base_url = "http://127.0.0.1:9/v1", .model = "m"}};
  HeldTool held;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::optional<AgentTree> tree;
  std::unique_ptr<Console> console;
  int wakes = 0;
  int descriptor = -1, attached = -1;
  Subscription wake;
  MessageId last;                  // of the last turn of "turns"
  std::vector<MessageId> waiting;  // of "paused"
  std::string task_id, document;
  std::vector<Timer> timers;
  std::vector<Subscription> subscriptions;
};

// Whether there is work right after a call.
enum class Due {
  never,
  stored,   // in a tree with a store
  step,     // in a tree with Durability::each_step or each_message
  message,  // in a tree with Durability::each_message
  always
};

struct Step {
  std::string name;  // of the function; what follows a space says which case it is
  Due due;
  std::function<void(Stage&)> call;
};

const std::vector<Step>& steps() {
  static const std::vector<Step> all{
      // AgentTree
      {"flush", Due::never, [](Stage& s) { REQUIRE(s.tree->flush()); }},
      {"create", Due::stored, [](Stage& s) { s.make("new"); }},
      {"create with a lease", Due::always, [](Stage& s) { s.make("new", {.limits = {.lease = 1h}}); }},
      {"create shared", Due::stored,
       [](Stage& s) { s.tree->create(std::make_shared<const AgentSpec>()).value(); }},
      {"answer", Due::always, [](Stage& s) { REQUIRE(s.tree->answer(s.question_of("asks"), "because")); }},
      {"approve", Due::stored, [](Stage& s) { REQUIRE(s.tree->approve(s.question_of("approves"))); }},
      {"approve for long", Due::stored,
       [](Stage& s) { REQUIRE(s.tree->approve(s.question_of("approves"), GrantScope::subtree)); }},
      {"decline", Due::always, [](Stage& s) { REQUIRE(s.tree->decline(s.question_of("asks"))); }},
      {"decline an approval", Due::stored,
       [](Stage& s) { REQUIRE(s.tree->decline(s.question_of("approves"))); }},
      {"revoke", Due::stored, [](Stage& s) { REQUIRE(s.tree->revoke(s.tree->grants().at(0).id)); }},
      {"stop_all", Due::always, [](Stage& s) { REQUIRE(s.tree->stop_all().took_effect()); }},
      {"resume_all", Due::always,
       [](Stage& s) {
         REQUIRE(s.tree->stop_all({.when = StopWhen::after_turn}).took_effect());
         s.rest();
         REQUIRE(s.tree->resume_all().took_effect());
       }},
      {"pause_all", Due::always, [](Stage& s) { REQUIRE(s.tree->pause_all().took_effect()); }},
      {"unpause_all", Due::always,
       [](Stage& s) {
         REQUIRE(s.tree->pause_all().took_effect());
         s.rest();
         REQUIRE(s.tree->unpause_all().took_effect());
       }},
      {"cancel_task", Due::always, [](Stage& s) { REQUIRE(s.tree->cancel_task(s.task_id).took_effect()); }},
      {"walk", Due::stored,
       [](Stage& s) {
         s.tree->walk([&](const Agent& agent) {
           if (agent.id() == "idle") s.make("new");
         });
       }},
      {"on_event", Due::never,
       [](Stage& s) { s.subscriptions.push_back(s.tree->on_event([](const Event&) {})); }},
      {"on", Due::never,
       [](Stage& s) { s.subscriptions.push_back(s.tree->on<TurnEnded>([](const TurnEnded&) {})); }},
      // Agent
      {"send", Due::always, [](Stage& s) { REQUIRE(s["idle"].send("question")); }},
      {"send to a paused agent", Due::message, [](Stage& s) { REQUIRE(s["paused"].send("question")); }},
      {"send with a deadline", Due::always,
       [](Stage& s) { REQUIRE(s["paused"].send("question", {.deadline = s.runtime.now() + 1h})); }},
      {"simulate", Due::always, [](Stage& s) { REQUIRE(s["idle"].simulate("answer")); }},
      {"abort", Due::always, [](Stage& s) { REQUIRE(s["thinks"].abort().took_effect()); }},
      {"interrupt", Due::always, [](Stage& s) { REQUIRE(s["calls"].interrupt().took_effect()); }},
      {"steer", Due::always, [](Stage& s) { REQUIRE(s["calls"].steer("more")); }},
      {"release_queue", Due::always, [](Stage& s) { REQUIRE(s["holds"].release_queue().took_effect()); }},
      {"pause", Due::always, [](Stage& s) { REQUIRE(s["idle"].pause().took_effect()); }},
      {"pause with a callback", Due::always,
       [](Stage& s) { REQUIRE(s["calls"].pause({.on_rest = [] {}}).took_effect()); }},
      {"unpause", Due::always, [](Stage& s) { REQUIRE(s["paused"].unpause().took_effect()); }},
      {"renew", Due::never, [](Stage& s) { REQUIRE(s["leased"].renew().took_effect()); }},
      {"stop", Due::always, [](Stage& s) { REQUIRE(s["calls"].stop().took_effect()); }},
      {"stop later", Due::always,
       [](Stage& s) { REQUIRE(s["calls"].stop({.when = StopWhen::after_turn}).took_effect()); }},
      {"stop what is stopped", Due::stored, [](Stage& s) { CHECK_FALSE(s["stopped"].stop().took_effect()); }},
      {"resume", Due::always, [](Stage& s) { REQUIRE(s["stopped"].resume().took_effect()); }},
      {"terminate", Due::always, [](Stage& s) { REQUIRE(s["turns"].terminate().took_effect()); }},
      {"cancel_call", Due::always,
       [](Stage& s) { REQUIRE(s["calls"].cancel_call("call of calls").took_effect()); }},
      {"complete_call", Due::always,
       [](Stage& s) {
         REQUIRE(s["calls"].complete_call("call of calls", ToolResult::done("by hand")).took_effect());
       }},
      {"create_child", Due::stored, [](Stage& s) { s["idle"].create_child({.id = "new"}).value(); }},
      {"create_child with a lease", Due::always,
       [](Stage& s) { s["idle"].create_child({.id = "new", .limits = {.lease = 1h}}).value(); }},
      {"drop_queue", Due::message, [](Stage& s) { REQUIRE(s["paused"].drop_queue().value() == 2); }},
      {"edit_queued", Due::stored,
       [](Stage& s) { REQUIRE(s["paused"].edit_queued(s.waiting.at(0), {.text = "other"})); }},
      {"remove_queued", Due::always, [](Stage& s) { REQUIRE(s["paused"].remove_queued(s.waiting.at(0))); }},
      {"grant", Due::stored, [](Stage& s) { REQUIRE(s["idle"].grant({.turns = 3})); }},
      {"grant of the subtree", Due::stored,
       [](Stage& s) { REQUIRE(s["idle"].grant({.turns = 3}, Scope::subtree)); }},
      {"set_model", Due::stored, [](Stage& s) { REQUIRE(s["idle"].set_model("other")); }},
      {"set_llm", Due::stored, [](Stage& s) { REQUIRE(s["idle"].set_llm(&s.llm)); }},
      {"set_system_prompt", Due::stored, [](Stage& s) { REQUIRE(s["idle"].set_system_prompt("Be kind.")); }},
      {"set_tools", Due::stored, [](Stage& s) { REQUIRE(s["idle"].set_tools(s.tools)); }},
      // Conversations
      {"truncate_answer", Due::stored, [](Stage& s) { REQUIRE(s["turns"].truncate_answer(s.last, 6)); }},
      {"acknowledge", Due::never,
       [](Stage& s) {
         static_cast<void>(s["thinks"].acknowledge({.message = s.last, .call = 1, .bytes = 1}));
       }},
      {"rewind", Due::stored, [](Stage& s) { REQUIRE(s["turns"].rewind(2)); }},
      {"rewind the turn in progress", Due::always, [](Stage& s) { REQUIRE(s["thinks"].rewind(1)); }},
      {"regenerate", Due::always, [](Stage& s) { REQUIRE(s["turns"].regenerate()); }},
      {"fork", Due::stored, [](Stage& s) { REQUIRE(s["turns"].fork()); }},
      {"export_agents", Due::never, [](Stage& s) { REQUIRE(export_agents(s["turns"])); }},
      {"import_agents", Due::always,
       [](Stage& s) {
         std::string document = s.document;
         REQUIRE(s["idle"].terminate().took_effect());
         s.rest();
         REQUIRE(import_agents(*s.tree, document));
       }},
      // TerminateScope
      {"create in a scope", Due::stored,
       [](Stage& s) {
         TerminateScope scope(*s.tree);
         scope.create({.id = "new"}).value();
         static_cast<void>(scope.release());
       }},
      {"attach", Due::never,
       [](Stage& s) {
         TerminateScope scope(*s.tree);
         REQUIRE(scope.attach(s["idle"]));
         static_cast<void>(scope.release());
       }},
      {"close", Due::always,
       [](Stage& s) {
         TerminateScope scope(*s.tree);
         REQUIRE(scope.attach(s["idle"]));
         scope.close();
       }},
      // What tools and clients of the host call.
      {"a result", Due::always, [](Stage& s) { s.held.calls.at(1).done(ToolResult::done("result")); }},
      {"progress", Due::never, [](Stage& s) { s.held.calls.at(1).context.progress("half"); }},
      {"ask", Due::stored, [](Stage& s) { s.held.calls.at(1).context.ask({.text = "Why?"}, [](auto&) {}); }},
      {"create_child of a call", Due::stored,
       [](Stage& s) { s.held.calls.at(1).context.create_child(s["calls"], {.id = "new"}).value(); }},
      {"delta", Due::never, [](Stage& s) { s.llm.delta("thinks", "words"); }},
      {"finish", Due::stored, [](Stage& s) { s.llm.answer("thinks", "words"); }},
      {"finish with calls", Due::step,
       [](Stage& s) { s.llm.call_tools("thinks", {{.id = "x", .name = "missing"}}); }},
      // Clients, their slots, and the console
      {"chat of a client", Due::always, [](Stage& s) { s.http.chat({}, {}, ChatSink({}, [](auto&&) {})); }},
      {"chat of a router", Due::never, [](Stage& s) { s.router.chat({}, {}, ChatSink({}, [](auto&&) {})); }},
      {"set_endpoint", Due::always,
       [](Stage& s) {
         s.slots->set_endpoint("local", {.calls = 1});
         for (int i = 0; i < 2; ++i) s.router.chat({}, {}, ChatSink({}, [](auto&&) {}));
         s.rest();
         REQUIRE(s.slots->waiting() == 1);
         s.slots->set_endpoint("local", {.calls = 2});
       }},
      {"show", Due::never,
       [](Stage& s) {
         s.console = Console::open(s.runtime, {.port = 0}).value();
         s.rest();
         s.subscriptions.push_back(s.console->show(*s.tree));
       }},
      // Runtime
      {"post", Due::always, [](Stage& s) { s.runtime.post([] {}); }},
      {"call_after", Due::never, [](Stage& s) { s.timers.push_back(s.runtime.call_after(1h, [] {})); }},
      {"call_after without delay", Due::always,
       [](Stage& s) { s.timers.push_back(s.runtime.call_after(0ns, [] {})); }},
  };
  return all;
}

bool is_expected(Due due, std::optional<Durability> durability) {
  switch (due) {
    case Due::never:
      return false;
    case Due::stored:
      return durability.has_value();
    case Due::step:
      return durability && durability != Durability::each_turn;
    case Due::message:
      return durability == Durability::each_message;
    case Due::always:
      return true;
  }
  return true;
}

}  // namespace

TEST_CASE("each function of the host wakes the loop for the work that it leaves",
          "[persist][loop][wake][Q2][G14]") {
  const LoopBackend backend = EACH_BACKEND();
  const auto durability =
      GENERATE(std::optional<Durability>(), std::optional(Durability::each_turn),
               std::optional(Durability::each_step), std::optional(Durability::each_message));
  for (const Step& step : steps()) {
    CAPTURE(backend, durability ? to_string(*durability) : "no store", step.name);
    Stage stage(backend, durability);
    REQUIRE_FALSE(readable(stage.descriptor));
    step.call(stage);
    CHECK(stage.is_due() == is_expected(step.due, durability));
    if (stage.is_due()) {
      CHECK(stage.wakes == 1);
      CHECK(readable(stage.descriptor));
      if (stage.attached >= 0) CHECK(readable(stage.attached));
    }
    stage.drive();
    CHECK_FALSE(stage.is_due());
  }
}

TEST_CASE("the table of functions that wake the loop names each public function of the loop thread",
          "[persist][loop][wake]") {
  // They read, or they are tested by the cases of their own.
  std::istringstream others(
      "questions grants tasks message roots busy parent children queued conversation "
      "context spent role model conversation_page turns poll run_for run_until_idle "
      "poll_descriptor next_deadline on_wake random cancel restore open_calls "
      "call_slots is_circuit_open running waiting has_active_request receipts port url "
      "open make");
  std::set<std::string> known{std::istream_iterator<std::string>(others), {}};
  for (const Step& step : steps()) known.insert(step.name.substr(0, step.name.find(' ')));
  for (const char* header :
       {"agent_tree.hpp", "agent.hpp", "checkpoint.hpp", "terminate_scope.hpp", "runtime.hpp", "tool.hpp",
        "call_slots.hpp", "llm_router.hpp", "http_llm_client.hpp", "console.hpp"}) {
    const std::set<std::string> functions = loop_thread_functions_in(header);
    CAPTURE(header);
    CHECK_FALSE(functions.empty());
    for (const std::string& function : functions) {
      CAPTURE(function);
      CHECK(known.count(function) == 1);
    }
  }
}

TEST_CASE("an approval outside of a poll runs the tool in a tree with a store",
          "[persist][wake][questions]") {
  const LoopBackend backend = EACH_BACKEND();
  Stage stage(backend, Durability::each_turn);
  const std::size_t before = stage.held.calls.size();
  REQUIRE(stage.tree->approve(stage.question_of("approves")));
  stage.drive();
  CHECK(stage.held.calls.size() == before + 1);
}

TEST_CASE("what a function of the host changes on an idle host is in the store without another event",
          "[persist][wake][G14]") {
  const auto durability = GENERATE(Durability::each_turn, Durability::each_step, Durability::each_message);
  for (const Step& step : steps()) {
    if (step.due != Due::stored) continue;
    CAPTURE(to_string(durability), step.name);
    Stage stage(LoopBackend::automatic, durability);
    const std::size_t before = stage.kept->commits;
    step.call(stage);
    stage.drive();
    CHECK(stage.kept->commits > before);
  }
}

TEST_CASE("a restore wakes the loop for turns and messages that go on", "[persist][wake][G14]") {
  const LoopBackend backend = EACH_BACKEND();
  std::shared_ptr<GuardedStore> store;
  {
    const Stage stage(backend, Durability::each_message);
    store = stage.kept;
  }
  Runtime runtime(loop_test::with(backend));
  FakeClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  int wakes = 0;
  const Subscription wake = runtime.on_wake([&] { ++wakes; });
  const int descriptor = runtime.poll_descriptor();
  REQUIRE(tree.restore(store.get(), {.turns = InterruptedTurns::go_on}));
  CHECK(wakes == 1);
  CHECK(readable(descriptor));
}

TEST_CASE("the lease of an agent that is created outside of a poll ends by its timer",
          "[persist][wake][lease]") {
  Runtime runtime(loop_test::with());
  FakeClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const int descriptor = runtime.poll_descriptor();
  while (runtime.poll() || readable(descriptor)) continue;
  const Agent agent = tree.create({.id = "a", .limits = {.lease = 1ms}}).value();
  bool stopped = false;
  const Subscription states =
      tree.on<StateChanged>([&](const StateChanged& change) { stopped = change.to == AgentState::stopped; });
  for (int i = 0; i < 20 && !stopped; ++i) {
    detail::platform::await_readable(descriptor, 1s);
    runtime.poll();
  }
  CHECK(stopped);
}
