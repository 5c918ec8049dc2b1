// The record of each stop and delete: what was cut and when, and what became of it.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct KeptRecords {
  struct Audit final : StopAudit {
    std::vector<StopRecord> records;
    std::function<void()> then;
    void record(const StopRecord& record) override {
      records.push_back(record);
      if (then) then();
    }
  };
  Audit audit;
};

struct Audited : KeptRecords, ToolTurn {
  Audited() : ToolTurn({.audit = &audit}) {}
  const StopRecord& only() const {
    REQUIRE(audit.records.size() == 1);
    return audit.records[0];
  }
  // Drives the agent "a" into a call of the tool `held`, which does not end by itself.
  void hold() {
    ask(agent());
    call({{.id = "x", .name = "held"}});
    REQUIRE(held.calls.size() == 1);
  }
};

// "model_call a interrupted", "tool_call a x held interrupted", ...
std::vector<std::string> lines_of(const StopRecord& record) {
  std::vector<std::string> lines;
  for (const CutOperation& operation : record.operations) {
    std::string line = std::string(to_string(operation.kind)) + " " + operation.agent_id;
    if (operation.kind == TaskKind::tool_call) line += " " + operation.call_id;
    if (!operation.tool.empty()) line += " " + operation.tool;
    lines.push_back(line + " " + std::string(to_string(operation.outcome)));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a host gives no cause that only the library can know", "[tree][audit][X9][X39]") {
  Audited t;
  const StopCause given =
      GENERATE(StopCause::parent, StopCause::budget, StopCause::terminate, StopCause::lease);
  const bool all = GENERATE(false, true), below = GENERATE(false, true);
  const Agent child = t.agent().create_child({.id = "child"}).value();
  std::vector<StopCause> reported;
  StopOptions options{.scope = below && !all ? Scope::descendants : Scope::subtree, .cause = given};
  options.on_settled = [&](const StopReport& report) { reported.push_back(report.cause); };
  CHECK((all ? t.tree->stop_all(options) : t["a"].stop(options)).took_effect());  // never refused
  t.settle();
  CHECK(reported == std::vector{StopCause::user});
  CHECK(t.only().cause == StopCause::user);
  CHECK(t.logged("cause=user given_cause=" + std::string(to_string(given))));
  CHECK(child.state().value() == AgentState::stopped);
}

TEST_CASE("the record of a stop has the model call that it cut and what that may cost",
          "[tree][audit][X9][X39]") {
  Audited t;
  t.ask(t.agent(), "a question of some words");
  t.llm->delta("a", "an answer that has begun");
  t.advance(seconds(3));
  CHECK(t["a"].stop({.cause = StopCause::deadline, .reason = "too late"}).took_effect());
  const TimePoint stopped = t.runtime->now();
  t.clock.advance(seconds(1));
  t.settle();
  const StopRecord& record = t.only();
  CHECK(record.verb == StopVerb::stop);
  CHECK(record.agent_id == "a");
  CHECK(record.cause == StopCause::deadline);
  CHECK(record.caller.empty());
  CHECK(record.reason == "too late");
  CHECK(record.tree == 1);
  CHECK(record.called.monotonic == stopped);
  REQUIRE(record.closed);
  CHECK(record.closed->monotonic == stopped);
  CHECK(record.settled.monotonic == stopped + seconds(1));
  CHECK(record.called.wall <= record.closed->wall);
  CHECK(record.closed->wall <= record.settled.wall);
  CHECK(record.settled.wall <= std::chrono::system_clock::now());
  CHECK(record.settled.wall > std::chrono::system_clock::now() - std::chrono::hours(1));
  CHECK(lines_of(record) == Lines{"model_call a interrupted"});
  CHECK(record.operations[0].cut == stopped + seconds(1));
  CHECK(record.operations[0].turn == 1);
  CHECK(record.operations[0].tokens_counted == t.result->usage.total_tokens);
  CHECK(record.operations[0].tokens_counted > 10);
  CHECK(record.operations[0].tokens_reserved == 0);
  CHECK(record.tokens_counted() == record.operations[0].tokens_counted);
  CHECK(record.tokens_at_most() == record.tokens_counted());
  CHECK(record.after_gate == 0);
  CHECK(record.discarded == 0);
  CHECK(record.abandoned.empty());
  CHECK(record.complete);
}

TEST_CASE("what a budget had reserved for a call that was cut is in the record", "[tree][audit]") {
  Audited t;
  t.ask(t.agent({.model = {.max_tokens = 500}, .limits = {.budget = {.tokens = 10'000}}}));
  CHECK(t["a"].stop().took_effect());
  t.settle();
  const StopRecord& record = t.only();
  CHECK(record.operations.at(0).tokens_reserved > 500);
  CHECK(record.tokens_at_most() == record.operations[0].tokens_reserved);
  CHECK(record.tokens_at_most() > record.tokens_counted());
}

TEST_CASE("the record of a stop has the outcome of each tool call of the turn", "[tree][audit][G9]") {
  Audited t;
  t.ask(t.agent());
  t.call({add_call("one", 1, 2), {.id = "two", .name = "held"}, add_call("three", 3, 4)});
  CHECK(t["a"].stop().took_effect());
  t.held.calls.at(0).done(ToolResult::done("late"));
  t.settle();
  const StopRecord& record = t.only();
  CHECK(lines_of(record) == Lines{"tool_call a one add completed", "tool_call a two held interrupted",
                                  "tool_call a three add not_started"});
  CHECK_FALSE(record.operations[0].cut);
  CHECK(record.operations[1].cut == t.runtime->now());
  CHECK(record.operations[2].cut == t.runtime->now());
  CHECK(record.discarded == 1);
  CHECK(record.after_gate == 0);
  CHECK(record.abandoned.empty());
}

TEST_CASE("a tool that ignores its token is abandoned in the record", "[tree][audit][G9]") {
  Audited t;
  t.hold();
  CHECK(t["a"].stop({.grace = seconds(2)}).took_effect());
  t.settle();
  CHECK(t.audit.records.empty());
  t.advance(seconds(2));
  const StopRecord& record = t.only();
  CHECK(lines_of(record) == Lines{"tool_call a x held abandoned"});
  CHECK(record.abandoned == Lines{"a"});
  CHECK(record.settled.monotonic - record.called.monotonic == seconds(2));
  t.held.calls.at(0).done(ToolResult::done("much too late"));
  t.settle();
  CHECK(t.audit.records.size() == 1);
  CHECK(t.seen.count("discarded a") == 1);
  // It belongs to no later stop either.
  CHECK(t["a"].resume().took_effect());
  t.settle();
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.audit.records.at(1).discarded == 0);
  CHECK(t.audit.records.at(1).operations.empty());
}

TEST_CASE("a call that was cancelled before the stop is in its record if it is given up", "[tree][audit]") {
  Audited t;
  t.hold();
  const std::string call = t.tree->tasks().at(1).id;
  CHECK(t["a"].cancel_call(call).took_effect());
  t.settle();
  CHECK(t["a"].stop({.grace = seconds(1)}).took_effect());
  t.settle();
  t.advance(seconds(1));
  const std::string given_up = "tool_call a " + call + " held abandoned";
  const Lines lines = lines_of(t.only());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "model_call a interrupted");
  CHECK(lines[1] == "tool_call a " + call + " held interrupted");  // as its turn knows it
  CHECK(lines[2] == given_up);
  CHECK_FALSE(t.only().operations[2].cut);
}

TEST_CASE("a late answer is dropped and counted with its deltas", "[tree][audit][G7]") {
  Audited t;
  t.llm->on_stop = OnStop::deaf;
  t.ask(t.agent());
  CHECK(t["a"].stop().took_effect());
  // Before the loop has read the stop, and after that.
  t.llm->delta("a", "late ");
  const bool before = GENERATE(true, false);
  if (!before) t.settle();
  t.llm->delta("a", "too ");
  t.llm->reason("a", "thought");
  t.llm->answer("a", "");
  t.settle();
  const StopRecord& record = t.only();
  CHECK(record.after_gate == 0);
  CHECK(record.discarded == 1);
  CHECK(record.discarded_deltas == 3);
  CHECK(lines_of(record) == Lines{"model_call a interrupted"});
}

TEST_CASE("a background task that a stop cancels is in its record", "[tree][audit][X17]") {
  Audited t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  t.ask(t.agent({.limits = {.background_tasks = 2}}));
  t.call({{.id = "x", .name = "bg"}, {.id = "y", .name = "bg"}});
  t.answer("begun");
  CHECK(t["a"].stop({.grace = seconds(1)}).took_effect());
  t.settle();
  t.held.calls.at(0).done(ToolResult::done("late"));
  t.advance(seconds(1));
  const StopRecord& record = t.only();
  CHECK(lines_of(record) == Lines{"background a bg interrupted", "background a bg abandoned"});
  CHECK(record.operations[0].call_id.starts_with("task_"));
  CHECK(record.discarded == 1);
  CHECK(record.after_gate == 0);
}

TEST_CASE("the record of a stop names its descendants and the messages that were dropped", "[tree][audit]") {
  Audited t;
  const Agent top = t.root("top"), middle = t.child(top, "middle"), leaf = t.child(middle, "leaf");
  t.ask(leaf);
  const SendResult sent = leaf.send("queued");
  t.ask(top);
  CHECK(middle.stop({.caller = "top", .reason = "enough"}).took_effect());
  t.settle();
  const StopRecord& record = t.only();
  CHECK(record.agent_id == "middle");
  CHECK(record.caller == "top");
  CHECK(record.reason == "enough");
  CHECK(record.descendants == Lines{"leaf"});
  CHECK(record.messages_dropped == 1);
  CHECK(record.dropped_messages == std::vector<MessageId>{sent.id});
  CHECK(lines_of(record) == Lines{"model_call leaf interrupted"});
  CHECK(record.cascade);
}

TEST_CASE("a delete has a record and nothing of its agents stays", "[tree][audit][D3][G13]") {
  Audited t;
  const Agent top = t.root("top");
  t.ask(t.child(top, "leaf"));
  CHECK(top.terminate({.reason = "closed"}).took_effect());
  t.settle();
  const StopRecord& record = t.only();
  CHECK(record.verb == StopVerb::terminate);
  CHECK(record.cause == StopCause::terminate);
  CHECK(record.reason == "closed");
  CHECK(record.descendants == Lines{"leaf"});
  CHECK(lines_of(record) == Lines{"model_call leaf interrupted"});
  CHECK(testing::count_references(*t.tree, "leaf") == 0);
  CHECK(testing::count_references(*t.tree, "top") == 0);
}

TEST_CASE("a stop and a delete of the same agent each have a record", "[tree][audit][X13]") {
  Audited t;
  t.ask(t.agent());
  CHECK(t["a"].stop({.reason = "first"}).took_effect());
  CHECK(t["a"].terminate({.reason = "second"}).took_effect());
  t.settle();
  REQUIRE(t.audit.records.size() == 2);
  CHECK(t.audit.records[0].reason == "first");
  CHECK(t.audit.records[1].reason == "second");
  for (const StopRecord& record : t.audit.records)
    CHECK(lines_of(record) == Lines{"model_call a interrupted"});
}

TEST_CASE("a verb without an effect has no record", "[tree][audit]") {
  Audited t;
  t.agent();
  CHECK(t["a"].stop().took_effect());
  CHECK(t["a"].stop({.on_settled = [](const StopReport&) {}}).reason == Errc::agent_stopping);
  t.settle();
  CHECK(t["a"].stop().reason == Errc::agent_stopped);
  t.settle();
  CHECK(t.audit.records.size() == 1);
}

TEST_CASE("a deferred stop has a record when it takes effect and none when it is withdrawn",
          "[tree][audit]") {
  Audited t;
  t.ask(t.agent());
  CHECK(t["a"].stop({.when = StopWhen::after_turn}).took_effect());
  t.settle();
  CHECK(t["a"].resume().took_effect());
  t.settle();
  CHECK(t["a"].stop({.reason = "later", .when = StopWhen::after_step}).took_effect());
  const TimePoint called = t.runtime->now();
  t.advance(seconds(7));
  t.answer("done");
  const StopRecord& record = t.only();
  CHECK(record.reason == "later");
  CHECK(record.when == StopWhen::after_step);
  CHECK(record.called.monotonic == called);
  REQUIRE(record.closed);
  CHECK(record.closed->monotonic == called + seconds(7));
  CHECK(record.operations.empty());
}

TEST_CASE("a deferred stop that another one overtakes has a record without a time of its own",
          "[tree][audit]") {
  Audited t;
  t.ask(t.agent());
  CHECK(t["a"].stop({.reason = "later", .when = StopWhen::after_turn}).took_effect());
  t.settle();
  CHECK(t["a"].stop({.reason = "now"}).took_effect());
  t.settle();
  REQUIRE(t.audit.records.size() == 2);
  const bool first = t.audit.records[0].reason == "later";
  const StopRecord& later = t.audit.records[first ? 0 : 1];
  const StopRecord& now = t.audit.records[first ? 1 : 0];
  CHECK(later.reason == "later");
  CHECK_FALSE(later.closed);
  CHECK(now.reason == "now");
  CHECK(now.closed);
  CHECK(lines_of(now) == Lines{"model_call a interrupted"});
}

TEST_CASE("a stop of the descendants has a record for each child", "[tree][audit]") {
  Audited t;
  const Agent top = t.root("top"), one = t.child(top, "one"), two = t.child(top, "two");
  t.ask(two);
  CHECK(top.stop({.scope = Scope::descendants, .reason = "new plan"}).took_effect());
  t.settle();
  REQUIRE(t.audit.records.size() == 2);
  for (const StopRecord& record : t.audit.records) {
    CHECK(record.below == "top");
    CHECK(record.reason == "new plan");
    CHECK(record.closed);
    CHECK(lines_of(record) == (record.agent_id == "two" ? Lines{"model_call two interrupted"} : Lines{}));
  }
  CHECK(t.state("top") == AgentState::idle);
}

TEST_CASE("a stop of all agents has one record", "[tree][audit]") {
  Audited t;
  t.root("one");
  t.ask(t.root("two"));
  CHECK(t.tree->stop_all().took_effect());
  t.settle();
  CHECK(t.only().agent_id.empty());
  CHECK(t.only().cause == StopCause::shutdown);
  CHECK(t.only().descendants.size() == 2);
  CHECK(lines_of(t.only()) == Lines{"model_call two interrupted"});
}

TEST_CASE("a record comes before the completion of its stop", "[tree][audit]") {
  Audited t;
  t.agent();
  std::size_t before = 0;
  CHECK(t["a"]
            .stop({.on_settled =
                       [&](const StopReport& report) {
                         before = t.audit.records.size();
                         CHECK(report.agent_id == "a");
                       }})
            .took_effect());
  t.settle();
  CHECK(before == 1);
}

TEST_CASE("an exception of an audit is logged and the stop completes", "[tree][audit][G16]") {
  Audited t;
  t.agent();
  t.audit.then = [] { throw std::runtime_error("no disk"); };
  bool settled = false;
  CHECK(t["a"].stop({.on_settled = [&](const StopReport&) { settled = true; }}).took_effect());
  t.settle();
  CHECK(settled);
  CHECK(t.logged("no disk"));
}

TEST_CASE("an audit may destroy the tree", "[tree][audit][G16]") {
  Audited t;
  t.agent();
  t.seen.unwatch();
  t.ends.reset();
  t.audit.then = [&] { t.tree.reset(); };
  bool settled = false;
  CHECK(t["a"].stop({.on_settled = [&](const StopReport&) { settled = true; }}).took_effect());
  t.settle();
  CHECK(t.audit.records.size() == 1);
  CHECK_FALSE(settled);
}

TEST_CASE("a tree releases its audit at its end", "[tree][audit]") {
  Runtime runtime;
  const auto audit = std::make_shared<KeptRecords::Audit>();
  auto tree = std::make_unique<AgentTree>(runtime, TreeOptions{.audit = audit});
  const Agent agent = tree->create().value();  // keeps the memory of the tree
  CHECK(audit.use_count() > 1);
  tree.reset();
  CHECK(audit.use_count() == 1);
}

TEST_CASE("the tokens of a call that was cut are those of this call alone", "[tree][audit]") {
  Audited t;
  t.ask(t.agent());
  ChatOutcome first = ChatOutcome::completed(FinishReason::tool_calls, {1000, 100, 1100});
  first.tool_calls = {add_call("one", 1, 2)};
  FakeClient::finish(*t.llm->find("a"), std::move(first));
  t.settle();
  FakeClient::Call* const second = t.llm->find("a");
  REQUIRE(second);
  CHECK(t["a"].stop().took_effect());
  if (second->open()) FakeClient::finish(*second, ChatOutcome::cancelled({30, 3, 33}));
  t.settle();
  const StopRecord& record = t.only();
  REQUIRE(record.operations.size() == 2);
  CHECK(record.operations[0].kind == TaskKind::model_call);
  CHECK(record.operations[0].tokens_counted == t.result->usage.total_tokens - 1100);
}

TEST_CASE("the record of a stop says whether it has the descendants", "[tree][audit]") {
  Audited t;
  const Agent parent = t.root("parent");
  t.child(parent, "child");
  const bool cascade = GENERATE(true, false);
  CHECK(parent.stop({.scope = cascade ? Scope::subtree : Scope::agent}).took_effect());
  t.settle();
  REQUIRE(t.audit.records.size() == 1);
  CHECK(t.audit.records[0].cascade == cascade);
  CHECK(t.audit.records[0].descendants.size() == (cascade ? 1U : 0U));
}
