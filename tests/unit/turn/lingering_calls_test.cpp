// Tools that do not end when their calls were cancelled: the tree waits for them for a time.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Lingering : ToolTurn {
  using ToolTurn::ToolTurn;

  // Asks for so many calls of `held`; the ids are "x", "y", ...
  Agent begin(std::size_t count, AgentSpec spec = {}) {
    const Agent made = agent(std::move(spec));
    ask(made);
    std::vector<ToolCall> calls;
    for (std::size_t i = 0; i < count; ++i)
      calls.push_back({.id = std::string(1, static_cast<char>('x' + i)), .name = "held"});
    call(std::move(calls));
    return made;
  }
};

}  // namespace

TEST_CASE("a cancelled call that does not end is given up while its turn continues",
          "[turn][cancel_call][G5][G9]") {
  Lingering t;
  const Agent agent = t.begin(1);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK(t.tree->tasks().size() == 3);
  t.advance(std::chrono::milliseconds(4900));
  CHECK(t.seen.count("abandoned") == 0);
  t.advance(std::chrono::milliseconds(200));
  CHECK(t.seen.count("abandoned a tool call held") == 1);
  CHECK(t.tree->tasks().size() == 2);
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(t.logged("a cancelled call did not end in time and was given up agent=a kind=tool_call tool=held"));
  t.held.calls.at(0).done(ToolResult::failed("very late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  t.answer("well");
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.seen.count("settled a stopped") == 1);
  CHECK(t.seen.count("settled a stopped abandoned") == 0);  // not in this stop
}

TEST_CASE("a stop waits for a cancelled call for the rest of its grace period",
          "[turn][cancel_call][G4][G5]") {
  Lingering t;
  const Agent agent = t.begin(1);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  t.advance(std::chrono::seconds(4));
  CHECK(agent.stop().took_effect());
  t.llm->cancel_stopped();
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);
  t.advance(std::chrono::milliseconds(1100));
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.index("abandoned a tool call held") < t.seen.index("settled a stopped abandoned"));
}

TEST_CASE("a stop with a short grace period gives up a cancelled call earlier",
          "[turn][cancel_call][G4][G5]") {
  Lingering t;
  const Agent agent = t.begin(1);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK(agent.stop({.grace = std::chrono::seconds(1)}).took_effect());
  t.llm->cancel_stopped();
  t.settle();
  t.advance(std::chrono::milliseconds(1100));
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("settled a stopped abandoned") == 1);
  t.advance(std::chrono::seconds(6));
  CHECK(t.seen.count("abandoned") == 1);
}

TEST_CASE("a deleted agent waits for its cancelled call and takes its entries along",
          "[turn][cancel_call][G4][G13]") {
  Lingering t;
  const Agent agent = t.begin(2);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK(agent.exists());
  t.advance(std::chrono::seconds(6));
  CHECK_FALSE(agent.exists());
  CHECK(t.tree->tasks().empty());
  const Agent next = t.begin(1);  // of the same id, with a call of the same id
  CHECK(next.cancel_call("y").reason == Errc::call_not_found);
  CHECK(agent.cancel_call("x").reason == Errc::agent_not_found);
  CHECK(next.cancel_call("x").took_effect());
}

TEST_CASE("a cancelled call that ends in time lets a stop settle", "[turn][cancel_call][G4]") {
  Lingering t;
  const Agent agent = t.begin(1);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK(agent.stop().took_effect());
  t.llm->cancel_stopped();
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);
  t.held.calls.clear();
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("abandoned") == 0);
}

TEST_CASE("with too many cancelled calls that do not end the oldest is given up at once",
          "[turn][cancel_call][G15]") {
  Lingering t({.max_lingering_calls = 2});
  const Agent agent = t.begin(3, {.limits = {.parallel_tools = 3}});
  REQUIRE(t.held.calls.size() == 3);
  std::vector<std::string> given_up;
  const auto abandoned =
      t.tree->on<Abandoned>([&](const Abandoned& event) { given_up.push_back(event.call_id); });
  for (const char* const id : {"y", "x"}) CHECK(agent.cancel_call(id).took_effect());
  t.settle();
  CHECK(given_up.empty());
  CHECK(agent.cancel_call("z").took_effect());
  t.settle();
  CHECK(given_up == std::vector<std::string>{"x"});  // it began first
  CHECK(t.tree->tasks().size() == 4);
  t.advance(std::chrono::seconds(6));
  CHECK(given_up.size() == 3);
}

TEST_CASE("an interrupt reports the end of its turn before it gives up calls that are too many",
          "[turn][interrupt][G7][G15]") {
  Lingering t({.max_lingering_calls = 1});
  const Agent agent = t.begin(1);
  CHECK(agent.regenerate());  // the call lingers
  t.settle();
  REQUIRE(t.llm->open_calls().size() == 1);
  std::vector<std::string> order;
  const auto ended = t.tree->on<TurnEnded>([&](const TurnEnded&) { order.push_back("end"); });
  const auto late = t.tree->on<Discarded>([&](const Discarded&) { order.push_back("discarded"); });
  const auto abandoned = t.tree->on<Abandoned>([&](const Abandoned& event) {
    order.push_back("abandoned " + event.call_id);
    FakeClient::finish(*t.llm->open_calls().at(0), ChatOutcome::failed({Errc::network_error, "late"}));
  });
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(order == std::vector<std::string>{"end", "abandoned x", "discarded"});
}
