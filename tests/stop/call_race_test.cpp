// Cancels and results of the host, on real threads, against the tool's own result, stops and deletes.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/tool_registry.hpp>
#include <agentcore/turn_result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

const int rounds = agentcore::test::amount(4000, 400);

// An agent whose model asks for calls of `held` and `risky`, and what became of them.
struct CallRace {
  FakeClient client;
  Runtime runtime;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  std::vector<ToolContext> contexts;
  std::vector<ToolDone> done;
  AgentTree tree{runtime, {.llm = &client}};
  Audit audit{tree};
  Agent agent;
  std::shared_ptr<const TurnResult> result;
  std::vector<TaskChanged> changes;
  std::string task_id;
  std::size_t discarded = 0;
  Subscription events = tree.on_event([this](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>()) result = ended->result;
    if (const auto* change = event.get<TaskChanged>()) {
      changes.push_back(*change);
      task_id = change->task_id;
    }
    discarded += event.get<Discarded>() != nullptr;
  });

  CallRace() {
    const auto held = [this](const nlohmann::json&, const ToolContext& context, ToolDone end) {
      contexts.push_back(context);
      done.push_back(std::move(end));
    };
    tools->add({{.name = "held"}, held});
    tools->add({{.name = "risky", .needs_approval = true}, held});
    tools->add({{.name = "bg", .mode = ToolMode::async}, held});
  }

  // A new agent asks for these calls, and the tools that may begin have begun.
  void begin(const std::vector<std::string>& names) {
    result.reset();
    changes.clear();
    discarded = 0;
    agent = tree.create({.tools = tools, .limits = {.parallel_tools = 4, .background_tasks = 1}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
    for (const std::string& name : names)
      outcome.tool_calls.push_back({"call_" + std::to_string(outcome.tool_calls.size()), name, "{}", {}});
    for (FakeClient::Call* const call : client.open_calls()) FakeClient::finish(*call, outcome);
    runtime.poll();
  }
  // Ends the turn in words, if it is not over.
  void end_turn() {
    for (int i = 0; i < 3; ++i) runtime.poll();
    client.answer_all();
    for (int i = 0; i < 3; ++i) runtime.poll();
  }
  void remove() {
    done.clear();
    contexts.clear();
    static_cast<void>(agent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
};

// Exactly one of them ended the call, and the record says which.
void check(const ToolCallRecord& record, const VerbResult& cancelled, const VerbResult& completed,
           bool begun) {
  CHECK_FALSE((cancelled.took_effect() && completed.took_effect()));
  CHECK(record.by_host == completed.took_effect());
  if (cancelled.took_effect()) {
    CHECK(record.outcome == (begun ? ToolOutcome::interrupted : ToolOutcome::not_started));
    CHECK(record.message.starts_with("a person cancelled the call"));
  } else {
    CHECK(record.outcome == ToolOutcome::completed);
    CHECK(record.message == (completed.took_effect() ? "by hand" : "result"));
  }
}

}  // namespace

TEST_CASE("in a race of a cancel and a result of the host and of the tool the first one ends the call",
          "[stop][race][tools][cancel_call][complete_call][G8][G9][G10]") {
  CallRace race;
  Team team(3);
  std::array<int, 3> wins{};
  for (int round = 0; round < rounds; ++round) {
    race.begin({"held"});
    REQUIRE(race.done.size() == 1);
    VerbResult cancelled, completed;
    std::atomic<bool> delivered{round % 2 == 0};  // in every other round the tool is a little ahead
    team.run(
        [&](int member) {
          if (member == 0) {
            race.done[0](ToolResult::done("result"));
            delivered = true;
          }
          while (!delivered) std::this_thread::yield();
          if (member == 1) cancelled = race.agent.cancel_call("call_0");
          if (member == 2) completed = race.agent.complete_call("call_0", ToolResult::done("by hand"));
        },
        [&] { race.runtime.poll(); });
    race.end_turn();
    REQUIRE(race.result);
    REQUIRE(race.result->calls.size() == 1);
    check(race.result->calls[0], cancelled, completed, true);
    const bool by_verb = cancelled.took_effect() || completed.took_effect();
    CHECK(race.contexts[0].stop().stop_requested() == by_verb);
    CHECK(race.discarded == (by_verb ? 1U : 0U));
    CHECK(agentcore::test::refusal(race.agent.conversation().value()) == "");
    ++wins[cancelled.took_effect() ? 0 : completed.took_effect() ? 1 : 2];
    race.remove();
  }
  INFO(wins[0] << " cancels, " << wins[1] << " results of the host, " << wins[2] << " of the tool");
  CHECK(race.audit.problem == "");
  CHECK(race.tree.tasks().empty());
}

TEST_CASE("in a race of a cancel and a stop or a delete the answers of the verbs agree with the record",
          "[stop][race][tools][cancel_call][complete_call][G1][G7][G9]") {
  CallRace race;
  Team team(4);
  int too_late = 0;
  for (int round = 0; round < rounds; ++round) {
    race.begin({"held", "held"});
    REQUIRE(race.done.size() == 2);
    VerbResult cancelled, completed;
    const Agent agent = race.agent;
    team.run(
        [&](int member) {
          if (member == 0) race.done[0](ToolResult::done("result"));
          if (member == 1) cancelled = agent.cancel_call("call_0", {.reason = "a race"});
          if (member == 2) completed = agent.complete_call("call_1", ToolResult::done("by hand"));
          if (member == 3) static_cast<void>(round % 2 ? agent.stop() : agent.terminate());
        },
        [&] { race.runtime.poll(); });
    race.done.clear();
    REQUIRE(drive(race.runtime, race.tree, race.client) == "");
    REQUIRE(race.result);
    REQUIRE(race.result->calls.size() == 2);
    const ToolCallRecord& first = race.result->calls[0];
    const ToolCallRecord& second = race.result->calls[1];
    // A cancel that came too late leaves the result of the tool or the words of the stop.
    if (first.message.starts_with("a person")) CHECK(cancelled.took_effect());
    if (first.outcome == ToolOutcome::completed) CHECK_FALSE(cancelled.took_effect());
    if (second.by_host) CHECK(completed.took_effect());
    CHECK(second.outcome == (second.by_host ? ToolOutcome::completed : ToolOutcome::interrupted));
    if (!cancelled.took_effect())
      CHECK((cancelled.reason == Errc::call_over || cancelled.reason == Errc::call_not_found ||
             cancelled.reason == Errc::agent_not_found));
    too_late += !cancelled.took_effect();
    if (agent.exists()) CHECK(agentcore::test::refusal(agent.conversation().value()) == "");
    race.remove();
  }
  INFO(too_late << " cancels were too late");
  CHECK(race.audit.problem == "");
  CHECK(race.tree.tasks().empty());
}

TEST_CASE("in a race of a cancel and an approval the tool starts or the call was not started",
          "[stop][race][tools][cancel_call][G9][G10]") {
  CallRace race;
  Team team(1);
  int started = 0;
  for (int round = 0; round < rounds; ++round) {
    race.begin({"risky"});
    const std::string question = race.tree.questions().at(0).id;
    VerbResult cancelled;
    team.run([&](int) { cancelled = race.agent.cancel_call("call_0"); },
             [&] {
               static_cast<void>(race.tree.approve(question));
               race.runtime.poll();
             });
    const bool begun = !race.done.empty();
    started += begun;
    CHECK(cancelled.took_effect());
    race.end_turn();
    REQUIRE(race.result);
    check(race.result->calls.at(0), cancelled, {}, begun);
    CHECK(race.tree.questions().empty());
    race.remove();
  }
  INFO(started << " tools were started");
  CHECK(race.audit.problem == "");
}

TEST_CASE("in a race of an approval for longer and a stop or a delete the grant is there if it was accepted",
          "[stop][race][tools][grants][G1][G13]") {
  CallRace race;
  Team team(1);
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    race.begin({"risky", "risky"});
    REQUIRE(race.tree.questions().size() == 2);
    const std::string question = race.tree.questions()[0].id;
    const bool stops = round % 2 != 0;
    std::optional<Result<void>> answered;
    std::size_t grants = 0, begun = 0;
    std::atomic<bool> ready{round % 4 <
                            2};  // in every other pair of rounds the approval waits for the thread
    team.run(
        [&](int) {
          ready = true;
          static_cast<void>(stops ? race.agent.stop() : race.agent.terminate());
        },
        [&] {
          if (answered) return static_cast<void>(race.runtime.poll());
          while (!ready) std::this_thread::yield();
          answered = race.tree.approve(question, GrantScope::subtree);
          grants = race.tree.grants().size();
          begun = race.done.size();
        });
    REQUIRE(answered);
    CHECK(grants == (answered->has_value() ? 1U : 0U));
    if (!answered->has_value()) CHECK(begun == 0);
    CHECK(race.done.size() == begun);  // nothing begins after the stop
    accepted += answered->has_value();
    race.done.clear();
    REQUIRE(drive(race.runtime, race.tree, race.client) == "");
    if (stops) CHECK(race.tree.grants().size() == grants);
    race.remove();
    CHECK(race.tree.grants().empty());
  }
  INFO(accepted << " approvals were accepted");
  CHECK(race.audit.problem == "");
}

TEST_CASE("in a race of a cancel and the end of a background task one of them is its end",
          "[stop][race][tools][cancel_call][background][G10]") {
  CallRace race;
  Team team(3);
  for (int round = 0; round < rounds; ++round) {
    race.begin({"bg"});
    REQUIRE(race.done.size() == 1);
    std::array<VerbResult, 2> cancelled{};
    const bool stops = round % 2 != 0;
    const std::string id = race.task_id;
    team.run(
        [&](int member) {
          if (member == 2) {
            race.done[0](ToolResult::done("result"));
            if (stops) static_cast<void>(race.agent.stop());
          } else {
            cancelled[static_cast<std::size_t>(member)] = race.tree.cancel_task(id, {.reason = "a race"});
          }
        },
        [&] { race.runtime.poll(); });
    for (int i = 0; i < 4; ++i) race.runtime.poll();
    REQUIRE(race.changes.size() == 2);
    const TaskState end = race.changes[1].state;
    const int wins = cancelled[0].took_effect() + cancelled[1].took_effect();
    CHECK(wins <= 1);
    if (wins == 1) CHECK(end == TaskState::cancelled);
    if (!stops && wins == 0) CHECK(end == TaskState::completed);
    CHECK(race.discarded == (end == TaskState::cancelled ? 1U : 0U));
    race.remove();
  }
  CHECK(race.audit.problem == "");
  CHECK(race.tree.tasks().empty());
}

TEST_CASE("calls may be cancelled and completed while the tree is destroyed",
          "[stop][race][tools][cancel_call][complete_call][G13][Q3]") {
  for (int round = 0; round < rounds; ++round) {
    FakeClient client;
    Runtime runtime;
    auto tools = std::make_shared<ToolRegistry>();
    std::vector<ToolDone> done;
    tools->add({{.name = "held"}, [&](const nlohmann::json&, const ToolContext&, ToolDone end) {
                  done.push_back(std::move(end));
                }});
    auto tree = std::make_unique<AgentTree>(runtime, TreeOptions{.llm = &client});
    const Agent agent = tree->create({.tools = tools, .limits = {.parallel_tools = 2}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
    outcome.tool_calls = {{"x", "held", "{}", {}}, {"y", "held", "{}", {}}};
    for (FakeClient::Call* const call : client.open_calls()) FakeClient::finish(*call, outcome);
    runtime.poll();
    REQUIRE(done.size() == 2);
    static Team team(3);
    team.run(
        [&](int member) {
          if (member == 0) done[0](ToolResult::done("result"));
          if (member == 1) static_cast<void>(agent.cancel_call("x", {.reason = "a race"}));
          if (member == 2) static_cast<void>(agent.complete_call("y", ToolResult::done("by hand")));
        },
        [&] {
          if (round % 2) runtime.poll();
          tree.reset();
        });
    runtime.poll();
    CHECK(agent.cancel_call("x").reason == Errc::agent_not_found);
    client.cancel_stopped();
  }
}
