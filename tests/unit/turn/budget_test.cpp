// Budgets: what is reserved, settled and refused, and how an agent is stopped by one.
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;

namespace {

std::size_t bytes(std::string_view text) {
  return text.size();
}

// One token for each byte, so that "question" has 8.
AgentSpec limited(Budget own, Budget subtree = {}) {
  AgentSpec spec;
  spec.context.count_tokens = bytes;
  spec.limits.budget = own;
  spec.limits.subtree_budget = subtree;
  return spec;
}

struct Spending : ToolTurn {
  std::vector<std::string> stops;  // "a stopping budget", "a settled budget"
  Subscription states, events;

  Spending() {
    states = tree->on<StateChanged>([this](const StateChanged& change) {
      if (change.to == AgentState::stopping) note(change.agent, "stopping", change.cause);
    });
    events = tree->on_event([this](const Event& event) {
      if (const auto* settled = event.get<Settled>()) note(settled->agent, "settled", settled->cause);
    });
  }
  void note(const Agent& who, const char* what, StopCause cause) {
    stops.push_back(who.id() + " " + what + " " + std::string(to_string(cause)));
  }
  void complete(std::string_view id, Usage usage, std::string_view text = {}) {
    FakeClient::Call* const call = llm->find(id);
    REQUIRE(call);
    call->sink.delta(text);
    FakeClient::finish(*call, ChatOutcome::completed(FinishReason::complete, usage));
    settle();
  }
  // Sends, and expects that the budget does not allow it.
  void refuse(std::string_view id) {
    const std::size_t calls = llm->calls();
    REQUIRE(tree->find(id)->send("question").accepted());
    settle();
    CHECK(llm->calls() == calls);
    CHECK(state(id) == AgentState::stopped);
  }
  std::optional<std::uint32_t> asked_for() { return llm->call(llm->calls() - 1).request.max_tokens; }
};

}  // namespace

TEST_CASE("an agent runs as many turns as it was granted", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.turns = 2}));
  for (int i = 0; i < 2; ++i) {
    t.ask(agent);
    CHECK_FALSE(t.asked_for());  // turns do not limit an answer
    t.complete("a", {});
  }
  CHECK(agent.spent().value().turns == 2);
  CHECK(t.state("a") == AgentState::idle);
  t.refuse("a");
  CHECK(t.stops == std::vector<std::string>{"a stopping budget", "a settled budget"});
  CHECK(t.seen.count("ended a 3 stopped") == 1);
  CHECK(t.logged("a budget is used up agent=a reason=turns: 2 of 2 used"));
  CHECK(written(agent.conversation().value()).ends_with("user:question!stopped"));
}

TEST_CASE("a budget of zero permits nothing", "[turn][budget][G15]") {
  Spending s;
  const Budget nothing = GENERATE(Budget{.turns = 0}, Budget{.tokens = 0});
  SECTION("to the agent") {
    s.agent(limited(nothing));
  }
  SECTION("to its subtree") {
    s.agent(limited({}, nothing));
  }
  s.refuse("a");
}

TEST_CASE("a cost of zero permits calls that are free", "[turn][budget][G15]") {
  Spending s;
  AgentSpec spec = limited({.cost = 0});
  SECTION("without prices") {
    s.agent(std::move(spec));
    REQUIRE(s.tree->find("a")->send("question").accepted());
    s.settle();
    s.complete("a", {.prompt_tokens = 8, .completion_tokens = 2});
    CHECK(s.state("a") == AgentState::idle);
  }
  SECTION("with prices") {
    spec.model.prices = {.prompt = 1};
    s.agent(std::move(spec));
    s.refuse("a");
  }
}

TEST_CASE("a resume without a new grant stops again and after a grant the agent continues",
          "[turn][budget][G15][X4]") {
  Spending t;
  const Agent agent = t.root("a", limited({.turns = 1}));
  t.ask(agent);
  t.complete("a", {});
  t.refuse("a");
  CHECK(agent.resume().took_effect());
  t.refuse("a");
  CHECK(t.stops.size() == 4);
  CHECK(agent.resume().took_effect());
  CHECK(agent.grant({.turns = 1}));
  CHECK(agent.spent().value().turns == 0);
  t.ask(agent);
  t.complete("a", {});
  t.refuse("a");
  CHECK_FALSE(Agent{}.grant({.turns = 1}));
}

TEST_CASE("tokens are reserved before a call and settled after it and limit the answer",
          "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 100}));
  t.ask(agent);
  CHECK(t.asked_for() == 88U);
  CHECK(agent.spent().value().tokens_reserved == 100);
  CHECK(agent.spent().value().tokens == 0);
  t.complete("a", {8, 52, 60});
  CHECK(agent.spent().value().tokens_reserved == 0);
  CHECK(agent.spent().value().tokens == 60);
  t.ask(agent);  // 28 by now: the answer counts, too
  CHECK(t.asked_for() == 12U);
  t.complete("a", {16, 24, 40});
  CHECK(agent.spent().value().tokens == 100);
  CHECK(t.state("a") == AgentState::idle);  // not more than granted
  t.refuse("a");
  CHECK(t.logged("too little is left for the next model call"));
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("an answer is also limited by the spec of its agent", "[turn][budget][G15]") {
  Spending t;
  AgentSpec spec = limited({.tokens = 100'000});
  const Agent usual = t.root("u", spec);
  t.ask(usual);
  CHECK_FALSE(t.asked_for());
  CHECK(usual.spent().value().tokens_reserved == 12 + 4096);
  spec.model.max_tokens = 40;
  const Agent brief = t.root("b", spec);
  t.ask(brief);
  CHECK(t.asked_for() == 40U);
  CHECK(brief.spent().value().tokens_reserved == 52);
}

TEST_CASE("an agent that used more than granted is stopped and its answer is kept", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 100}));
  t.ask(agent);
  t.complete("a", {100, 100, 200}, "long");
  CHECK(t.seen.count("ended a 1 completed") == 1);
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(written(agent.conversation().value()) == "user:question, assistant:long");
  CHECK(t.logged("tokens: 200 of 100 used"));
}

TEST_CASE("the agent whose budget a call has exceeded is stopped however the turn has ended",
          "[turn][budget][G15]") {
  Spending t;
  const Agent parent = t.root("p", limited({}, {.tokens = 100}));
  Subscription ends;
  SECTION("by the failure of the call") {
    t.ask(t.child(parent, "a", limited({})));
    FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({Errc::network_error, "cut"}, {100, 100, 200}));
    t.settle();
  }
  SECTION("and an observer of that end has stopped the agent") {
    const Agent agent = t.child(parent, "a", limited({}));
    ends = t.tree->on<TurnEnded>([&](const TurnEnded&) { CHECK(agent.stop().took_effect()); });
    t.ask(agent);
    t.complete("a", {100, 100, 200});
  }
  SECTION("and the agent has exceeded its own budget, too") {
    t.ask(t.child(parent, "a", limited({.tokens = 50})));
    t.complete("a", {100, 100, 200});
  }
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.state("p") == AgentState::stopped);
  CHECK(t.logged("a budget is used up agent=p reason=tokens: 200 of 100 used"));
}

#ifndef RACES_WATCHED
TEST_CASE("the agent whose budget a call has exceeded is stopped without memory for the reason",
          "[turn][budget][memory][G15]") {
  // The tenth is of the stop itself, which may be refused without memory.
  for (std::size_t n = 1; n <= 9; ++n) {
    CAPTURE(n);
    Spending t;
    const Agent parent = t.root("p", limited({}, {.tokens = 100}));
    t.ask(t.child(parent, "a", limited({})));
    std::optional<FailingAllocation> failing;
    const auto idle = t.tree->on<StateChanged>([&](const StateChanged& change) {
      if (change.to == AgentState::idle) failing.emplace(n);
    });
    t.complete("a", {100, 100, 200});
    failing.reset();
    CHECK(t.state("p") == AgentState::stopped);
  }
}
#endif

TEST_CASE("no tool of an answer that exceeded the budget starts", "[turn][budget][G15][G9]") {
  Spending t;
  t.ask(t.agent({.limits = {.budget = {.tokens = 10'000}}}));
  FakeClient::Call* const call = t.llm->find("a");
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10'000, 1, 10'001});
  outcome.tool_calls = {{.id = "x", .name = "held"}};
  FakeClient::finish(*call, std::move(outcome));
  t.settle();
  CHECK(t.held.calls.empty());
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.history() ==
        "user:question!stopped, assistant:[held x], tool:x=not started: its turn ended before it began");
}

TEST_CASE("every model call of a turn draws on the budget", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.agent({.limits = {.budget = {.tokens = 10'000}}});
  t.ask(agent);
  t.call({add_call("x", 1, 2)});
  t.call({add_call("y", 1, 2)});
  CHECK(agent.spent().value().tokens == 30);
  CHECK(agent.spent().value().tokens_reserved > 4096);
  CHECK(agent.spent().value().turns == 1);
}

TEST_CASE("a turn that is stopped before its model call reports a cost of 0", "[turn][budget]") {
  Spending t;
  AgentSpec spec = limited({.cost = 20});
  spec.model.prices = {.prompt = 1e6, .completion = 2e6};
  const Agent agent = t.root("a", spec);
  std::optional<TurnEnded> end;
  const Subscription stop = t.tree->on_event([&](const Event& event) {
    if (event.get<TurnStarted>()) CHECK(agent.stop().took_effect());
    if (const auto* ended = event.get<TurnEnded>()) end = *ended;
  });
  CHECK(t.tree->find("a")->send("question").accepted());
  t.settle();
  REQUIRE(end);
  CHECK(t.llm->calls() == 0);
  CHECK(end->result->outcome == TurnOutcome::stopped);
  CHECK(end->result->cost == 0.0);
  CHECK(end->result->usage == Usage{});
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("cost is counted by the prices of the agent's model", "[turn][budget][G15]") {
  Spending t;
  AgentSpec spec = limited({.cost = 20});
  spec.model.prices = {.prompt = 1e6, .completion = 2e6};
  const Agent agent = t.root("a", spec);
  t.ask(agent);
  CHECK(t.asked_for() == 4U);  // 20 - 12, at 2 each
  t.complete("a", {8, 3, 11});
  CHECK(std::abs(agent.spent().value().cost - 14.0) < 1e-6);
  t.refuse("a");
  CHECK(agent.resume().took_effect());
  CHECK(agent.grant({.cost = 100}));
  t.ask(agent);
  t.complete("a", {24, 40, 64});
  CHECK(std::abs(agent.spent().value().cost - 104.0) < 1e-6);
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.logged("cost: the limit is exceeded"));
}

TEST_CASE("the time limit of a budget ends all running operations", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.wall_clock = std::chrono::seconds(10)}));
  t.ask(agent);
  t.advance(std::chrono::seconds(9));
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.advance(std::chrono::seconds(2));
  CHECK(t.llm->call(0).stop.stop_requested());
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.stops == std::vector<std::string>{"a stopping budget", "a settled budget"});
  CHECK(t.logged("reason=wall clock: the time limit has passed"));
  CHECK(agent.resume().took_effect());
  t.refuse("a");
  CHECK(agent.resume().took_effect());
  CHECK(agent.grant({.wall_clock = std::chrono::seconds(10)}));
  t.ask(agent);
  CHECK(agent.grant({.wall_clock = std::chrono::seconds(100)}));  // in the place of the other
  t.advance(std::chrono::seconds(50));
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(agent.terminate().took_effect());
  t.settle();
  t.advance(std::chrono::seconds(100));
  CHECK(t.seen.count("deleted a") == 1);
}

TEST_CASE("the time limit of a subtree ends all running operations below", "[turn][budget][G15]") {
  Spending t;
  const Agent parent = t.root("p", limited({}, {.wall_clock = std::chrono::seconds(10)}));
  t.ask(t.child(parent, "c"));
  t.advance(std::chrono::seconds(11));
  CHECK(t.state("c") == AgentState::stopped);
  CHECK(t.state("p") == AgentState::stopped);
  CHECK(parent.resume().took_effect());
  t.refuse("p");  // the time is over until another grant
}

TEST_CASE("a child uses the subtree budgets of its ancestors but not their own budgets",
          "[turn][budget][G15]") {
  Spending t;
  const Agent root = t.root("r", limited({}, {.tokens = 1000}));
  const Agent parent = t.child(root, "p", limited({.tokens = 10}, {.turns = 2}));
  const Agent child = t.child(parent, "c", limited({.tokens = 500}));
  t.ask(child);
  CHECK(t.asked_for() == 488U);
  CHECK(root.spent(Scope::subtree).value().tokens_reserved == 500);
  t.complete("c", {8, 12, 20});
  CHECK(child.spent().value().tokens == 20);
  CHECK(root.spent(Scope::subtree).value().tokens == 20);
  CHECK(parent.spent().value().tokens == 0);
  CHECK(parent.spent(Scope::subtree).value().turns == 1);
  t.ask(child);
  t.complete("c", {8, 12, 20});
  CHECK(child.send("question").accepted());
  t.settle();
  CHECK(t.state("c") == AgentState::stopped);
  CHECK(t.state("p") == AgentState::stopped);  // whose budget it is
  CHECK(t.state("r") == AgentState::idle);
  CHECK(t.seen.count("started c 3") == 1);
}

TEST_CASE("two siblings cannot reserve the same tokens", "[turn][budget][G15]") {
  Spending t;
  const Agent parent = t.root("p", limited({}, {.tokens = 100}));
  AgentSpec spec = limited({});
  spec.model.max_tokens = 40;
  const Agent one = t.child(parent, "1", spec);
  const Agent two = t.child(parent, "2", spec);
  t.ask(one);
  t.ask(two);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 100);
  t.complete("1", {8, 2, 10});
  CHECK(parent.spent(Scope::subtree).value().tokens == 10);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 48);
  const Agent three = t.child(parent, "3", spec);
  t.ask(three);  // the rest is free again
  CHECK(t.asked_for() == 30U);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 90);
  const Agent four = t.child(parent, "4", spec);
  CHECK(four.send("question").accepted());
  t.settle();
  // What is left is only reserved: no reason to stop everybody.
  CHECK(t.seen.count("ended 4 1 failed") == 1);
  CHECK(t.error.code == Errc::budget_exceeded);
  CHECK(t.error.retryable);
  CHECK(t.state("p") == AgentState::idle);
  CHECK(t.state("2") == AgentState::waiting_llm);
  CHECK(t.llm->calls() == 3);
  t.complete("2", {90, 10, 100});  // and now it is spent
  t.settle();
  CHECK(t.state("p") == AgentState::stopped);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 0);
}

TEST_CASE("without usage from the provider the tokens are estimated", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 1000}));
  t.ask(agent);
  t.complete("a", {}, "four");
  CHECK(agent.spent().value().tokens == 16);
  t.ask(agent);
  t.complete("a", {3, 4, 0}, "four");  // no sum
  CHECK(agent.spent().value().tokens == 23);
}

TEST_CASE("tool calls count against the budget", "[turn][budget][G15]") {
  Spending t;
  AgentSpec spec = limited({.tokens = 100'000});
  const Agent agent = t.agent(spec);
  t.ask(agent);
  const std::uint64_t prompt = agent.spent().value().tokens_reserved - 4096;
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
  outcome.tool_calls = {{.id = "x", .name = "held", .arguments = R"({"a":1})"}};
  FakeClient::finish(*t.llm->find("a"), std::move(outcome));
  t.settle();
  CHECK(agent.spent().value().tokens == prompt + 4 + 7);
}

TEST_CASE("aborted and stopped calls count the tokens that they used", "[turn][budget][G15][A19]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 1000}));
  t.ask(agent);
  t.llm->delta("a", "abc");
  CHECK(agent.abort().took_effect());
  t.settle();
  CHECK(agent.spent().value().tokens == 15);
  CHECK(agent.spent().value().tokens_reserved == 0);
  t.ask(agent);
  t.llm->delta("a", "abcd");
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(agent.spent().value().tokens == 15 + 24 + 4);
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("a call that failed frees what was reserved", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 1000}));
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({Errc::network_error, "cut"}, {5, 1, 6}));
  t.settle();
  CHECK(agent.spent().value().tokens == 6);
  CHECK(agent.spent().value().tokens_reserved == 0);
  t.ask(agent);
  t.llm->fail("a");
  CHECK(agent.spent().value().tokens == 6);
  CHECK(agent.spent().value().tokens_reserved == 0);
}

TEST_CASE("limits that are lifted while a call is open leave nothing reserved", "[turn][budget][G15]") {
  Spending t;
  const Agent agent = t.root("a", limited({.tokens = 100}));
  t.ask(agent);
  CHECK(agent.grant({}));
  t.complete("a", {8, 2, 10});
  CHECK(agent.spent().value().tokens_reserved == 0);
  CHECK(agent.grant({.tokens = 100}));
  t.ask(agent);
}

TEST_CASE("what was reserved before a grant does not free what is reserved after it", "[turn][budget][G15]") {
  Spending t;
  const Agent parent = t.root("p");
  AgentSpec spec = limited({.tokens = 1000});
  spec.model.max_tokens = 40;
  const Agent one = t.child(parent, "1", spec);
  const Agent two = t.child(parent, "2", spec);
  t.ask(one);
  CHECK(parent.grant({.tokens = 100}, Scope::subtree));
  t.ask(two);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 52);
  t.complete("1", {8, 2, 10});
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 52);
  t.complete("2", {8, 2, 10});
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 0);
}

TEST_CASE("a token counter that throws is replaced by the estimate", "[turn][budget][G15][G16]") {
  Spending t;
  AgentSpec spec = limited({.tokens = 10'000});
  spec.context.count_tokens = [](std::string_view) -> std::size_t { throw std::runtime_error("no idea"); };
  const Agent agent = t.root("a", spec);
  t.ask(agent);
  CHECK(agent.spent().value().tokens_reserved == 8 + 4096);  // by our own estimate
  t.llm->answer("a", "answer");
  t.settle();
  CHECK(t.seen.count("ended a 1 completed") == 1);
  CHECK(agent.spent().value().tokens == 8 + 3);
  CHECK(t.logged("no idea"));
}

TEST_CASE("a token counter may stop its agent and destroy the tree", "[turn][budget][G1]") {
  for (const bool whole_tree : {false, true}) {
    Spending t;
    t.check_at_end = !whole_tree;
    bool armed = true;
    AgentSpec spec = limited({.tokens = 10'000});
    Agent agent;
    spec.context.count_tokens = [&](std::string_view text) {
      if (std::exchange(armed, false)) {
        if (whole_tree)
          t.tree.reset();
        else
          CHECK(agent.stop().took_effect());
      }
      return text.size();
    };
    agent = t.root("a", spec);
    CHECK(agent.send("question").accepted());
    t.settle();
    CHECK(t.llm->calls() == 0);
    CHECK((whole_tree || t.state("a") == AgentState::stopped));
  }
}

TEST_CASE("a used-up budget fails the turn of a user agent instead of stopping it", "[turn][budget][G15]") {
  Spending t;
  AgentSpec spec = limited({.turns = 1});
  spec.role = AgentRole::user;
  const Agent person = t.root("a", spec);
  t.ask(person);
  t.complete("a", {});
  for (int i = 0; i < 2; ++i) {
    CHECK(person.send("question").accepted());
    t.settle();
    CHECK(t.state("a") == AgentState::idle);
    CHECK(t.error.code == Errc::budget_exceeded);
    CHECK(t.error.message == "turns: 1 of 1 used");
  }
  CHECK(t.seen.count("ended a 3 failed") == 1);
  CHECK(person.grant({.tokens = 10}));
  CHECK(person.send("question").accepted());  // the history is too long for it
  t.settle();
  CHECK(t.error.code == Errc::budget_exceeded);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.llm->calls() == 1);
  CHECK(person.grant({}));
  t.ask(person);
}

TEST_CASE("a used-up subtree budget of a user agent fails the turns below it", "[turn][budget][G15]") {
  Spending t;
  const Agent person =
      t.root("p", {.role = AgentRole::user, .limits = {.subtree_budget = {.tokens = 10'000}}});
  const Agent child = t.child(person, "a", {.tools = t.tools});
  t.ask(child);
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls, {10'000, 1, 10'001});
  outcome.tool_calls = {{.id = "x", .name = "held"}};
  FakeClient::finish(*t.llm->find("a"), std::move(outcome));
  t.settle();
  CHECK(t.held.calls.empty());
  CHECK(t.error.code == Errc::budget_exceeded);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.state("p") == AgentState::idle);
}

TEST_CASE("an invalid budget is refused", "[turn][budget][G15]") {
  Spending t;
  const double no_number = std::nan("");
  for (const AgentSpec& spec :
       {AgentSpec{.limits = {.budget = {.cost = -1}}}, AgentSpec{.limits = {.budget = {.cost = no_number}}},
        AgentSpec{.limits = {.subtree_budget = {.wall_clock = Duration(-1)}}},
        AgentSpec{.model = {.prices = {.prompt = -1}}},
        AgentSpec{.model = {.prices = {.completion = no_number}}}}) {
    const Result<Agent> made = t.tree->create(spec);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == Errc::invalid_config);
  }
}

TEST_CASE("an agent with only prices in its spec is charged", "[turn][budget][G15]") {
  Spending t;
  const Agent parent = t.root("p", limited({}, {.cost = 1000}));
  const Agent child = t.child(parent, "c", {.model = {.prices = {.prompt = 1e6, .completion = 1e6}}});
  t.ask(child);
  t.complete("c", {8, 2, 10});
  CHECK(std::abs(parent.spent(Scope::subtree).value().cost - 10) < 1e-6);
}

// More agents than the stopping thread itself cuts.
TEST_CASE_METHOD(Spending, "a stop cuts each connection before it counts the usage", "[turn][budget][G6]") {
  constexpr std::size_t count = 30;
  std::size_t counted = 0, cut = 0;
  AgentSpec spec = limited({.tokens = 10'000});
  spec.context.count_tokens = [&](std::string_view text) {
    if (text.starts_with("partial ")) {
      ++counted;
      cut += llm->call(std::stoul(std::string(text.substr(8)))).stop.stop_requested();
    }
    return text.size();
  };
  const Agent parent = root("parent");
  for (std::size_t i = 0; i < count; ++i) {
    spec.id = "agent " + std::to_string(i);
    REQUIRE(parent.create_child(spec)->send("question").accepted());
    settle();
    llm->delta(spec.id, "partial " + std::to_string(i));
  }
  REQUIRE(parent.stop().took_effect());
  settle();
  CHECK(counted == count);
  CHECK(cut == count);
  for (std::size_t i = 0; i < count; ++i) {
    const Agent agent = (*this)["agent " + std::to_string(i)];
    CHECK(agent.spent().value().tokens_reserved == 0);
    CHECK(agent.spent().value().tokens > 9);
  }
}

TEST_CASE("a call that is withheld after its reservation has none while it waits",
          "[turn][budget][pause][G15]") {
  Spending t;
  Agent agent;
  bool armed = true;
  AgentSpec spec = limited({.tokens = 1000});
  spec.model.max_tokens = 100;
  spec.context.count_tokens = [&](std::string_view text) {
    if (std::exchange(armed, false)) CHECK(agent.pause().took_effect());
    return text.size();
  };
  agent = t.root("a", spec);
  CHECK(agent.send("question").accepted());
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(agent.spent().value().tokens_reserved == 0);
  CHECK(agent.unpause().took_effect());
  t.settle();
  REQUIRE(t.llm->calls() == 1);
  CHECK(agent.spent().value().tokens_reserved == 112);
  t.complete("a", {8, 2, 10});
  CHECK(agent.spent().value().tokens_reserved == 0);
  CHECK(agent.spent().value().tokens == 10);
}
