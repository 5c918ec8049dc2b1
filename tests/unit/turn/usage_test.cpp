// The usage that is reported for a turn that ends before its model call: taken from the outcome of the call,
// in whatever order outcome, cut and stop come.
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr Usage provider_usage{100, 7, 107, 60, 0, false};
constexpr double provider_cost = 0.25;

ChatOutcome cancelled_with_usage() {
  ChatOutcome outcome = ChatOutcome::cancelled(provider_usage);
  outcome.cost = provider_cost;
  return outcome;
}

enum class Verb { stop, abort, terminate };

struct Used : ToolTurn {
  TurnEnded end;
  Subscription watch;

  Used(TreeOptions options = {}) : ToolTurn(options) {
    llm->on_stop = OnStop::deaf;
    watch = tree->on_event([this](const Event& event) {
      if (const auto* ended = event.get<TurnEnded>()) end = *ended;
    });
  }
  // A client that knows what its calls used, and ends them from within their stop.
  void end_inside_the_cut(std::function<ChatOutcome()> outcome) {
    llm->on_chat = [this, outcome = std::move(outcome)](FakeClient&, FakeClient::Call& call) {
      stops.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
          call.stop, [&call, outcome] { FakeClient::finish(call, outcome()); }));
    };
  }
  // One token for each byte: "question" has 8.
  static AgentSpec counted() {
    return {.limits = {.budget = {.tokens = 10'000}},
            .context = {.count_tokens = [](std::string_view text) { return text.size(); }}};
  }
  static bool close(const Agent& agent, Verb verb) {
    if (verb == Verb::stop) return agent.stop().took_effect();
    return verb == Verb::abort ? agent.abort().took_effect() : agent.terminate().took_effect();
  }
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> stops;
};

}  // namespace

TEST_CASE("the ended turn reports the usage of a client that ends its call within the cut",
          "[turn][usage][G15]") {
  for (const Verb verb : {Verb::stop, Verb::abort, Verb::terminate}) {
    Used t;
    t.end_inside_the_cut(cancelled_with_usage);
    const Agent parent = t.root("p", {.limits = {.subtree_budget = {.tokens = 10'000}}});
    const Agent agent = t.child(parent, "a", Used::counted());
    t.ask(agent);
    t.llm->delta("a", "partial");
    CHECK(t.close(agent, verb));
    t.settle();
    CHECK(t.end.result->outcome == (verb == Verb::abort ? TurnOutcome::aborted : TurnOutcome::stopped));
    CHECK(t.end.result->usage == provider_usage);
    CHECK(t.end.result->cost == provider_cost);
    CHECK(parent.spent(Scope::subtree).value().tokens == 107);
    CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 0);
  }
}

TEST_CASE("the ended turn reports the usage of an outcome that comes before the settling walk",
          "[turn][usage][G15]") {
  for (const Verb verb : {Verb::stop, Verb::abort, Verb::terminate}) {
    Used t;
    const Agent parent = t.root("p", {.limits = {.subtree_budget = {.tokens = 10'000}}});
    const Agent agent = t.child(parent, "a", Used::counted());
    t.ask(agent);
    CHECK(t.close(agent, verb));
    FakeClient::finish(t.llm->call(0), cancelled_with_usage());
    t.settle();
    CHECK(t.end.result->usage == provider_usage);
    CHECK(t.end.result->cost == provider_cost);
    CHECK(parent.spent(Scope::subtree).value().tokens == 107);
    CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 0);
  }
}

TEST_CASE("an answer that completes behind a closed gate is dropped but its usage is counted",
          "[turn][usage][G7][G15]") {
  Used t;
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  FakeClient::finish(t.llm->call(0), ChatOutcome::completed(FinishReason::complete, {8, 5, 13}));
  t.settle();
  CHECK(t.end.result->outcome == TurnOutcome::stopped);
  CHECK(t.end.result->usage == Usage{8, 5, 13});
  CHECK(agent.spent().value().tokens == 13);
  CHECK(written(agent.conversation().value()) == "user:question!stopped");
}

// More agents than the stopping thread cuts with StopCut::few: the loop cuts the rest.
TEST_CASE("the ended turn reports the usage of a call that the settling walk cuts", "[turn][usage][G15]") {
  for (const std::size_t count : {std::size_t{30}, std::size_t{100}}) {
    Used t;
    t.end_inside_the_cut(cancelled_with_usage);
    std::size_t told = 0;
    const auto ends = t.tree->on_event([&](const Event& event) {
      const auto* const ended = event.get<TurnEnded>();
      told += ended && ended->result->usage == provider_usage && ended->result->cost == provider_cost;
    });
    const Agent parent = t.root("parent");
    for (std::size_t i = 0; i < count; ++i) t.ask(t.child(parent, "agent " + std::to_string(i)));
    const VerbResult stop = parent.stop({.cut = StopCut::few});
    CHECK(stop.took_effect());
    CHECK(stop.calls_cut < count);
    t.settle();
    CHECK(told == count);
  }
}

TEST_CASE("the tree estimates the usage of a call if its client does not know it", "[turn][usage][G15]") {
  for (const bool inside_the_cut : {true, false}) {
    Used t;
    t.llm->on_stop = inside_the_cut ? OnStop::at_once : OnStop::post;
    const Agent agent = t.root("a", Used::counted());
    t.ask(agent);
    t.llm->delta("a", "four");
    CHECK(agent.stop().took_effect());
    t.settle();
    CHECK(t.end.result->usage == Usage{12, 4, 16, 0, 0, false});
    CHECK(agent.spent().value().tokens == 16);
    CHECK(agent.spent().value().tokens_reserved == 0);
  }
}

TEST_CASE("missing counts of a cancelled outcome are estimated and the others stay", "[turn][usage][G15]") {
  Used t;
  t.end_inside_the_cut([] { return ChatOutcome::cancelled({.prompt_tokens = 50, .complete = false}); });
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  t.llm->delta("a", "four");
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.end.result->usage == Usage{50, 4, 54, 0, 0, false});
}

TEST_CASE("a call that was never sent has used nothing", "[turn][usage][G15]") {
  Used t;
  t.end_inside_the_cut([] { return ChatOutcome::cancelled(Usage{}); });
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.end.result->usage == Usage{});
  CHECK(agent.spent().value().tokens == 0);
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("an outcome after the end of the turn changes nothing that was reported", "[turn][usage][G7]") {
  Used t;
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.end.result->usage == Usage{12, 0, 12, 0, 0, false});
  FakeClient::finish(t.llm->call(0), cancelled_with_usage());
  t.settle();
  CHECK(t.end.result->usage == Usage{12, 0, 12, 0, 0, false});
  CHECK(agent.spent().value().tokens == 12);
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a turn that is stopped between its tools has used what its answers used", "[turn][usage][G15]") {
  Used t;
  t.ask(t.agent(Used::counted()));
  t.call({{.id = "x", .name = "held"}});
  CHECK(t["a"].stop().took_effect());
  t.held.calls.at(0).done(ToolResult::failed("stopped"));
  t.settle();
  CHECK(t.end.result->usage == Usage{10, 5, 15});
  CHECK(t["a"].spent().value().tokens == 15);
}

TEST_CASE("a call is counted once when an abort meets its failure", "[turn][usage][G15]") {
  TreeOptions options;
  options.max_answer_bytes = 4;
  Used t(options);
  Agent agent;
  AgentSpec spec = Used::counted();
  spec.context.count_tokens = [&](std::string_view text) {
    if (text == "two") CHECK(agent.abort().took_effect());  // while the answer that was too long is counted
    return text.size();
  };
  agent = t.root("a", spec);
  t.ask(agent);
  t.llm->delta("a", "two");
  t.llm->delta("a", "more");
  t.settle();
  CHECK(t.end.result->outcome == TurnOutcome::aborted);
  CHECK(t.end.result->usage == Usage{12, 3, 15, 0, 0, false});
  CHECK(agent.spent().value().tokens == 15);
}

TEST_CASE("a call that a stop meets before it is sent costs nothing and reserves nothing",
          "[turn][usage][G15]") {
  Used t;
  Agent agent;
  AgentSpec spec = Used::counted();
  std::size_t counted = 0;
  spec.context.count_tokens = [&](std::string_view text) {
    // The context is counted first, then what is reserved for the call.
    if (text == "question" && ++counted == 2) CHECK(agent.stop().took_effect());
    return text.size();
  };
  agent = t.root("a", spec);
  CHECK(agent.send("question").accepted());
  t.settle();
  REQUIRE(counted == 2);
  CHECK(t.llm->calls() == 0);
  CHECK(t.end.result->outcome == TurnOutcome::stopped);
  CHECK(t.end.result->usage == Usage{});
  CHECK(agent.spent().value().tokens == 0);
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("a call that is cut for lack of memory reports its usage", "[turn][usage][G15]") {
  Used t;
  t.end_inside_the_cut(cancelled_with_usage);
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  const std::string piece(100'000, 'x');
  {
    const FailingAllocation failing(1);
    t.llm->delta("a", piece);
    REQUIRE(failing.failed());
  }
  t.settle();
  CHECK(t.end.result->outcome == TurnOutcome::failed);
  CHECK(t.end.result->error.code == Errc::out_of_memory);
  CHECK(t.end.result->usage == provider_usage);
}

TEST_CASE("a turn that fails before its model call has cost 0 if there are prices", "[turn][usage][G15]") {
  Used t;
  AgentSpec spec{.model = {.prices = {.prompt = 1, .completion = 1}}, .limits = {.budget = {.tokens = 1}}};
  spec.role = AgentRole::user;  // which a used up budget does not stop: the turn fails
  const Agent agent = t.root("a", spec);
  CHECK(agent.send("question").accepted());
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(t.end.result->outcome == TurnOutcome::failed);
  CHECK(t.end.result->cost == 0.0);
}

TEST_CASE("a stop or an abort is no error", "[turn][usage][G10]") {
  for (const Verb verb : {Verb::stop, Verb::abort, Verb::terminate}) {
    Used t;
    t.llm->on_stop = OnStop::post;
    const Agent agent = t.root("a");
    t.ask(agent);
    CHECK(t.close(agent, verb));
    t.settle();
    REQUIRE(t.end.result);
    CHECK(t.end.result->error.code == Errc::none);
    CHECK_FALSE(t.end.result->error.message.empty());
  }
  Used t;  // a call that its client cancelled by itself
  const Agent agent = t.root("a");
  t.ask(agent);
  FakeClient::finish(t.llm->call(0), ChatOutcome::cancelled());
  t.settle();
  CHECK(t.end.result->outcome == TurnOutcome::aborted);
  CHECK(t.end.result->error.code == Errc::none);
}

TEST_CASE("after a turn that was broken off for lack of memory the next message begins",
          "[turn][out_of_memory]") {
#ifdef RACES_WATCHED
  return;  // ThreadSanitizer lets no allocation fail
#endif
  Used t;
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  CHECK(agent.send("next").accepted());
  const std::string piece(100'000, 'x');
  {
    const FailingAllocation failing(1);
    t.llm->delta("a", piece);
    REQUIRE(failing.failed());
  }
  t.settle();
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(t.seen.count("started a 2") == 1);
}

TEST_CASE("a total that a client reports for a cut call is at least the sum of its parts",
          "[turn][usage][G15]") {
  const std::uint64_t reported = GENERATE(as<std::uint64_t>{}, 0, 10, 54, 80);
  Used t;
  t.end_inside_the_cut([reported] {
    return ChatOutcome::cancelled({.prompt_tokens = 50, .total_tokens = reported, .complete = false});
  });
  const Agent agent = t.root("a", Used::counted());
  t.ask(agent);
  t.llm->delta("a", "four");
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.end.result->usage.total_tokens == std::max<std::uint64_t>(reported, 54));
}

TEST_CASE("a turn of an agent with any price has a cost", "[turn][usage][G15]") {
  const Prices prices = GENERATE(Prices{.prompt = 1}, Prices{.completion = 1}, Prices{.cached_prompt = 1},
                                 Prices{.cache_write = 1});
  Used t;
  t.ask(t.root("a", {.model = {.prices = prices}}));
  t.llm->answer("a", "done");
  t.settle();
  REQUIRE(t.end.result);
  CHECK(t.end.result->cost);
}

TEST_CASE("an agent whose handler has returned has no task", "[turn][I1]") {
  Used t;
  std::size_t within = 0, at_end = 9;
  const Agent agent =
      t.root("a", {.handler = [&](const Agent&, const Message&) { within = t.tree->tasks().size(); }});
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded&) { at_end = t.tree->tasks().size(); });
  CHECK(agent.send("go").accepted());
  t.settle();
  CHECK(within == 1);
  CHECK(at_end == 0);
  CHECK(t.tree->tasks().empty());
}
