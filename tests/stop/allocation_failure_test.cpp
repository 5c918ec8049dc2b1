// Every allocation of a scenario fails in turn. Whatever is refused or lost then, the tree stays consistent:
// it can be stopped and deleted, reports come once, histories are valid, and nothing leaks.
//
// The allocations of the host's own code fail, too. Two kinds do not fail here: those of curl, because no
// model is called over the network, and those of the destructor of a nlohmann::json with members, which would
// terminate the process. So no JSON in here has members.
#include "core/without_exceptions.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tool.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/testing/references.hpp>
#include <agentcore/tool_registry.hpp>

#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

#ifdef SANITIZED
constexpr bool counts_heap = false;
constexpr std::size_t sampled = 7;  // each run is slow
#else
constexpr bool counts_heap = true;
const std::size_t sampled = amount<std::size_t>(1, 13);
#endif
constexpr std::size_t most_calls = 64;
const std::string parent_id = "the parent, whose id needs a heap";
const std::string talker_id = "the talker, whose id needs a heap";
const std::string child_id = "the child, whose id needs a heap, too";
constexpr std::string_view refused_words = "an answer that is refused, and needs a heap to be kept";
constexpr std::string_view blank_object = "{                               }";

// The call that is open and not stopped, or null. Allocates nothing.
FakeClient::Call* unstopped_call(const FakeClient& llm) {
  for (std::size_t number = 0; number < llm.calls(); ++number)
    if (FakeClient::Call& call = llm.call(number); call.open() && !call.stop.stop_requested()) return &call;
  return nullptr;
}

// Ends the stopped calls. Allocates nothing.
void end_stopped(const FakeClient& llm) {
  for (std::size_t number = 0; number < llm.calls(); ++number)
    if (FakeClient::Call& call = llm.call(number); call.open() && call.stop.stop_requested())
      FakeClient::finish(call, {.kind = ChatOutcome::Kind::cancelled});
}

// Counters, because they are written while allocations fail.
struct Counts {
  std::size_t refused = 0;  // answers
  std::size_t changed = 0;  // conversations
  int started = 0, ended = 0, tool_started = 0, tool_ended = 0, asked = 0, closed = 0, created = 0,
      deleted = 0;
  int lost = 0;      // events, as the log says
  int expected = 0;  // reports
  int reports = 0;
};

struct World {
  explicit World(bool deaf_tools) : deaf(deaf_tools) {
    RuntimeOptions options;
    options.clock = &clock;
    options.seed = 1;
    options.log = [this](const LogRecord& record) {
      if (record.level != LogLevel::error) return;
      for (const LogField& field : record.fields) counts.lost += field.value == "observer";
    };
    runtime = std::make_unique<Runtime>(std::move(options));
    runtime->poll();
    TreeOptions tree_options;
    tree_options.llm = &llm;
    tree_options.tool_policy = [](const ToolRequest& request) -> ToolDecision {
      if (request.tool.name != "risky") return {};
      return {Permission::ask, {}, "a key that is long enough to need a heap"};
    };
    tree = std::make_unique<AgentTree>(*runtime, tree_options);
    llm.reserve(most_calls);
    kept.reserve(most_calls);
    add_tools();
    witness = tree->create({.id = "witness"}).value();
    counts.created = 1;  // there was no observer yet
  }
  ~World() {
    kept.clear();  // a call whose ToolDone is destroyed ends
    events.reset();
    states.reset();
    tree.reset();
    runtime.reset();
  }

  void add_tools() {
    tools = std::make_shared<ToolRegistry>();
    const auto at_once = [](const nlohmann::json&, const ToolContext& context) {
      context.progress("half of what there is to do is done");
      return ToolResult::done("a result that needs a heap", R"("data that need a heap")");
    };
    const auto later = [this](const nlohmann::json&, const ToolContext&, ToolDone done) {
      if (kept.size() < most_calls) kept.push_back(std::move(done));
    };
    tools->add(make_tool({.name = "at_once"}, at_once));
    tools->add({{.name = "later", .timeout = std::chrono::seconds(30)}, later});
    tools->add(make_tool({.name = "risky", .needs_approval = true}, at_once));
    tools->add({{.name = "task", .mode = ToolMode::async}, later});
    const auto ask = [](const nlohmann::json&, const ToolContext& context, ToolDone done) {
      context.ask({.text = "which of them is it to be, please?", .timeout = std::chrono::seconds(30)},
                  [done = std::move(done)](const Answer& answer) { done(ToolResult::done(answer.text)); });
    };
    tools->add({{.name = "ask"}, ask});
    AgentToolOptions delegate;
    delegate.tool = {.name = "delegate", .parameters = R"({"type":"object"})"};
    delegate.agent.system_prompt = "a system prompt that needs a heap";
    delegate.write_message = [](const nlohmann::json&) { return "a message that needs a heap"; };
    tools->add(make_agent_tool(std::move(delegate)));
    const auto call = [](std::string id, std::string name) {
      return ToolCall{.id = std::move(id), .name = std::move(name), .arguments = "{}"};
    };
    wanted_agent.finish_reason = wanted.finish_reason = FinishReason::tool_calls;
    wanted_agent.tool_calls = {call("call number six, a long id", "delegate")};
    wanted.tool_calls = {
        call("call number one, a long id", "at_once"), call("call number two, a long id", "later"),
        call("call number three, a long id", "risky"), call("call number four, a long id", "task"),
        call("call number five, a long id", "ask")};
  }

  // A part of the host's code, which ignores what fails.
  template <typename Part>
  void step(Part&& part) {
    try {
      part();
    } catch (const std::bad_alloc&) {
    } catch (const BadResultAccess&) {
    }
  }

  void drive() {
    for (int i = 0; i < 20; ++i) {
      step([&] { runtime->poll(); });
      if (!deaf) step([&] { end_stopped(llm); });
    }
  }
  void settle() {
    for (int i = 0; i < 2000 && runtime->poll(); ++i) {
    }
  }

  void watch() {
    step([&] {
      events = tree->on_event([this](const Event& event) { count(event); });
      states = tree->on<StateChanged>([](const StateChanged&) {});
    });
  }
  void count(const Event& event) {
    counts.started += event.get<TurnStarted>() != nullptr;
    counts.ended += event.get<TurnEnded>() != nullptr;
    counts.tool_started += event.get<ToolStarted>() != nullptr;
    counts.tool_ended += event.get<ToolEnded>() != nullptr;
    counts.refused += event.get<ModelCallEnded>() != nullptr;
    counts.changed += event.get<ConversationChanged>() != nullptr;
    counts.asked += event.get<QuestionAsked>() != nullptr;
    counts.closed += event.get<QuestionClosed>() != nullptr;
    counts.created += event.get<AgentCreated>() != nullptr;
    counts.deleted += event.get<AgentDeleted>() != nullptr;
    // Within a callback, so that its event is deferred.
    if (event.get<TurnStarted>() && counts.started == 1)
      static_cast<void>(tree->create({.id = "made within a callback, with a long id"}));
  }

  void create() {
    step([&] { parent = tree->create({.id = parent_id}).value(); });
    step([&] {
      AgentSpec spec;
      spec.id = child_id;
      spec.system_prompt = "a system prompt that needs a heap";
      spec.tools = tools;
      spec.limits.parallel_tools = 3;
      spec.limits.background_tasks = 1;
      spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
      spec.limits.budget = {.tokens = 1'000'000, .wall_clock = std::chrono::hours(1)};
      spec.history = {ChatMessage::user("a question of an earlier run"),
                      ChatMessage::assistant("an answer of an earlier run")};
      child = parent.create_child(std::move(spec)).value();
    });
  }
  void send(std::string_view text) {
    step([&] { static_cast<void>(child.send(std::string(text))); });
    drive();
  }
  void answer(std::string_view text) {
    step([&] {
      if (FakeClient::Call* const call = unstopped_call(llm)) {
        call->sink.reasoning("a thought that needs a heap to be kept");
        call->sink.delta(text);
      }
      if (FakeClient::Call* const call = unstopped_call(llm))
        FakeClient::finish(*call, ChatOutcome::completed({}));
    });
    drive();
  }
  void ask_for_tools() {
    step([&] {
      if (FakeClient::Call* const call = unstopped_call(llm)) FakeClient::finish(*call, wanted);
    });
    drive();
    for (int i = 0; i < 3; ++i) {
      step([&] {
        for (const OpenQuestion& question : tree->questions())
          static_cast<void>(question.kind == QuestionKind::approval
                                ? tree->approve(question.id, GrantScope::subtree)
                                : tree->answer(question.id, "the one that is longest"));
      });
      drive();
    }
    step([&] {
      for (const Grant& grant : tree->grants()) static_cast<void>(tree->revoke(grant.id));
    });
    step([&] {
      for (const ToolDone& done : kept) done(ToolResult::done("a late result that needs a heap"));
    });
    if (!deaf) kept.clear();
    drive();
  }
  // One call is completed, the others and the background task are cancelled.
  void end_calls() {
    step([&] {
      if (FakeClient::Call* const call = unstopped_call(llm)) FakeClient::finish(*call, wanted);
    });
    drive();
    step([&] {
      for (const OpenQuestion& question : tree->questions())
        if (question.kind == QuestionKind::approval)
          static_cast<void>(child.complete_call(
              question.call_id, ToolResult::done("a result by hand that needs a heap", R"("and data")")));
    });
    step([&] {
      for (const RunningTask& task : tree->tasks())
        static_cast<void>(task.kind == TaskKind::background
                              ? tree->cancel_task(task.id, {.reason = "a reason that is long"})
                              : child.cancel_call(task.id, {.reason = "a reason that is long"}));
    });
    drive();
    if (!deaf) kept.clear();
    drive();
  }
  // An agent whose older turns are summarised and that has a child do its tool call: its conversation is
  // taken back, asked again, copied and shortened.
  void change_conversation() {
    step([&] {
      AgentSpec spec;
      spec.id = talker_id;
      spec.tools = tools;
      spec.partial_answers = PartialAnswers::keep;
      spec.context = {.max_tokens = 1500, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.compact = Compaction{.prompt = "a prompt that needs a heap", .max_tokens = 500};
      spec.context.archive_bytes = 1000;
      for (int i = 0; i < 3; ++i) {
        spec.history.push_back(ChatMessage::user("an old question"));
        spec.history.push_back(ChatMessage::assistant(std::string(2000, 'x')));
      }
      talker = parent.create_child(std::move(spec)).value();
    });
    MessageId asked;
    step([&] { asked = talker.send("a question of the talker, with a heap").id; });
    drive();
    answer("the summary of old questions, which needs a heap");
    step([&] {
      if (FakeClient::Call* const call = unstopped_call(llm)) FakeClient::finish(*call, wanted_agent);
    });
    drive();
    answer("the answer of the child, which needs a heap");
    answer("the answer of the talker, which needs a heap");
    step([&] { static_cast<void>(talker.truncate_answer(asked, 20)); });
    step([&] { asked = talker.send("a question that is interrupted, with a heap").id; });
    drive();
    step([&] {
      if (FakeClient::Call* const call = unstopped_call(llm)) call->sink.delta("a part of an answer, kept");
    });
    step([&] { static_cast<void>(talker.acknowledge({asked, 1, 9})); });
    step([&] { static_cast<void>(talker.interrupt()); });
    drive();
    step([&] { static_cast<void>(talker.regenerate()); });
    drive();
    step([&] { static_cast<void>(talker.fork({.id = "the copy, whose id needs a heap"})); });
    step([&] {
      const auto turns = talker.turns().value();
      if (!turns.empty()) static_cast<void>(talker.rewind(turns.back().turn));
    });
    drive();
  }
  StopOptions stop_options() {
    return {.reason = "a reason that is long", .on_settled = [this](const StopReport&) { ++counts.reports; }};
  }

  void run() {
    watch();
    create();
    send("a question that needs a heap to be kept");
    ask_for_tools();
    answer(refused_words);
    answer(blank_object);
    change_conversation();
    send("a question whose calls are cancelled");
    end_calls();
    answer(blank_object);
    send("another question that needs a heap");
    step([&] { static_cast<void>(child.abort({.reason = "a reason that is long"})); });
    drive();
    send("a question with tools, which is stopped");
    ask_for_tools();
    step([&] { counts.expected += parent.stop(stop_options()).accepted(); });
    drive();
    clock.advance(std::chrono::seconds(6));  // the grace
    drive();
    step([&] { static_cast<void>(parent.resume()); });
    drive();
    send("a question after it was resumed");
    answer(refused_words);
    answer(refused_words);  // the turn fails
    send("a question that is deleted");
    step([&] {
      counts.expected += parent
                             .terminate({.reason = "a reason that is long",
                                         .on_settled = [this](const StopReport&) { ++counts.reports; }})
                             .accepted();
    });
    drive();
  }

  // While no allocation fails.
  void end() {
    settle();
    tree->walk([](const Agent& agent) { CHECK(is_valid_history(agent.conversation().value())); });
    counts.expected += tree->stop_all(stop_options()).accepted();
    settle();
    clock.advance(std::chrono::seconds(6));
    settle();
    CHECK_FALSE(tree->busy());
    tree->walk([](const Agent& agent) { CHECK(agent.state().value() == AgentState::stopped); });
    for (const Agent& agent : tree->roots()) CHECK(agent.terminate().accepted());
    settle();
    clock.advance(std::chrono::seconds(6));
    settle();
    CHECK(tree->size() == 0);
    CHECK(tree->tasks().empty());
    CHECK(tree->questions().empty());
    CHECK(testing::count_references(*tree, parent_id) == 0);
    CHECK(testing::count_references(*tree, child_id) == 0);
    CHECK(testing::count_references(*tree, talker_id) == 0);
    CHECK_FALSE(tree->busy());
    CHECK(counts.reports == counts.expected);
    if (counts.lost != 0) return;  // an event was lost because an allocation failed, and the log says so
    CHECK(counts.started == counts.ended);
    CHECK(counts.tool_started == counts.tool_ended);
    CHECK(counts.asked == counts.closed);
    if (events) CHECK(counts.created == counts.deleted);
  }

  bool deaf;
  TestClock clock;
  Counts counts;
  FakeClient llm;
  std::shared_ptr<ToolRegistry> tools;
  ChatOutcome wanted, wanted_agent;
  std::vector<ToolDone> kept;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<AgentTree> tree;
  Subscription events, states;
  Agent parent, child, talker;
  Agent witness;  // nothing happens to it before the end
};

constexpr std::size_t no_failure = 1'000'000;

// Runs the scenario with its n-th allocation failing, and those after it, `row` in all. False: it has fewer.
bool fails_at(std::size_t n, std::size_t row, bool deaf) {
  const std::size_t before = live_heap();
  bool failed = false;
  Agent witness;
  {
    World world(deaf);
    witness = world.witness;
    {
      const FailingAllocation failing(n, row);
      world.run();
      failed = failing.failed();
    }
    INFO("allocation " << n << ", " << row << " in a row" << (deaf ? ", deaf" : ""));
    if (n == no_failure) {
      CHECK(world.counts.refused == 2);
      CHECK(world.counts.changed == 4);  // summarised, truncated, asked again, taken back
    }
    world.end();
  }
  // If a handle was released once too often, the core of the tree is destroyed, although this handle holds
  // it.
  const std::size_t held = live_heap();
  if (counts_heap) CHECK(held > before + 1000);
  witness = Agent();
  const std::size_t after = live_heap();
  if (n != no_failure) CHECK(after == before);  // the first run allocates what stays until the process ends
  return failed;
}

// The same for each `step`-th allocation of the scenario.
void fail_each(std::size_t step, std::size_t row, bool deaf) {
  REQUIRE_FALSE(fails_at(no_failure, 1, deaf));
  std::size_t count = 0;
  for (std::size_t n = 1; fails_at(n, row, deaf); n += step) ++count;
  CHECK(count * step > 300);
}

}  // namespace

TEST_CASE("after any one failed allocation the tree can be stopped and deleted", "[stop][G4][G13][G16]") {
  fail_each(sampled, 1, false);
}

TEST_CASE("after any one failed allocation calls that ignore their stop are abandoned",
          "[stop][G4][G13][G16]") {
  fail_each(3 * sampled, 1, true);
}

TEST_CASE("after any series of failed allocations the tree can be stopped and deleted",
          "[stop][G4][G13][G16]") {
  for (const std::size_t row : {2U, 5U, 50U}) {
    fail_each(11 * sampled, row, false);
    fail_each(11 * sampled, row, true);
  }
}

#ifndef RACES_WATCHED
TEST_CASE("a factory returns an error when no memory is left for its text", "[core][factories][G16]") {
  const auto fails = [](int what) {
    return detail::core::without_exceptions([what]() -> Result<int> {
      struct Exhausted : std::invalid_argument {
        using invalid_argument::invalid_argument;
        const char* what() const noexcept override {
          return "a text that is too long to be kept without an allocation";
        }
      };
      if (what == 0) throw std::bad_alloc();
      throw Exhausted("");
    });
  };
  for (const int what : {0, 1}) {
    INFO(what);
    const FailingAllocation failing(1, 100);
    const Result<int> result = fails(what);
    CHECK(result.error().code == Errc::out_of_memory);
    CHECK(result.error().message == "out of memory");
  }
}
#endif

TEST_CASE("every allocation fails once under every memory checker",
          "[.all_allocations][stop][G4][G13][G16]") {
  for (const std::size_t row : {1U, 2U, 5U, 50U})
    for (const bool deaf : {false, true}) fail_each(1, row, deaf);
}
