// Scope::descendants: the agent goes on, and everything below it stops.
#include "support/drive/tree_fixture.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// top - parent - (one - deep, two); top - other
struct Family : TreeFixture {
  explicit Family(TreeOptions options = {}) : TreeFixture(options) {}
  Agent top = root("top"), parent = child(top, "parent"), other = child(top, "other");
  Agent one = child(parent, "one"), two = child(parent, "two"), deep = child(one, "deep");

  std::string states() {
    std::string all;
    for (const char* id : {"top", "parent", "other", "one", "two", "deep"})
      all += std::string(to_string(state(id))) + " ";
    return all;
  }
};

// Makes the call on the loop thread, or on another one.
VerbResult call(bool on_loop, const std::function<VerbResult()>& verb) {
  if (on_loop) return verb();
  VerbResult result;
  std::thread([&] { result = verb(); }).join();
  return result;
}

}  // namespace

TEST_CASE("a stop of the descendants alone closes all of them before it returns", "[tree][below][G1][E1]") {
  for (const bool on_loop : {true, false}) {
    Family t;
    t.ask(t.parent);
    t.ask(t.deep);
    t.ask(t.two);
    t.ask(t.other);
    const VerbResult result = call(on_loop, [&] { return t.parent.stop({.scope = Scope::descendants}); });
    CHECK((result.took_effect() && result.quiet && result.calls_cut == 2));
    CHECK(t.states() == "idle waiting_llm waiting_llm stopping stopping stopping ");
    for (const Agent& agent : {t.one, t.two, t.deep}) CHECK(agent.send("x").reason == Errc::agent_stopping);
    t.settle();
    CHECK(t.states() == "idle waiting_llm waiting_llm stopped stopped stopped ");
    t.llm->answer("parent", "goes on");
    t.settle();
    CHECK(t.seen.count("ended parent 1 completed") == 1);
    CHECK(t.seen.count("settled") == 3);
    // New children are not affected, and a resume opens the children one by one.
    t.ask(t.child(t.parent, "late"));
    CHECK(t.parent.resume().reason == Errc::not_stopped);
    CHECK(t.one.resume().took_effect());
    t.settle();
    CHECK(t.states() == "idle idle waiting_llm idle stopped idle ");
  }
}

TEST_CASE("a stop of the descendants alone has one report and one log record", "[tree][below][X39][C17]") {
  Family t;
  CHECK(t.deep.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
  const MessageId waiting = t.deep.send("waiting").id;
  std::vector<StopReport> reports;
  CHECK(t.parent
            .stop({.caller = "parent",
                   .scope = Scope::descendants,
                   .cause = StopCause::deadline,
                   .reason = "time is up",
                   .on_settled = [&](const StopReport& report) { reports.push_back(report); }})
            .took_effect());
  std::string causes;
  const auto ends = t.tree->on<Settled>([&](const Settled& settled) {
    causes += settled.agent.id() + "=" + std::string(to_string(settled.cause)) + " ";
    CHECK(settled.origin.reason() == "time is up");
  });
  t.settle();
  CHECK((causes == "deep=parent one=deadline two=deadline " ||
         causes == "two=deadline deep=parent one=deadline "));
  REQUIRE(reports.size() == 1);
  StopReport& report = reports[0];
  CHECK((report.agent_id == "parent" && report.cause == StopCause::deadline && report.caller == "parent" &&
         report.reason == "time is up"));
  std::sort(report.descendants.begin(), report.descendants.end());
  CHECK(report.descendants == std::vector<std::string>{"deep", "one", "two"});
  CHECK(report.messages_dropped == 1);
  CHECK(report.dropped_messages == std::vector<MessageId>{waiting});
  CHECK(std::count_if(t.log.begin(), t.log.end(),
                      [](const std::string& line) { return line.find("time is up") != line.npos; }) == 1);
  CHECK(
      t.logged("info the descendants of an agent are being stopped agent=parent caller=parent "
               "reason=time is up cause=deadline"));
}

TEST_CASE("a stop of the descendants alone waits for all of them", "[tree][below]") {
  Family t;
  t.llm->on_stop = OnStop::deaf;
  t.ask(t.deep);
  t.ask(t.two);
  std::optional<StopReport> report;
  const bool has_grace = GENERATE(true, false);
  StopOptions options{.scope = Scope::descendants};
  if (has_grace) options.grace = std::chrono::seconds(60);
  options.on_settled = [&](const StopReport& made) { report = made; };
  CHECK(t.parent.stop(std::move(options)).took_effect());
  t.settle();
  t.llm->answer("two", "late");
  t.settle();
  CHECK_FALSE(report);
  t.advance(std::chrono::seconds(6));
  CHECK(report.has_value() == !has_grace);
  t.advance(std::chrono::seconds(54));
  REQUIRE(report);
  CHECK(report->abandoned == std::vector<std::string>{"deep"});
}

TEST_CASE("a stop of the descendants alone is refused as a stop is", "[tree][below][C19][X10]") {
  Family t;
  CHECK(t.parent.stop({.caller = "other", .scope = Scope::descendants}).reason == Errc::not_child_agent);
  CHECK(t.parent.stop({.caller = "one", .scope = Scope::descendants}).reason == Errc::not_child_agent);
  CHECK(t.parent.stop({.caller = "top", .scope = Scope::descendants}).took_effect());
  const VerbResult again = t.parent.stop({.scope = Scope::descendants});
  CHECK((again.status == VerbStatus::no_effect && again.reason == Errc::agent_stopped));
  CHECK(t.other.stop({.scope = Scope::descendants}).status == VerbStatus::no_effect);
  CHECK(t.top.stop().took_effect());
  CHECK(t.top.stop({.scope = Scope::descendants}).reason == Errc::agent_stopping);
  t.settle();
  CHECK(t.states() == "stopped stopped stopped stopped stopped stopped ");
}

TEST_CASE("a stop of the descendants alone leaves a child that stands for a person", "[tree][below][X10]") {
  TreeFixture t;
  const Agent parent = t.root("parent"), person = t.child(parent, "person", {.role = AgentRole::user}),
              child = t.child(parent, "child");
  CHECK(parent.stop({.scope = Scope::descendants}).took_effect());
  t.settle();
  CHECK(t.state("person") == AgentState::idle);
  CHECK(t.state("child") == AgentState::stopped);
}

TEST_CASE("all agents can be stopped while the tree stays open", "[tree][below]") {
  Family t;
  CHECK(t.tree->stop_all({.scope = Scope::descendants}).took_effect());
  t.settle();
  CHECK(t.states() == "stopped stopped stopped stopped stopped stopped ");
  t.ask(t.root("new"));
}

TEST_CASE("a callback of the agent stops its descendants", "[tree][below][Q3]") {
  TreeFixture t;
  const Agent parent = t.root("parent", {.handler = [&](const Agent& self, const Message&) {
                                CHECK(self.stop({.scope = Scope::descendants}).took_effect());
                                CHECK(self.create_child({.id = "new"}).has_value());
                              }});
  const Agent child = t.child(parent, "child");
  CHECK(parent.send("go"));
  t.settle();
  CHECK(t.seen.count("ended parent 1 completed") == 1);
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(t.state("new") == AgentState::idle);
}

TEST_CASE("a stop of the descendants alone says whether one of them acts, and not the agent",
          "[tree][below][G1]") {
  TreeFixture t;
  bool within_parent = false, within_child = true;
  const auto elsewhere = [](const Agent& agent) {
    bool quiet = false;
    std::thread([&] { quiet = agent.stop({.scope = Scope::descendants}).quiet; }).join();
    return quiet;
  };
  const Agent parent = t.root(
      "parent", {.handler = [&](const Agent& self, const Message&) { within_parent = elsewhere(self); }});
  const Agent child = t.child(
      parent, "child", {.handler = [&](const Agent&, const Message&) { within_child = elsewhere(parent); }});
  CHECK(parent.send("x"));
  t.settle();
  CHECK(within_parent);
  CHECK(child.resume().took_effect());
  t.settle();
  CHECK(child.send("x"));
  t.settle();
  CHECK_FALSE(within_child);
}
