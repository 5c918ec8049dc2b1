// The usage of a turn whose model call was ended by a verb, wherever the tree stands among the sources of its
// Runtime.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>

#include <memory>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Sends its counts and one delta, and then nothing more. The answer to "hello" is complete.
void speak(Peer& peer) {
  for (std::string request = peer.read_request(); !request.empty(); request = peer.read_request()) {
    if (request.find("hello") != std::string::npos) {
      peer.write(http_answer("200 OK", "text/event-stream", delta_event("x") + finish_event + done_event));
      continue;
    }
    peer.write(std::string(stream_head) + usage_event + delta_event("x"));
    return peer.wait_close();
  }
}

enum class Place { first, second, after_a_call };

}  // namespace

TEST_CASE("a call over HTTP that a verb ended is never reported as free", "[openai][usage][G6][G15]") {
  const Place place = GENERATE(Place::first, Place::second, Place::after_a_call);
  const int verb = GENERATE(0, 1, 2);
  LlmFixture f(speak);
  HttpLlmOptions options = f.client_options();
  options.prices = {{"test-model", {.prompt = 1e6, .completion = 1e6}}};
  HttpLlmClient llm(*f.runtime, options);
  std::unique_ptr<AgentTree> other;
  if (place == Place::second) {
    other = std::make_unique<AgentTree>(*f.runtime, TreeOptions{.llm = &llm});
    const Agent agent = *other->create({.id = "a"});
    REQUIRE(agent.send("hello").accepted());
    REQUIRE(f.drive_until([&] { return !other->busy(); }));
  } else if (place == Place::after_a_call) {
    llm.chat(ask("b"), {}, f.heard.sink());
    REQUIRE(f.drive_to_end(f.heard));
    REQUIRE(f.heard.completed());
  }
  AgentTree tree(*f.runtime, {.llm = &llm});
  bool streaming = false, over = false;
  TurnEnded end;
  Subscription events = tree.on_event([&](const Event& event) {
    streaming = streaming || event.get<DeltaReceived>();
    if (const auto* ended = event.get<TurnEnded>()) end = *ended, over = true;
  });
  const Agent parent = *tree.create({.limits = {.subtree_budget = {.tokens = 10'000}}});
  const Agent agent =
      *parent.create_child({.id = "a", .model = {.prices = {.prompt = 1e6, .completion = 1e6}}});
  REQUIRE(agent.send("talk").accepted());
  REQUIRE(f.drive_until([&] { return streaming; }));
  if (verb == 0) REQUIRE(agent.stop().took_effect());
  if (verb == 1) REQUIRE(agent.abort().took_effect());
  if (verb == 2) REQUIRE(agent.terminate().took_effect());
  REQUIRE(f.drive_until([&] { return over && !tree.busy(); }));

  CHECK_FALSE(end.result->usage.complete);
  CHECK(end.result->usage.prompt_tokens > 0);
  CHECK(end.result->usage.completion_tokens > 0);
  REQUIRE(end.result->cost);
  CHECK(*end.result->cost > 0);
  // The transport, a source before the tree, has ended the call first: the provider's counts are known.
  if (place != Place::first) CHECK(end.result->usage == Usage{1, 2, 3, 0, 0, false});
  CHECK(parent.spent(Scope::subtree).value().tokens == end.result->usage.total_tokens);
  CHECK(parent.spent(Scope::subtree).value().tokens_reserved == 0);
  CHECK(f.server.wait([&] { return f.server.closed() > 0; }));
  CHECK(f.drive_until([&] { return llm.open_calls() == 0; }));
  events.reset();
}
