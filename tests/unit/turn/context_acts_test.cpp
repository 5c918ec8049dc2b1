// A tool that sends or creates through its ToolContext acts as its agent.
#include "support/drive/tool_turn.hpp"

#include <functional>
#include <optional>
#include <string>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A call of the tool `held` that runs; `other` is an agent elsewhere.
struct Acting : ToolTurn {
  explicit Acting(TreeOptions options = {}) : ToolTurn(options) {
    a = agent({.limits = {.background_tasks = 1}});
    other = root("other");
    ask(a);
    call({{.id = "x", .name = "held"}});
    REQUIRE(held.calls.size() == 1);
    context.emplace(held.calls[0].context);
  }
  // The reason of a send and of a create, which must be the same.
  Errc reason() {
    const SendResult sent = context->send(other, {.text = "from the tool"});
    const Result<Agent> created = context->create_child(other, {});
    const Errc refused = created ? Errc::none : created.error().code;
    CHECK(sent.reason == refused);
    CHECK(sent.accepted() == (sent.reason == Errc::none));
    return sent.reason;
  }

  Agent a, other;
  std::optional<ToolContext> context;
};

}  // namespace

TEST_CASE("a tool sends and creates through its context while its agent may act", "[turn][acts][X41]") {
  Acting t;
  CHECK(t.context->send(t.other, {.text = "hello"}));
  const Agent child = t.context->create_child(t.a, {.id = "child"}).value();
  CHECK(child.parent().value() == t.a);
  CHECK(t.context->create_child(t.other, {}).has_value());
  CHECK(t.context->send(t.other, {}).reason == Errc::empty_message);
  SendResult sent;
  std::thread([&] { sent = t.context->send(t.other, {.text = "from another thread"}); }).join();
  CHECK(sent);
}

TEST_CASE("a tool of a closed agent is refused through its context at once", "[turn][acts][X41][G1]") {
  Acting t;
  SECTION("stopped") {
    CHECK(t.a.stop().took_effect());
    CHECK(t.reason() == Errc::agent_stopping);
    t.settle();
    t.advance(std::chrono::seconds(6));
    CHECK(t.reason() == Errc::agent_stopped);
    CHECK(t.a.resume().took_effect());
    t.settle();
    CHECK(t.reason() == Errc::call_over);  // the call was of the turn that the stop has ended
  }
  SECTION("deleted") {
    CHECK(t.a.terminate().took_effect());
    CHECK(t.reason() == Errc::agent_terminating);
    t.settle();
    t.advance(std::chrono::seconds(6));
    CHECK(t.reason() == Errc::agent_not_found);
  }
  SECTION("all agents stopped") {
    CHECK(t.tree->stop_all().took_effect());
    CHECK(t.context->send(t.other, {.text = "x"}).reason == Errc::agent_stopping);
  }
  SECTION("interrupted") {
    CHECK(t.a.interrupt().took_effect());
    CHECK(t.reason() == Errc::call_over);
    t.settle();
    t.ask(t.a, "next");  // the next turn is not that of the call
    CHECK(t.reason() == Errc::call_over);
  }
  SECTION("interrupted with the subtree") {
    CHECK(t.a.interrupt({.scope = Scope::subtree}).took_effect());
    CHECK(t.reason() == Errc::call_over);
  }
  SECTION("cancelled") {
    CHECK(t.a.cancel_call("x").took_effect());
    CHECK(t.reason() == Errc::call_over);
  }
  SECTION("completed by the host") {
    CHECK(t.a.complete_call("x", ToolResult::done("by hand")).took_effect());
    CHECK(t.reason() == Errc::call_over);
  }
  SECTION("the Runtime is destroyed") {
    t.ends.reset();
    t.seen.unwatch();
    t.runtime.reset();
    CHECK(t.context->send(t.other, {.text = "x"}).reason == Errc::runtime_gone);
  }
  // The host's own handle is the host's.
  if (t.runtime && t.other.state().value() == AgentState::idle) CHECK(t.other.send("from the host"));
  t.check_at_end = t.runtime != nullptr;
}

TEST_CASE("a call that timed out is refused through its context", "[turn][acts][X41]") {
  Acting t({.tool_timeout = std::chrono::seconds(1)});
  t.advance(std::chrono::seconds(2));
  CHECK(t.reason() == Errc::call_over);
}

TEST_CASE("a background task acts after the end of its turn and until its own", "[turn][acts][X41]") {
  ToolTurn t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}}), other = t.root("other");
  t.ask(agent);
  t.call({{.name = "later"}});
  t.answer("started");
  const ToolContext context = t.held.calls[0].context;
  CHECK(context.send(other, {.text = "in the background"}));
  CHECK(t.tree->cancel_task(t.tree->tasks()[0].id).took_effect());
  CHECK(context.send(other, {.text = "too late"}).reason == Errc::call_over);
  CHECK(context.create_child(other, {}).error().message == "the tool call may create no agent: call_over");
}
