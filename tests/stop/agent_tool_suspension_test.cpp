// Every verb at every suspension point of turns whose calls are done by agents: two steps, parallel calls, a
// child with a name that serves two of them, and a call of a child.
#include "support/drive/suspension_story.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tool.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

class AgentToolStory final : public SuspensionStory {
 public:
  AgentToolStory(std::size_t inject_at, Injections verbs) : SuspensionStory(inject_at, verbs) {
    auto below = std::make_shared<ToolRegistry>();
    below->add(make_agent_tool({.tool = {.name = "work"}}));
    AgentToolOptions work{.tool = {.name = "work"}};
    work.agent.tools = below;
    work.write_message = [this](const nlohmann::json&) {
      point();
      return std::string("work");
    };
    tools_->add(make_agent_tool(std::move(work)));
    tools_->add(make_agent_tool({.tool = {.name = "named"}, .agent = {.id = "child"}}));
  }

 private:
  void tell() override {
    AgentSpec spec;
    spec.tools = tools_;
    spec.limits.parallel_tools = 4;
    spec.limits.turn_timeout = time_of_a_turn;
    create_parent(std::move(spec));
    turn_to_its_end();
    stop_and_delete();
  }

  void on_event(const Event& event) override {
    if (event.get<AgentCreated>() && event.agent().id() == "child") child_ = event.agent();
  }
  bool is_withheld(const Agent& agent) const override { return agent == parent_; }

  void poll_on() {
    for (int i = 0; i < 3; ++i) poll();
  }
  void ask(std::string_view text) {
    send(parent_, text);
    poll_on();
  }
  // The oldest open call delivers a word and asks for these tools; none: it answers in words.
  void answer(const std::vector<std::string>& tools = {}) {
    FakeClient::Call* const call = oldest_call();
    if (!call) return;
    deliver(*call, "word ");
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, {3, 2, 5});
    for (const std::string& tool : tools)
      outcome.tool_calls.push_back({{}, tool, R"({"message":"do it"})", {}});
    end(*call, std::move(outcome));
    poll_on();
  }

  void turn_to_its_end() {
    ask("first");
    answer({"work", "named", "named", "work"});
    answer();          // of the first child
    answer();          // of the named one, to the first call
    answer({"work"});  // of the other child, which calls one below
    answer();          // of the named one, to the second call
    answer();          // of the one below
    answer();          // of the other child
    answer({"named"});
    answer();
    answer();
  }

  void stop_and_delete() {
    ask("second");
    answer({"work", "named", "named"});
    stop_parent();
    poll_on();
    client_.cancel_stopped();
    point();
    poll_on();
    resume_parent();
    poll_on();
    ask("third");
    answer({"work", "named", "work"});
    answer({"work"});
    terminate_parent();
    poll_on();
  }

  std::shared_ptr<ToolRegistry> tools_ = std::make_shared<ToolRegistry>();
};

// As counted when the story was last changed. If there are fewer, a suspension point is no longer tested.
constexpr std::size_t recorded_points = 378;

}  // namespace

TEST_CASE("each verb at some suspension points of a turn with agents as tools",
          "[stop][tools][agent_tool][G1][G4][G7][G8][G9][G10][G13]") {
  AgentToolStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  const std::size_t points = dry.points();
  INFO(points << " points");
  CHECK(points >= recorded_points);
  CHECK(dry.audit().calls_started == 13);
  // A run has many agents: the test below has all points.
#if defined(RACES_WATCHED)
  constexpr std::size_t step = 60;
#elif defined(SANITIZED)
  constexpr std::size_t step = 30;
#else
  constexpr std::size_t step = 15;
#endif
  CHECK(failures_of<AgentToolStory>(every_verb, points, step) == 0);
}

TEST_CASE("pairs of verbs at suspension points of a turn with agents as tools",
          "[stop][tools][agent_tool][G1][G4][G7][G8][G10]") {
  AgentToolStory dry(0, Injection::none);
  CHECK(dry.run() == "");
#ifdef SANITIZED
  constexpr std::size_t step = 2800;
#else
  constexpr std::size_t step = 720;
#endif
  CHECK(failures_of_pairs<AgentToolStory>(lasting_verbs, every_verb, dry.points(), step) == 0);
}

TEST_CASE("every verb at every suspension point of a turn with agents as tools",
          "[.all_points][stop][tools][agent_tool][G1][G4][G7][G8][G9][G10][G13]") {
  AgentToolStory dry(0, Injection::none);
  CHECK(dry.run() == "");
  CHECK(failures_of<AgentToolStory>(every_verb, dry.points()) == 0);
}
