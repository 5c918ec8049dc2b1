// A tree of agents that call each other as tools, as the stand-in server sees it.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"
#include "support/checked.hpp"

#include <agentcore/agent_tool.hpp>
#include <agentcore/testing/references.hpp>

#include <map>
#include <memory>
#include <string>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

std::string call(const std::string& tool, const std::string& message) {
  return "/call " + tool + " " + json{{"message", message}}.dump() + "\n";
}

// The root "a" has the tools `middle`, done by the agent "middle", and `work`; the middle one has `leaf`.
struct ThreeDeep : TurnFixture {
  explicit ThreeDeep(std::uint64_t tokens) : TurnFixture(tokens) {
    auto below = std::make_shared<ToolRegistry>();
    below->add(make_agent_tool({.tool = {.name = "leaf"}}));
    AgentToolOptions middle{.tool = {.name = "middle"}};
    middle.agent = {.id = "middle", .tools = below, .limits = {.parallel_tools = 2}};
    tools->add(make_agent_tool(std::move(middle)));
    tools->add(make_agent_tool({.tool = {.name = "work"}}));
  }
  // The leaves have no script.
  Agent begin() {
    return ask(
        call("middle", call("leaf", "one") + call("leaf", "two") + "/then\n/say middle") +
            call("work", "/say quick") + "/then\n/say root",
        {.limits = {
             .parallel_tools = 2, .budget = {.tokens = 1'000'000}, .subtree_budget = {.tokens = 1'000'000}}});
  }

  std::map<std::string, std::uint64_t> used;  // tokens by agent
  std::uint64_t total = 0;
  CheckedPointer<std::shared_ptr<const TurnResult>> of_root;
  Subscription usage = tree.on<TurnEnded>([this](const TurnEnded& ended) {
    used[ended.agent.id()] += ended.result->usage.total_tokens;
    total += ended.result->usage.total_tokens;
    if (ended.agent.id() == "a") of_root = ended.result;
  });
};

}  // namespace

TEST_CASE("the answers of agents three deep come up to the root and their tokens count once",
          "[openai][tools][agent_tool][integration][budget][G15]") {
  ThreeDeep f(5);
  const Agent root = f.begin();
  REQUIRE(f.drive_to_end());
  CHECK(f.of_root->text == "root");
  REQUIRE(f.of_root->calls.size() == 2);
  CHECK(f.of_root->calls[0].message == "middle");
  CHECK(f.of_root->calls[1].message == "quick");
  CHECK(f.requests() == 7);
  CHECK(f.total > f.used["a"]);
  CHECK(root.spent().value().tokens == f.used["a"]);
  CHECK(root.spent(Scope::subtree).value().tokens == f.total);
  CHECK(f.tree.size() == 2);
  CHECK(open_transfers(f.runtime) == 0);
}

TEST_CASE("a person stops the agent in the middle and the root reads the truth and nothing is left",
          "[openai][tools][agent_tool][stop][integration][G1][G5][G6][G9]") {
  ThreeDeep f(0);
  const Agent root = f.begin();
  REQUIRE(f.drive_until([&] { return f.server->stats().open == 2 && f.server->stats().completed == 3; }));
  const Agent middle = f.tree.find("middle").value();
  bool is_root_stopped = false;
  SECTION("a stop of the middle") {
    CHECK(middle.stop({.reason = "enough"}).took_effect());
  }
  SECTION("a stop of the root") {
    CHECK(root.stop().took_effect());
    is_root_stopped = true;
  }
  // The loop does not run: the stopping thread itself cut the wires of the leaves.
  REQUIRE(
      f.server_saw([](const standin::Stats& stats) { return stats.client_closed == 2 && stats.open == 0; }));
  REQUIRE(f.drive_to_end());
  REQUIRE(f.of_root->calls.size() == 2);
  CHECK(f.of_root->outcome == (is_root_stopped ? TurnOutcome::stopped : TurnOutcome::completed));
  CHECK(f.of_root->calls[0].outcome == (is_root_stopped ? ToolOutcome::interrupted : ToolOutcome::completed));
  if (!is_root_stopped) {
    CHECK(f.of_root->calls[0].message == "the agent was stopped, and did not finish");
    CHECK(f.of_root->text == "root");
  }
  CHECK(f.of_root->calls[1].message == "quick");
  CHECK(is_valid_history(root.conversation().value()));
  CHECK(f.requests() == (is_root_stopped ? 5U : 6U));
  CHECK(f.tree.size() == 2);  // the children of single calls are deleted
  CHECK(agentcore::testing::count_references(f.tree, "-") == 0);
  CHECK(open_transfers(f.runtime) == 0);
}
