// What a turn asks its model for, and what it makes of all that an answer says besides its words.
#include "support/drive/tool_turn.hpp"

#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Accounted : TreeFixture {
  std::optional<TurnEnded> end;
  Subscription ends;

  Accounted() {
    ends = tree->on_event([this](const Event& event) {
      if (const auto* ended = event.get<TurnEnded>()) end = *ended;
    });
  }
  const ChatRequest& request() { return llm->call(llm->calls() - 1).request; }
};

ChatOutcome answered(Usage usage, std::optional<double> cost = {}) {
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete, usage);
  outcome.cost = cost;
  return outcome;
}

}  // namespace

TEST_CASE_METHOD(Accounted, "the answer options of the spec are in the request", "[turn][O2]") {
  AgentSpec spec;
  spec.id = "a";
  spec.model.reasoning_effort = "low";
  spec.model.response_format = {ResponseFormat::Kind::json_schema, "city", R"({"type":"object"})"};
  REQUIRE(tree->create(spec));
  REQUIRE(tree->find("a")->send("question").accepted());
  settle();
  CHECK(request().reasoning_effort == "low");
  CHECK(request().response_format == spec.model.response_format);
}

TEST_CASE_METHOD(ToolTurn,
                 "a tool has to be called by the first answer, also when the model is asked again for it",
                 "[turn][steer]") {
  const Agent made = agent({.model = {.tool_choice = {.mode = ToolChoice::Mode::required}}});
  ask(made);
  CHECK(llm->call(0).request.tool_choice.mode == ToolChoice::Mode::required);
  CHECK(made.steer("quickly", {.when = SteerWhen::now}).reason == Errc::none);
  settle();
  REQUIRE(llm->calls() == 2);
  CHECK(llm->call(1).request.tool_choice.mode == ToolChoice::Mode::required);
}

TEST_CASE_METHOD(ToolTurn, "a tool has to be called only by the first answer of a turn", "[turn]") {
  AgentSpec spec;
  spec.model.tool_choice.mode = ToolChoice::Mode::required;
  agent(spec);
  for (int turn = 0; turn < 2; ++turn) {
    REQUIRE(tree->find("a")->send("question").accepted());
    settle();
    CHECK(llm->call(llm->calls() - 1).request.tool_choice == spec.model.tool_choice);
    call({add_call("c" + std::to_string(turn), 1, 2)});
    CHECK(llm->call(llm->calls() - 1).request.tool_choice == ToolChoice{});
    answer("3");
  }
}

TEST_CASE_METHOD(Accounted, "images are sent with their message and count against its size", "[turn][G12]") {
  root("a");
  const std::vector<ContentPart> parts = {{.url = "https://pictures/1.png"},
                                          {.data = "aGk=", .media_type = "image/png"}};
  REQUIRE((*this)["a"].send({.text = "what is it?", .parts = parts}).accepted());
  settle();
  REQUIRE(request().messages.size() == 1);
  CHECK(request().messages[0].parts() == parts);
  CHECK((*this)["a"].conversation().value().at(0).parts() == parts);
  const std::string large(TreeOptions().max_message_bytes, 'x');
  CHECK((*this)["a"].send({.text = "and this?", .parts = {{.data = large}}}).reason ==
        Errc::message_too_large);
}

TEST_CASE_METHOD(Accounted, "reasoning is reported and is not part of the answer", "[turn][G7]") {
  std::string thoughts;
  const auto events = tree->on_event([&](const Event& event) {
    if (const auto* reasoning = event.get<ReasoningReceived>())
      thoughts += std::to_string(reasoning->turn) + std::string(reasoning->text);
  });
  root("a");
  REQUIRE(tree->find("a")->send("question").accepted());
  settle();
  llm->reason("a", "hm, ");
  llm->reason("a", "yes");
  llm->delta("a", "Yes.");
  ChatOutcome outcome = answered({1, 2, 3});
  outcome.reasoning = {{"anthropic_messages", R"({"type":"thinking"})"}};
  FakeClient::finish(*llm->find("a"), outcome);
  settle();
  CHECK(thoughts == "1hm, 1yes");
  REQUIRE(end);
  CHECK(end->result->text == "Yes.");
  CHECK((*this)["a"].conversation().value().back().content() == "Yes.");
  CHECK((*this)["a"].conversation().value().back().reasoning() == outcome.reasoning);
}

TEST_CASE_METHOD(Accounted, "late reasoning is dropped like late deltas", "[turn][G7]") {
  llm->on_stop = OnStop::deaf;
  bool heard = false;
  const auto events =
      tree->on_event([&](const Event& event) { heard |= event.get<ReasoningReceived>() != nullptr; });
  const Agent agent = root("a");
  REQUIRE(tree->find("a")->send("question").accepted());
  settle();
  REQUIRE(agent.stop().took_effect());
  llm->reason("a", "late");
  settle();
  CHECK_FALSE(heard);
}

TEST_CASE_METHOD(Accounted, "a turn reports usage and cost summed over its calls", "[turn][G15]") {
  AgentSpec spec;
  spec.id = "a";
  spec.model.prices = {.prompt = 2, .completion = 10, .cached_prompt = 1, .cache_write = 4};
  REQUIRE(tree->create(spec));
  REQUIRE(tree->find("a")->send("question").accepted());
  settle();
  FakeClient::finish(*llm->find("a"), answered({.prompt_tokens = 1'000'000,
                                                .completion_tokens = 100'000,
                                                .total_tokens = 1'100'000,
                                                .cached_tokens = 500'000,
                                                .cache_write_tokens = 250'000}));
  settle();
  REQUIRE(end);
  CHECK(end->result->usage.cached_tokens == 500'000);
  CHECK(end->result->usage.cache_write_tokens == 250'000);
  CHECK(end->result->usage.complete);
  CHECK(end->result->cost == 3.0);  // 0.5 + 0.5 + 1 + 1

  REQUIRE(tree->find("a")->send("again").accepted());
  settle();
  FakeClient::finish(*llm->find("a"), answered({1, 2, 3}, 0.25));
  settle();
  CHECK(end->result->cost == 0.25);  // the provider knows better
}

TEST_CASE_METHOD(Accounted, "without prices a turn has no cost", "[turn]") {
  root("a");
  REQUIRE(tree->find("a")->send("question").accepted());
  settle();
  FakeClient::finish(*llm->find("a"), answered({1, 2, 3}));
  settle();
  REQUIRE(end);
  CHECK_FALSE(end->result->cost);
}

TEST_CASE_METHOD(Accounted, "a stopped turn reports an estimate of what it used", "[turn][A19][G7]") {
  AgentSpec spec;
  spec.id = "a";
  spec.model.prices = {.prompt = 1e6, .completion = 1e6};
  const Agent agent = tree->create(spec).value();
  SECTION("by an abort") {
    REQUIRE(tree->find("a")->send("question").accepted());
    settle();
    llm->delta("a", "0123456789");
    REQUIRE(agent.abort().took_effect());
  }
  SECTION("by a stop") {
    REQUIRE(tree->find("a")->send("question").accepted());
    settle();
    llm->delta("a", "0123456789");
    REQUIRE(agent.stop().took_effect());
  }
  settle();
  REQUIRE(end);
  CHECK_FALSE(end->result->usage.complete);
  CHECK(end->result->usage.completion_tokens == 4);
  CHECK(end->result->usage.prompt_tokens > 0);
  CHECK(end->result->usage.total_tokens == end->result->usage.prompt_tokens + 4);
  REQUIRE(end->result->cost);
  CHECK(*end->result->cost == static_cast<double>(end->result->usage.total_tokens));
  CHECK(end->result->usage == end->result->usage);
}
