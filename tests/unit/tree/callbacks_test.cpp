// A callback may do anything, at every kind of event (Q3, G16).
#include "support/drive/tree_fixture.hpp"

#include <agentcore/conversation.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A tool that asks a person, and one that never ends and ignores its stop.
std::shared_ptr<ToolRegistry> tools_of_busy() {
  auto tools = std::make_shared<ToolRegistry>();
  const auto ask = [](const nlohmann::json&, const ToolContext& context, ToolDone done) {
    context.progress("half");
    context.ask({.text = "Why?"}, [done](const Answer&) { done(ToolResult::done("because")); });
  };
  tools->add({{.name = "ask"}, ask});
  Window window;
  window.id = "notes";
  tools->open(std::move(window));
  const auto never = [kept = std::make_shared<std::vector<ToolDone>>()](
                         const nlohmann::json&, const ToolContext&, ToolDone done) { kept->push_back(done); };
  tools->add({{.name = "never", .mode = ToolMode::async}, never});
  return tools;
}

// The conversation before the first turn is longer than it may be: it is summarised.
ContextOptions context_of_busy() {
  ContextOptions options{.max_tokens = 5000, .target_tokens = 1000, .min_conversation_tokens = 1};
  options.compact = Compaction{};
  return options;
}
std::vector<ChatMessage> history_of_busy() {
  return {ChatMessage::user("old"), ChatMessage::assistant(std::string(10'000, 'x')),
          ChatMessage::user("newer"), ChatMessage::assistant(std::string(5'000, 'x'))};
}

// A tree in which every kind of event happens when run() is called: a parent, and an agent that runs tools,
// asks, closes a window, is paused, has a stop withdrawn and its mailbox held, gets a steered message, has a
// call and an answer refused, its older turns summarised and a background task, is stopped with a message in
// its mailbox in its second model call, and is deleted.
struct Busy {
  explicit Busy(OnStop how = OnStop::post) {
    t.check_at_end = false;
    parent = t.root("parent");
    t.llm->on_stop = how;
  }
  void run() {
    const auto created =
        parent.create_child({.id = "a",
                             .model = {.response_format = {.kind = ResponseFormat::Kind::json_object}},
                             .tools = tools_of_busy(),
                             .limits = {.background_tasks = 1},
                             .context = context_of_busy(),
                             .history = history_of_busy()});
    if (!created) return;
    static_cast<void>(created->interrupt({.queue = QueueAction::hold}));
    last = created->send("one").id;
    static_cast<void>(created->pause());
    poll();
    static_cast<void>(created->unpause());
    static_cast<void>(created->stop({.when = StopWhen::after_turn}));
    static_cast<void>(created->resume());
    static_cast<void>(created->release_queue());
    poll();
    if (t.llm) t.llm->answer("a", "summary");
    poll();
    static_cast<void>(created->steer("steered"));
    if (t.llm)
      t.llm->call_tools("a", {{.name = "never"},
                              {.name = "notes__close", .arguments = "{}"},
                              {.name = "ask"},
                              {.name = "missing"}});
    if (t.tree) static_cast<void>(t.tree->answer("q_1", "so"));
    poll();
    if (t.llm) t.llm->answer("a", "answer");
    if (t.llm) t.llm->answer("a", "{}");
    static_cast<void>(created->rewind(1));
    last = created->send("two").id;
    static_cast<void>(created->send("dropped"));
    poll();
    if (t.llm) t.llm->reason("a", "reasoning");
    if (t.llm) t.llm->delta("a", "partial");
    static_cast<void>(created->stop());
    if (t.llm) t.llm->answer("a", "late");
    poll();
    if (t.runtime) t.advance(std::chrono::seconds(6));
    static_cast<void>(created->terminate());
    poll();
  }
  void poll() const {
    for (int i = 0; i < 200 && t.runtime; ++i) t.runtime->poll();
  }
  // The tree at rest keeps its promises.
  void check() {
    poll();
    t.advance(std::chrono::seconds(6));
    CHECK(t.seen.violations == std::vector<std::string>{});
    if (!t.tree || !t.runtime) return;
    t.tree->walk([&](const Agent& agent) {
      const AgentState state = agent.state().value();
      CHECK((can_process(state) || state == AgentState::stopped));
      CHECK(is_valid_history(agent.conversation().value()));
    });
  }

  TreeFixture t;
  Agent parent;
  MessageId last;  // the message of the last turn
};

constexpr std::size_t kinds = std::variant_size_v<detail::EventBody>;

template <typename Body, typename... All>
constexpr std::size_t index_in(const std::variant<All...>*) {
  constexpr std::array same{std::is_same_v<Body, All>...};
  return static_cast<std::size_t>(std::find(same.begin(), same.end(), true) - same.begin());
}

// The tree of the scenario has no store: see persist/store_events_test.cpp.
constexpr bool is_of_store(std::size_t kind) {
  constexpr const detail::EventBody* type = nullptr;
  return kind == index_in<AgentRestored>(type) || kind == index_in<StopPersisted>(type) ||
         kind == index_in<MessagePersisted>(type);
}

// Nothing is left out of its requests: see turn/context_test.cpp.
constexpr bool never_comes(std::size_t kind) {
  return is_of_store(kind) ||
         kind == index_in<ContextTrimmed>(static_cast<const detail::EventBody*>(nullptr));
}

// The scenario has no such event.
constexpr bool is_left_out(std::size_t kind) {
  return kind == index_in<CompactionChanged>(static_cast<const detail::EventBody*>(nullptr)) ||
         never_comes(kind);
}

// Runs `act` in the first event of each kind, and in the first change to each state.
template <typename Act>
void at_every_event(Act act) {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf})
    for (std::size_t kind = 0; kind < kinds + agent_state_count; ++kind) {
      if (is_left_out(kind)) continue;
      INFO("at event kind " << kind << ", client " << static_cast<int>(how));
      Busy busy(how);
      bool done = false;
      Subscription events;
      Subscription states;
      events = busy.t.tree->on_event([&](const Event& event) {
        if (done || detail::event_body(event).index() != kind) return;
        done = true;
        const Agent agent = event.agent();
        act(busy, agent);
      });
      states = busy.t.tree->on<StateChanged>([&](const StateChanged& change) {
        if (done || static_cast<std::size_t>(change.to) + kinds != kind) return;
        done = true;
        const Agent agent = change.agent;
        act(busy, agent);
      });
      busy.run();
      const bool never = how == OnStop::at_once && kind == 5;  // such a client says nothing late
      CHECK((done || never));
      busy.check();
      busy.t.runtime.reset();
      events.reset();
      states.reset();
    }
}

}  // namespace

TEST_CASE("any callback may stop its own agent", "[tree][Q3][G4][B18]") {
  at_every_event([](Busy&, const Agent& agent) { static_cast<void>(agent.stop()); });
}

TEST_CASE("any callback may stop the parent", "[tree][Q3][G4]") {
  at_every_event([](Busy& busy, const Agent&) { static_cast<void>(busy.parent.stop()); });
}

TEST_CASE("any callback may delete its own agent", "[tree][Q3][G4]") {
  at_every_event([](Busy&, const Agent& agent) { static_cast<void>(agent.terminate()); });
}

TEST_CASE("any callback may delete the parent", "[tree][Q3][G4]") {
  at_every_event([](Busy& busy, const Agent&) { static_cast<void>(busy.parent.terminate()); });
}

TEST_CASE("any callback may abort and resume and send and clear and stop all", "[tree][Q3]") {
  at_every_event([](Busy& busy, const Agent& agent) {
    static_cast<void>(agent.abort());
    static_cast<void>(agent.send("more"));
    static_cast<void>(agent.drop_queue().has_value());
    static_cast<void>(busy.t.tree->stop_all());
    static_cast<void>(agent.resume());
    static_cast<void>(busy.t.tree->resume_all());
  });
}

TEST_CASE("any callback may rewind, regenerate, truncate and fork", "[tree][Q3][rewind][fork][G4][G7]") {
  at_every_event([](Busy&, const Agent& agent) {
    const auto turns = agent.turns();
    if (turns && !turns->empty()) static_cast<void>(agent.rewind(turns->back().turn));
  });
  at_every_event([](Busy& busy, const Agent& agent) {
    static_cast<void>(agent.fork({.id = "fork"}));
    static_cast<void>(agent.regenerate());
    static_cast<void>(agent.truncate_answer(busy.last, 1));
    static_cast<void>(agent.regenerate());
  });
}

TEST_CASE("any callback may create agents and also below its own", "[tree][Q3][G2]") {
  at_every_event([](Busy& busy, const Agent& agent) {
    const auto other = busy.t.tree->create({.id = "other"});
    CHECK(other.has_value());
    const auto child = agent.create_child({.id = "child"});
    CHECK((child.has_value() || !can_process(agent.state().value())));
  });
}

TEST_CASE("any callback may call poll which then does nothing", "[tree][Q3]") {
  at_every_event([](Busy& busy, const Agent&) {
    CHECK_FALSE(busy.t.runtime->poll());
    busy.t.runtime->run_for(std::chrono::hours(1));
    CHECK_FALSE(busy.t.runtime->run_until_idle());
  });
}

TEST_CASE("any callback may deliver an answer of the model", "[tree][Q3][G7]") {
  at_every_event([](Busy& busy, const Agent&) {
    busy.t.llm->delta("a", "more");
    busy.t.llm->answer("a", "answer");
  });
}

TEST_CASE("any callback may destroy the tree and no callback follows", "[tree][Q3][G16]") {
  at_every_event([](Busy& busy, const Agent& agent) {
    busy.t.seen.clear();
    busy.t.tree.reset();
    CHECK_FALSE(agent.exists());
    CHECK(busy.parent.send("x").reason == Errc::agent_not_found);
    CHECK(busy.t.seen.lines.empty());
  });
}

TEST_CASE("any callback may destroy the Runtime and no callback follows", "[tree][Q3][G16]") {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (never_comes(kind)) continue;
    INFO("at event kind " << kind);
    Busy busy;
    std::size_t after = 0;
    Subscription events = busy.t.tree->on_event([&](const Event& event) {
      if (!busy.t.runtime) ++after;
      if (detail::event_body(event).index() == kind) busy.t.runtime.reset();
    });
    busy.run();
    CHECK_FALSE(busy.t.runtime);
    CHECK(after == 0);
  }
}

TEST_CASE("an exception of a callback is logged and affects no agent", "[tree][G16][Q6]") {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (never_comes(kind)) continue;
    INFO("at event kind " << kind);
    Busy busy;
    Recorder later;
    const auto events = busy.t.tree->on_event([&](const Event& event) {
      if (detail::event_body(event).index() == kind) throw std::runtime_error("thrown on purpose");
    });
    const auto states = busy.t.tree->on<StateChanged>([&](const StateChanged&) { throw 7; });
    later.watch(*busy.t.tree);
    busy.run();
    busy.check();
    CHECK(busy.t.logged("thrown on purpose"));
    CHECK(busy.t.logged("not a std::exception"));
    CHECK(busy.t.tree->size() == 1);
    CHECK(std::vector<std::string>(busy.t.seen.lines.begin() + 1, busy.t.seen.lines.end()) == later.lines);
  }
}

TEST_CASE("observers are added and removed inside callbacks", "[tree][events][Q3]") {
  TreeFixture t;
  std::string calls;
  std::optional<Subscription> own;
  std::optional<Subscription> other;
  std::optional<Subscription> added;
  own = t.tree->on_event([&](const Event&) {
    calls += "own ";
    other.reset();
    added = t.tree->on_event([&](const Event&) { calls += "added "; });
    own.reset();
  });
  other = t.tree->on_event([&](const Event&) { calls += "other "; });
  t.root("a");
  CHECK(calls == "own ");
  t.root("b");
  CHECK(calls == "own added ");
}

TEST_CASE("completion callbacks may call any function", "[tree][Q3][G4]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  std::string calls;
  CHECK(child
            .stop({.on_settled =
                       [&](const StopReport&) {
                         calls += "settled ";
                         CHECK(child.resume().took_effect());
                         throw std::runtime_error("from a completion");
                       }})
            .took_effect());
  CHECK(child
            .stop({.on_settled =
                       [&](const StopReport&) {
                         calls += "second ";
                         static_cast<void>(parent.terminate({.on_settled = [&](const StopReport&) {
                           calls += "gone";
                           t.tree.reset();
                         }}));
                       }})
            .accepted());
  t.settle();
  t.llm->answer("child", "late");
  t.settle();
  CHECK(calls == "settled second gone");
  CHECK(t.logged("from a completion"));
}

TEST_CASE("a handler may destroy its tree or its Runtime", "[tree][Q3]") {
  for (const bool everything : {false, true}) {
    TreeFixture t;
    const Agent a = t.root("a", {.handler = [&](const Agent& self, const Message&) {
                             t.seen.clear();
                             if (everything)
                               t.runtime.reset();
                             else
                               t.tree.reset();
                             const Errc gone = everything ? Errc::runtime_gone : Errc::agent_not_found;
                             CHECK(self.send("y").reason == gone);
                           }});
    const Agent b =
        t.root("b", {.handler = [&](const Agent&, const Message&) { FAIL("nothing runs after it"); }});
    CHECK(a.send("x").accepted());
    CHECK(b.send("x").accepted());
    t.poll();
    CHECK(t.seen.lines.empty());
  }
}
