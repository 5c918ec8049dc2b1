// Who ended something, and why: in events, reports and the log, and in no history.
#include "support/drive/tool_turn.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

std::string words(StopCause cause, const StopOrigin& origin) {
  return " " + std::string(to_string(cause)) + " " + std::string(origin.caller()) + "/" +
         std::string(origin.reason());
}

// One line for each event that names an origin: "a stopped user caller/reason".
struct Origins {
  explicit Origins(AgentTree& tree)
      : states(tree.on<StateChanged>([this](const StateChanged& change) {
          if (!can_process(change.to) || change.origin)
            lines.push_back(change.agent.id() + " " + std::string(to_string(change.to)) +
                            words(change.cause, change.origin));
        })),
        ends(tree.on<Settled>([this](const Settled& settled) {
          lines.push_back(settled.agent.id() + " settled" + words(settled.cause, settled.origin));
        })),
        deletes(tree.on<AgentDeleted>([this](const AgentDeleted& deleted) {
          lines.push_back(deleted.agent.id() + " deleted" + words(deleted.cause, deleted.origin));
        })) {}

  std::vector<std::string> of(std::string_view agent) const {
    std::vector<std::string> found;
    for (const std::string& line : lines)
      if (line.starts_with(std::string(agent) + " ")) found.push_back(line.substr(agent.size() + 1));
    return found;
  }

  std::vector<std::string> lines;
  Subscription states, ends, deletes;
};

using Lines = std::vector<std::string>;

// How many log records contain `part`.
std::size_t records(const TreeFixture& t, std::string_view part) {
  return static_cast<std::size_t>(std::count_if(
      t.log.begin(), t.log.end(), [&](const auto& line) { return line.find(part) != line.npos; }));
}

}  // namespace

TEST_CASE("a stop tells who stopped and why for each agent that it stops", "[tree][origin][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent top = t.root("top"), parent = t.child(top, "parent"), child = t.child(parent, "child");
  t.ask(child);
  std::optional<StopReport> report;
  CHECK(parent
            .stop({.caller = "top",
                   .reason = "no more work",
                   .on_settled = [&](const StopReport& made) { report = made; }})
            .took_effect());
  t.settle();
  CHECK(seen.of("parent") == Lines{"stopping user top/no more work", "stopped user top/no more work",
                                   "settled user top/no more work"});
  CHECK(seen.of("child") == Lines{"stopping parent top/no more work", "stopped parent top/no more work",
                                  "settled parent top/no more work"});
  REQUIRE(report);
  CHECK((report->caller == "top" && report->reason == "no more work"));
  CHECK(records(t, "no more work") == 1);
  CHECK(t.logged("info an agent is being stopped agent=parent caller=top reason=no more work cause=user"));
}

TEST_CASE("a delete tells who deleted and why for each agent that it deletes", "[tree][origin][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent top = t.root("top"), parent = t.child(top, "parent");
  t.child(parent, "child");
  std::optional<StopReport> report;
  CHECK(parent
            .terminate({.caller = "top",
                        .reason = "done",
                        .on_settled = [&](const StopReport& made) { report = made; }})
            .took_effect());
  t.settle();
  CHECK(seen.of("parent") ==
        Lines{"terminating terminate top/done", "settled terminate top/done", "deleted terminate top/done"});
  CHECK(seen.of("child") ==
        Lines{"terminating parent top/done", "settled parent top/done", "deleted parent top/done"});
  REQUIRE(report);
  CHECK((report->caller == "top" && report->reason == "done"));
  CHECK(records(t, "reason=done") == 1);
  CHECK(t.logged("info an agent is being deleted agent=parent caller=top reason=done cause=terminate"));
}

TEST_CASE("each verb is told with its own origin", "[tree][origin][X39][X13]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  Origins seen(*t.tree);
  const Agent parent = t.root("parent"), child = t.child(parent, "child"), other = t.child(parent, "other");
  t.ask(child);
  CHECK(child.stop({.cause = StopCause::deadline, .reason = "one"}).took_effect());
  CHECK(parent.stop({.reason = "two"}).took_effect());
  CHECK(child.terminate({.reason = "three"}).took_effect());
  CHECK_FALSE(parent.stop({.reason = "four"}).took_effect());
  t.settle();
  t.llm->answer("child", "late");
  t.settle();
  CHECK(seen.of("child") == Lines{"stopping deadline /one", "stopped deadline /one", "settled deadline /one",
                                  "terminating terminate /three", "settled terminate /three",
                                  "deleted terminate /three"});
  CHECK(seen.of("other") == Lines{"stopping parent /two", "stopped parent /two", "settled parent /two"});
  CHECK(seen.of("parent") == Lines{"stopping user /two", "stopped user /two", "settled user /two"});
  CHECK(records(t, "being") == 3);
}

TEST_CASE("a delete right after a stop of the parent is reported with its own reason",
          "[tree][origin][X39][X13]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent parent = t.root("parent"), child = t.child(parent, "child");
  CHECK(parent.stop({.reason = "one"}).took_effect());
  CHECK(child.terminate({.reason = "two"}).took_effect());
  t.settle();
  CHECK(seen.of("child") == Lines{"stopping parent /one", "stopped parent /one", "settled parent /one",
                                  "terminating terminate /two", "settled terminate /two",
                                  "deleted terminate /two"});
  CHECK(seen.of("parent") == Lines{"stopping user /one", "stopped user /one", "settled user /one"});
}

TEST_CASE("agents above a delete are reported with the reason of the stop that waited for it",
          "[tree][origin][X39][X13]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent top = t.root("top"), middle = t.child(top, "middle"), low = t.child(middle, "low"),
              leaf = t.child(low, "leaf");
  CHECK(top.stop({.reason = "one"}).took_effect());
  for (int polls = 0; seen.of("leaf").size() < 3 && polls < 100; ++polls) t.runtime->poll(Duration(0));
  REQUIRE(seen.of("leaf").back() == "settled parent /one");
  REQUIRE(seen.of("low") == Lines{"stopping parent /one"});
  CHECK(low.terminate({.reason = "two"}).took_effect());
  while (t.runtime->poll(Duration(0))) {
  }
  CHECK(seen.of("low").back() == "deleted terminate /two");
  CHECK(seen.of("middle") == Lines{"stopping parent /one", "stopped parent /one", "settled parent /one"});
  CHECK(seen.of("top") == Lines{"stopping user /one", "stopped user /one", "settled user /one"});
}

TEST_CASE("a stop of all agents tells its reason for each of them", "[tree][origin][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  t.root("a");
  CHECK(t.tree->stop_all({.cause = StopCause::shutdown, .reason = "closing time"}).took_effect());
  t.settle();
  CHECK(seen.of("a") == Lines{"stopping parent /closing time", "stopped parent /closing time",
                              "settled parent /closing time"});
  CHECK(t.logged("info all agents are being stopped agent= caller= reason=closing time cause=shutdown"));
}

TEST_CASE("an abort and an interrupt tell their reason with the state", "[tree][origin][interrupt][X39]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf}) {
    TreeFixture t;
    t.llm->on_stop = how;
    Origins seen(*t.tree);
    const Agent agent = t.root("a");
    t.ask(agent);
    CHECK(agent.abort({.reason = "wrong question"}).took_effect());
    t.settle();
    t.ask(agent);
    CHECK(agent.interrupt({.reason = "enough"}).took_effect());
    t.settle();
    t.ask(agent);
    CHECK(agent.interrupt().took_effect());
    t.settle();
    CHECK(seen.of("a") == Lines{"idle user /wrong question", "idle user /enough"});
  }
}

TEST_CASE("a turn that the loop finds interrupted tells the reason too", "[tree][origin][interrupt][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent parent = t.root("parent");
  InterruptOptions options{.reason = "from within"};
  const Agent child = t.child(parent, "child", {.handler = [&](const Agent& self, const Message& message) {
                                if (message.text == "self") CHECK(self.interrupt(options).took_effect());
                                if (message.text == "all") CHECK(parent.interrupt(options).took_effect());
                              }});
  CHECK(child.send("self"));
  t.settle();
  options.scope = Scope::subtree;
  options.reason = "the whole branch";
  CHECK(child.send("all"));
  CHECK(child.send("harmless"));
  t.settle();
  CHECK(seen.of("child") == Lines{"idle user /from within", "idle user /the whole branch"});
  CHECK(seen.of("parent").empty());
}

TEST_CASE("an interrupt of a subtree tells its reason for each turn", "[tree][origin][interrupt][X39]") {
  ToolTurn t;
  Origins seen(*t.tree);
  const Agent agent = t.agent(), child = t.child(agent, "child"), idle = t.child(agent, "idle");
  t.ask(child);
  t.ask(agent);
  t.call({{.name = "held"}});
  std::thread([&] {
    CHECK(agent.interrupt({.scope = Scope::subtree, .reason = "all of it"}).took_effect());
  }).join();
  t.settle();
  CHECK(seen.of("a") == Lines{"idle user /all of it"});
  CHECK(seen.of("child") == Lines{"idle user /all of it"});
  CHECK(seen.of("idle").empty());
  // The next turn has nothing to do with it.
  t.ask(child, "next");
  t.llm->complete(t.llm->call(t.llm->calls() - 1));
  t.settle();
  CHECK(seen.of("child").size() == 1);
}

TEST_CASE("no history and no request has who stopped an agent or why", "[tree][origin][G11][X39]") {
  TreeFixture t;
  const Agent parent = t.root("boss"), agent = t.child(parent, "a");
  const auto request = [&] {
    std::string all;
    for (const ChatMessage& message : t.llm->call(t.llm->calls() - 1).request.messages)
      all += message.content();
    return all;
  };
  t.ask(agent, "first");
  CHECK(agent.abort({.reason = "secret one"}).took_effect());
  t.settle();
  t.ask(agent, "second");
  CHECK(agent.interrupt({.reason = "secret two"}).took_effect());
  t.settle();
  t.ask(agent, "third");
  CHECK(agent.stop({.caller = "boss", .reason = "secret three"}).took_effect());
  t.settle();
  CHECK(agent.resume().took_effect());
  t.ask(agent, "fourth");
  CHECK(request().find("fourth") != std::string::npos);
  for (const std::string& text : {request(), history_to_json(agent.conversation().value())}) {
    CHECK(text.find("secret") == std::string::npos);
    CHECK(text.find("boss") == std::string::npos);
  }
}

TEST_CASE("of several verbs that would end a turn the first one tells its reason",
          "[tree][origin][interrupt][X39][G10]") {
  enum class First { own, parent, top };
  const First first = GENERATE(First::own, First::parent, First::top);
  const bool handles = GENERATE(false, true);  // the turn is one of a MessageHandler
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent top = t.root("top"), parent = t.child(top, "parent");
  Agent child;
  const auto interrupt = [&](First which) {
    InterruptOptions options{.scope = Scope::subtree, .reason = "of the parent"};
    if (which == First::own) return child.interrupt({.reason = "its own"});
    if (which == First::parent) return parent.interrupt(options);
    options.reason = "of the top";
    return top.interrupt(options);
  };
  const auto all = [&] {
    CHECK(interrupt(first).took_effect());
    for (const First other : {First::own, First::parent, First::top})
      if (other != first) static_cast<void>(interrupt(other));
  };
  AgentSpec spec;
  if (handles) spec.handler = [&](const Agent&, const Message&) { all(); };
  child = t.child(parent, "child", std::move(spec));
  if (handles) {
    CHECK(child.send("go"));
  } else {
    t.ask(child);
    all();
  }
  t.settle();
  const char* const reason = first == First::own      ? "idle user /its own"
                             : first == First::parent ? "idle user /of the parent"
                                                      : "idle user /of the top";
  CHECK(seen.of("child") == Lines{reason});
}

TEST_CASE("an interrupt of a subtree does not give its reason to the turn that follows",
          "[tree][origin][interrupt][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent parent = t.root("parent"), child = t.child(parent, "child");
  t.ask(child);
  CHECK(parent.interrupt({.scope = Scope::subtree, .reason = "one"}).took_effect());
  CHECK(child.send("next"));
  while (t.llm->calls() < 2 && t.runtime->poll(Duration(0))) {
  }
  REQUIRE(t.llm->calls() == 2);
  CHECK(child.interrupt().took_effect());
  t.settle();
  CHECK(seen.of("child") == Lines{"idle user /one"});
}

TEST_CASE("a turn that begins after an interrupt that the loop has not read has no part in its reason",
          "[tree][origin][interrupt][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent parent = t.root("parent");
  const Agent child =
      t.child(parent, "child", {.handler = [&](const Agent& self, const Message& message) {
                if (message.text == "first")
                  CHECK(parent.interrupt({.scope = Scope::subtree, .reason = "one"}).took_effect());
                else
                  CHECK(self.interrupt().took_effect());
              }});
  CHECK(child.send("first"));
  CHECK(child.send("second"));
  t.settle();
  CHECK(t.seen.count("ended child 1 interrupted") == 1);
  CHECK(t.seen.count("ended child 2 interrupted") == 1);
  CHECK(seen.of("child") == Lines{"idle user /one"});
}

TEST_CASE("each of two verbs that the loop reads together tells its own reason",
          "[tree][origin][interrupt][X39]") {
  TreeFixture t;
  Origins seen(*t.tree);
  const Agent a = t.root("a", {.handler = [](const Agent& self, const Message& message) {
                           CHECK(self.interrupt({.reason = message.text}).took_effect());
                         }});
  for (const char* const reason : {"one", "two", "three"}) CHECK(a.send(reason));
  t.settle();
  CHECK(seen.of("a") == Lines{"idle user /one", "idle user /two", "idle user /three"});
}

TEST_CASE("each result has the reason of the end of its own turn, though the loop has read neither",
          "[tree][origin][interrupt][X39]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  std::vector<std::string> reasons;
  const auto ends =
      t.tree->on<TurnEnded>([&](const TurnEnded& ended) { reasons.push_back(ended.result->error.message); });
  t.ask(agent, "first");
  CHECK(agent.send("second"));
  t.runtime->post([&] {
    std::thread([&] { CHECK(agent.interrupt({.reason = "one"}).took_effect()); }).join();
    FakeClient::finish(t.llm->call(0), ChatOutcome::cancelled());  // the next turn may begin
    std::thread([&] { static_cast<void>(agent.interrupt({.reason = "two"})); }).join();
  });
  t.settle();
  if (reasons.size() == 1) {  // the next turn began later
    CHECK(agent.interrupt({.reason = "two"}).took_effect());
    t.settle();
  }
  CHECK(reasons == Lines{"one", "two"});
}
