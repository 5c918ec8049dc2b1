// Two trees that share a client, a router and the id of an agent.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/llm_router.hpp>
#include <agentcore/testing/scripted_client.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct TwoTrees {
  TestClock clock;
  Runtime runtime{{.clock = &clock, .seed = 1}};
  testing::ScriptedClient client{runtime, [](const ChatRequest& request) {
                                   testing::ScriptedReply reply;
                                   reply.silent = request.messages.back().content() == "wait";
                                   if (!reply.silent) reply.deltas = {"answer"};
                                   return reply;
                                 }};
  LlmRouter router{runtime, {.routes = {{.client = &client}}, .limits = {.total = 10, .per_agent = 1}}};

  void settle() {
    for (int i = 0; i < 1000 && runtime.poll(); ++i) {
    }
  }
};

}  // namespace

TEST_CASE("agents of the same id in two trees may share a client", "[tree][A1][A5][A6][X11]") {
  const bool routed = GENERATE(false, true);
  TwoTrees t;
  LlmClient* const llm = routed ? static_cast<LlmClient*>(&t.router) : &t.client;
  AgentTree one(t.runtime, {.llm = llm}), two(t.runtime, {.llm = llm});
  std::vector<std::string> ends;
  const auto note = [&](const Event& event) {
    if (const auto* ended = event.get<TurnEnded>())
      ends.push_back(std::string(to_string(ended->result->outcome)) + " " + std::string(ended->result->text));
  };
  const auto first = one.on_event(note), second = two.on_event(note);
  const Agent a = *one.create({.id = "a"}), b = *two.create({.id = "a"});
  REQUIRE(a.send("wait").accepted());
  REQUIRE(b.send("wait").accepted());
  t.settle();
  CHECK(ends.empty());  // neither is refused, nor waits for the other's slot
  CHECK(t.client.open_calls() == 2);
  CHECK(llm->has_active_request("a"));

  CHECK(a.abort().took_effect());
  t.settle();
  CHECK(ends == std::vector<std::string>{"aborted "});
  CHECK(*b.state() == AgentState::waiting_llm);
  CHECK(llm->has_active_request("a"));

  REQUIRE(a.send("hello").accepted());
  t.settle();
  CHECK(ends.back() == "completed answer");
  REQUIRE(a.send("wait").accepted());
  t.settle();
  CHECK(t.client.open_calls() == 2);

  // By its id alone the client means the agents of all trees.
  CHECK(llm->abort("a"));
  CHECK_FALSE(llm->has_active_request("a"));
  CHECK_FALSE(llm->abort("a"));
  t.settle();
  CHECK(t.client.open_calls() == 0);
  CHECK(ends.size() == 4);
}

TEST_CASE("a request has the number of its tree and a call without a tree has 0", "[tree][A4]") {
  TreeFixture t;
  AgentTree other(*t.runtime, {.llm = t.llm.get()});
  t.ask(t.root("a"));
  REQUIRE(other.create({.id = "b"})->send("question").accepted());
  t.settle();
  REQUIRE(t.llm->calls() == 2);
  CHECK(t.llm->call(0).request.tree == 1);
  CHECK(t.llm->call(1).request.tree == 2);
  CHECK(ChatRequest{}.tree == 0);
}
