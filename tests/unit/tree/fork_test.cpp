// Fork: a sibling with a copy of the conversation.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>

#include <string>
#include <string_view>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void take_turn(TreeFixture& t, const Agent& agent, std::string question, std::string_view answer) {
  t.ask(agent, std::move(question));
  t.llm->answer(agent.id(), answer);
  t.settle();
}

std::string history(const Agent& agent) {
  return written(agent.conversation().value());
}

Errc problem_of(const Result<Agent>& forked) {
  return forked ? Errc::none : forked.error().code;
}

}  // namespace

TEST_CASE("a fork has the conversation up to the end of a turn, and goes on by itself", "[tree][fork][G8]") {
  TreeFixture t;
  AgentSpec spec;
  spec.system_prompt = "Be brief.";
  const Agent agent = t.root("a", std::move(spec));
  take_turn(t, agent, "one", "1");
  take_turn(t, agent, "two", "2");
  t.ask(agent, "three");
  const std::string before = history(agent);
  const Agent last = agent.fork({.id = "last"}).value();
  CHECK(history(last) == "system:Be brief., user:one, assistant:1, user:two, assistant:2");
  const Agent first = agent.fork({.id = "first", .at = 1}).value();
  CHECK(history(first) == "system:Be brief., user:one, assistant:1");
  CHECK(first.state().value() == AgentState::idle);
  CHECK(history(agent) == before);
  CHECK(t.state("a") == AgentState::waiting_llm);
  take_turn(t, first, "else", "x");
  CHECK(history(first) == "system:Be brief., user:one, assistant:1, user:else, assistant:x");
  CHECK(t.seen.count("started first 2") == 1);
  CHECK(history(agent) == before);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("a fork is a child of the same parent and has the spec as it is now", "[tree][fork]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  AgentSpec spec;
  spec.model.name = "small";
  spec.model.temperature = 0.5;
  spec.limits.lease = std::chrono::seconds(10);
  const Agent agent = t.child(parent, "a", std::move(spec));
  CHECK(agent.set_model("large"));
  const Agent forked = agent.fork().value();
  CHECK(forked.parent().value() == parent);
  CHECK(forked.id().starts_with("@"));
  CHECK(history(forked).empty());
  t.ask(forked);
  CHECK(t.llm->call(0).request.model == "large");
  CHECK(t.llm->call(0).request.temperature == 0.5);
  CHECK(forked.renew().reason == Errc::no_lease);
  const Agent root = parent.fork({.id = "root"}).value();
  CHECK_FALSE(root.parent());
}

TEST_CASE("a fork has nothing that runs or waits", "[tree][fork]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.send("waits"));
  CHECK(agent.pause().took_effect());
  t.settle();
  const Agent forked = agent.fork({.id = "b"}).value();
  CHECK(forked.queue_length().value() == 0);
  CHECK_FALSE(forked.status().value().paused);
  CHECK(forked.spent().value().tokens == 0);
}

TEST_CASE("a fork sends what its origin would send", "[tree][fork][context]") {
  TreeFixture t;
  AgentSpec spec;
  spec.context.max_tokens = 60;
  spec.context.target_tokens = 40;
  spec.context.min_conversation_tokens = 0;
  const Agent agent = t.root("a", std::move(spec));
  for (int i = 1; i <= 4; ++i) take_turn(t, agent, "question " + std::to_string(i), "a longer answer");
  const Agent forked = agent.fork({.id = "b"}).value();
  CHECK(written(forked.context().value()) == written(agent.context().value()));
  CHECK(written(forked.context().value()) != history(forked));
}

TEST_CASE("the ids of tool calls stay the same in a fork, and new ones are unique", "[tree][fork][G8]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({add_call("", 1, 2)});
  t.answer("3");
  const Agent forked = agent.fork({.id = "b"}).value();
  CHECK(history(forked) == t.history());
  t.ask(forked);
  t.llm->call_tools("b", {add_call("", 1, 2)});
  t.settle();
  t.llm->answer("b", "3");
  t.settle();
  CHECK(t.llm->histories_were_valid());
  CHECK(history(forked).find("call_2_1") != std::string::npos);
}

TEST_CASE("a fork is refused with the reason", "[tree][fork][G12]") {
  TreeOptions options;
  options.max_agents = 3;
  TreeFixture t(options);
  const Agent parent = t.root("parent"), agent = t.child(parent, "a");
  t.ask(agent);
  CHECK(problem_of(Agent().fork()) == Errc::agent_not_found);
  CHECK(problem_of(agent.fork({.at = 1})) == Errc::turn_not_found);  // in progress
  CHECK(problem_of(agent.fork({.at = 7})) == Errc::turn_not_found);
  CHECK(problem_of(agent.fork({.id = "a"})) == Errc::agent_exists);
  CHECK(problem_of(agent.fork({.id = "@"})) == Errc::invalid_agent_id);
  CHECK(agent.stop().took_effect());
  CHECK(problem_of(agent.fork({.id = "of a stopped agent"})) == Errc::none);
  CHECK(problem_of(agent.fork({.id = "too many"})) == Errc::agent_limit);
  CHECK(t["of a stopped agent"].terminate().took_effect());
  t.settle();
  CHECK(parent.stop().took_effect());
  CHECK(problem_of(agent.fork()) == Errc::agent_stopping);
  CHECK(agent.terminate().took_effect());
  CHECK(problem_of(agent.fork()) == Errc::agent_terminating);
  t.settle();
  CHECK(problem_of(agent.fork()) == Errc::agent_not_found);
}
