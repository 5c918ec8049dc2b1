// Which part of an agent's requests is stable, and the key under which a provider caches it.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>

using namespace agentcore;
using namespace agentcore::test;

using Ends = std::vector<std::size_t>;

TEST_CASE("the question of an interrupted turn ended a request and stays apart", "[turn][context]") {
  TreeFixture t;
  const Agent agent = t.root("a", {.system_prompt = "Be brief."});
  t.ask(agent, "one");
  CHECK(t.llm->call(0).request.sent_before.empty());
  CHECK(agent.interrupt().took_effect());
  t.settle();
  t.ask(agent, "two");
  CHECK(t.llm->call(1).request.sent_before == Ends{2});  // the system message and "one"
  t.llm->answer("a", "re two");
  t.settle();
  t.ask(agent, "three");
  CHECK(t.llm->call(2).request.sent_before == Ends{2, 3});
  t.llm->answer("a", "re three");
  t.settle();
  t.ask(agent, "four");
  CHECK(t.llm->call(3).request.sent_before == Ends{2, 5});  // an answer separates "two" and "three"
}

TEST_CASE("an answer of white space does not separate two questions", "[turn][context]") {
  TreeFixture t;
  const bool blank = GENERATE(true, false);
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  t.llm->answer("a", blank ? " \n" : "re one");
  t.settle();
  t.ask(agent, "two");
  CHECK(t.llm->call(1).request.sent_before == Ends{1});
  t.llm->answer("a", "re two");
  t.settle();
  t.ask(agent, "three");
  CHECK(t.llm->call(2).request.sent_before == (blank ? Ends{1, 3} : Ends{3}));
}

TEST_CASE("two questions of a history stay apart", "[turn][context]") {
  TreeFixture t;
  AgentSpec spec;
  spec.history = {ChatMessage::user("one"), ChatMessage::user("two"), ChatMessage::assistant("re two")};
  spec.history.front().interruption = Interruption::stopped;
  t.ask(t.root("a", std::move(spec)), "three");
  CHECK(t.llm->call(0).request.sent_before == Ends{1, 2});
}

TEST_CASE("a question whose request was never sent is joined with the next one", "[turn][context][budget]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.grant({.tokens = 1}));
  CHECK(agent.send("one"));
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(agent.grant({.tokens = 100'000}));
  CHECK(agent.resume().took_effect());
  t.settle();
  t.ask(agent, "two");
  REQUIRE(t.llm->calls() == 1);
  CHECK(t.llm->call(0).request.sent_before.empty());
}

TEST_CASE("the ends of earlier requests stay within a request that is trimmed", "[turn][context]") {
  TreeFixture t;
  const Agent agent =
      t.root("a", {.context = {.max_tokens = 60,
                               .target_tokens = 30,
                               .min_conversation_tokens = 1,
                               .count_tokens = [](std::string_view text) { return text.size(); }}});
  for (int i = 0; i < 20; ++i) {
    t.ask(agent, "question " + std::to_string(i));
    const ChatRequest& request = t.llm->call(t.llm->calls() - 1).request;
    CHECK(request.sent_before.size() <= request.messages.size());
    for (const std::size_t end : request.sent_before) CHECK(end < request.messages.size());
    if (i % 2 == 0) {
      CHECK(agent.interrupt().took_effect());
    } else {
      t.llm->answer("a", "answer");
    }
    t.settle();
  }
}

TEST_CASE("a refused answer and what is steered behind it are not stable", "[turn][context]") {
  TreeFixture t;
  AgentSpec spec;
  spec.model.response_format = {.kind = ResponseFormat::Kind::json_object};
  const Agent agent = t.root("a", std::move(spec));
  t.ask(agent);
  CHECK_FALSE(t.llm->call(0).request.stable_messages);
  CHECK(agent.steer("and quickly").reason == Errc::none);
  t.llm->answer("a", "no JSON");
  t.settle();
  const ChatRequest& second = t.llm->call(1).request;
  REQUIRE(second.messages.size() == 4);
  CHECK(second.messages.back().content() == "and quickly");
  CHECK(second.stable_messages == 1U);
  CHECK(second.sent_before.empty());  // the first one ended where the stable part does
}

TEST_CASE("the cache key of an agent is a hash of its id, or that of its spec", "[turn][context]") {
  TreeFixture t;
  t.ask(t.root("alice"));
  t.ask(t.root("bob"));
  t.ask(t.root("carol", {.model = {.cache_key = "team-1"}}));
  const std::string alice = t.llm->call(0).request.cache_key;
  CHECK_FALSE(alice.empty());
  CHECK(alice.size() <= 64);
  CHECK(alice.find("alice") == std::string::npos);
  CHECK(alice != t.llm->call(1).request.cache_key);
  CHECK(t.llm->call(2).request.cache_key == "team-1");
  t.ask(t["alice"].fork({.id = "copy"}).value());
  CHECK(t.llm->call(3).request.cache_key == alice);  // they have a beginning in common
}

TEST_CASE("a cache key of more than 64 bytes is refused at the creation", "[tree][create]") {
  TreeFixture t;
  CHECK(t.tree->create({.model = {.cache_key = std::string(64, 'k')}}));
  const Result<Agent> refused = t.tree->create({.model = {.cache_key = std::string(65, 'k')}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_config);
}
