// A conversation is taken out of an agent, kept as JSON, and put into another one that goes on with it.
#include "llm/dialects/own_reasoning.hpp"
#include "support/drive/tool_turn.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using History = std::vector<ChatMessage>;

History through_json(const History& history) {
  const auto read = history_from_json(history_to_json(history));
  INFO((read ? std::string() : read.error().message));
  REQUIRE(read);
  return *read;
}

std::string refusal(const TreeFixture& t, AgentSpec spec) {
  const auto made = t.tree->create(std::move(spec));
  if (made) return "(none)";
  CHECK(made.error().code == Errc::invalid_history);
  return made.error().message;
}

// Everything that a history can hold: turns that were aborted, stopped and failed, a picture, calls with
// results, the reasoning of the model, a pin.
History eventful(ToolTurn& t, const Agent& agent) {
  t.ask(agent, "aborted");
  CHECK(agent.abort().took_effect());
  t.settle();
  REQUIRE(agent.send(Message{.text = "a picture", .parts = {{.data = "aGk=", .media_type = "image/png"}}}));
  t.settle();
  FakeClient::Call* const call = t.llm->find("a");
  REQUIRE(call);
  ChatOutcome asks = ChatOutcome::completed(FinishReason::tool_calls);
  asks.tool_calls = {add_call("x1", 2, 3), {.id = "x2", .name = "nothing"}};
  asks.reasoning = {{"openai_chat", R"({"reasoning_content":"Hm"})", "api.example.com"}};
  FakeClient::finish(*call, asks);
  t.settle();
  t.answer("five");
  t.ask(agent, "failed");
  t.llm->fail("a");
  t.settle();
  t.ask(agent, "stopped");
  t.call({{.id = "x3", .name = "held"}});
  CHECK(agent.stop().took_effect());
  t.held.calls.clear();
  t.settle();
  History history = agent.conversation().value();
  REQUIRE(history.size() > 2);
  history[1].pinned = true;
  return history;
}

}  // namespace

TEST_CASE("a conversation can be exported as JSON and imported and continued", "[turn][tools][G8][X22]") {
  const auto [prompt, prompt_of_next] =
      GENERATE(table<std::string, std::string>({{"", ""}, {"Be brief.", ""}, {"Be brief.", "Be brief."}}));
  ToolTurn first;
  const History history = eventful(first, first.agent({.system_prompt = prompt}));
  CHECK(through_json(history) == history);
  CHECK(written(history) ==
        (prompt.empty() ? "" : "system:Be brief., ") +
            std::string("user:aborted!aborted, user:a picture, assistant:[add x1][nothing x2], tool:x1=5, "
                        "tool:x2=error: Tool 'nothing' does not exist, assistant:five, user:failed!failed, "
                        "user:stopped!stopped, assistant:[held x3], tool:x3=interrupted: it had begun when "
                        "its turn ended, and its effect is unknown"));

  ToolTurn second;
  const Agent agent = second.agent({.system_prompt = prompt_of_next, .history = through_json(history)});
  CHECK(agent.conversation().value() == history);
  second.ask(agent, "and now?");
  History expected = history;
  expected.push_back(ChatMessage::user("and now?"));
  CHECK(second.llm->call(0).request.messages == expected);
  second.call({add_call("x1", 1, 1)});  // an id that the history has already
  second.answer("two");
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(agent.conversation().value().size() == history.size() + 4);
}

TEST_CASE("a conversation exported in the middle of a turn is imported as a stopped turn",
          "[turn][tools][G8][G9]") {
  ToolTurn first;
  first.ask(first.agent({.system_prompt = "Be brief."}));
  first.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});
  ToolTurn second;
  const Agent agent = second.agent({.history = through_json(first["a"].conversation().value())});
  CHECK(
      second.history() ==
      "system:Be brief., user:question!stopped, assistant:[held x][held y], tool:x=interrupted: it had begun "
      "when its turn ended, and its effect is unknown, tool:y=not started: its turn ended before it began");
  second.ask(agent, "and now?");
  second.answer("well");
  CHECK(is_valid_history(agent.conversation().value()));
  first.held.calls.clear();
}

TEST_CASE("the system message of a history is the system prompt", "[turn][tree][G8]") {
  TreeFixture t;
  const History history{ChatMessage::system("Be brief."), ChatMessage::user("?"),
                        ChatMessage::assistant("!")};
  CHECK(t.root("empty", {.history = history}).conversation().value() == history);
  CHECK(t.root("same", {.system_prompt = "Be brief.", .history = history}).conversation().value() == history);
  const std::string problem = refusal(t, {.system_prompt = "Be kind.", .history = history});
  CHECK(problem ==
        "AgentSpec::history: message 1 (system) is not AgentSpec::system_prompt; leave system_prompt empty "
        "to go "
        "on with the history's, or remove message 1 to replace it");
  const History without(history.begin() + 1, history.end());
  CHECK(
      written(t.root("replaced", {.system_prompt = "Be kind.", .history = without}).conversation().value()) ==
      "system:Be kind., user:?, assistant:!");
  // An agent that was never asked has no more than its prompt. A spec may be shared.
  const auto shared = std::make_shared<AgentSpec>(AgentSpec{.history = {history.front()}});
  const auto agent = t.tree->create(SharedAgentSpec(shared));
  REQUIRE(agent);
  t.ask(*agent, "go");
  CHECK(written(t.llm->call(0).request.messages) == "system:Be brief., user:go");
}

TEST_CASE("a history that cannot be sent is refused with its first wrong message and what helps",
          "[turn][tree][G8]") {
  TreeFixture t;
  const History broken{ChatMessage::system("Be brief."), ChatMessage::user("?"), ChatMessage::user("?")};
  CHECK(
      refusal(t, {.history = broken}) ==
      "AgentSpec::history: message 3 (user) comes before the answer to the question before it, which is not "
      "marked as interrupted; repair_history() makes a valid history of it");
  CHECK(t.tree->size() == 0);
  CHECK(refusal(t, {.history = repair_history(broken).messages}) == "(none)");
}

TEST_CASE("windows and instructions are sent but are not part of the conversation", "[turn][tools][G8]") {
  for (const ToolProtocol protocol : {ToolProtocol::native, ToolProtocol::text}) {
    ToolTurn first, second;
    first.tools->open({.id = "sea", .content = "The sea is blue."});
    first.ask(first.agent({.system_prompt = "Be brief.", .tool_protocol = protocol}));
    REQUIRE_FALSE(first.llm->call(0).request.messages.empty());
    CHECK(first.llm->call(0).request.tail.find("The sea is blue.") != std::string::npos);
    first.answer("yes");
    CHECK(first.history() == "system:Be brief., user:question, assistant:yes");
    CHECK(first["a"].context().value() == first["a"].conversation().value());
    const Agent agent =
        second.agent({.system_prompt = "Be brief.", .history = first["a"].conversation().value()});
    CHECK(agent.conversation().value() == first["a"].conversation().value());
  }
}

TEST_CASE("an answer with calls is kept in the order in which the model wrote it",
          "[turn][tools][items][G8]") {
  using Kind = AnswerPart::Kind;
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent, "add twice");
  FakeClient::Call* const call = t.llm->find("a");
  REQUIRE(call);
  t.llm->delta("a", "First.");
  t.llm->delta("a", "\n\nSecond.");
  ChatOutcome asks = ChatOutcome::completed(FinishReason::tool_calls);
  asks.tool_calls = {add_call("x1", 2, 3), add_call("x2", 4, 5)};
  asks.reasoning = {{"anthropic_messages", "{}"}, {"anthropic_messages", R"({"n":2})"}};
  asks.order = {{.kind = Kind::reasoning},
                {.kind = Kind::text, .offset = 0, .bytes = 6, .id = "m1", .phase = "commentary"},
                {.kind = Kind::tool_call},
                {.kind = Kind::reasoning},
                {.kind = Kind::text, .offset = 8, .bytes = 7},
                {.kind = Kind::tool_call}};
  FakeClient::finish(*call, asks);
  t.settle();
  const std::vector<MessageItem> wanted{asks.reasoning[0],   TextItem{"First.", false, "m1", "commentary"},
                                        asks.tool_calls[0],  asks.reasoning[1],
                                        TextItem{"Second."}, asks.tool_calls[1]};
  CHECK(t.llm->call(1).request.messages.at(1).items == wanted);
  t.llm->delta("a", "A");
  t.llm->delta("a", "\n\nB");
  FakeClient::Call* const last = t.llm->find("a");
  REQUIRE(last);
  ChatOutcome ends = ChatOutcome::completed(FinishReason::complete);
  ends.order = {{.kind = Kind::text, .offset = 0, .bytes = 1, .refusal = true},
                {.kind = Kind::text, .offset = 3, .bytes = 1}};
  FakeClient::finish(*last, ends);
  t.settle();
  const History history = agent.conversation().value();
  REQUIRE(history.size() == 5);
  CHECK(history[1].items == wanted);
  CHECK(history[4].items == std::vector<MessageItem>{TextItem{"A", true}, TextItem{"B"}});
  CHECK(history[4].content() == "A\n\nB");
  CHECK(through_json(history) == history);
}

TEST_CASE("signed reasoning stays bound to what the model read, over rounds and turns",
          "[turn][tools][reasoning][G8]") {
  using detail::llm::Binding;
  const ReasoningRule rule{.same_prefix = true};
  ToolTurn t;
  const Agent agent = t.agent({.system_prompt = "Be brief.", .model = {.name = "m"}});
  const auto answer_with_call = [&](const std::string& id) {
    FakeClient::Call* const call = t.llm->find("a");
    REQUIRE(call);
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
    outcome.tool_calls = {add_call(id, 2, 3)};
    ReasoningBlock block = detail::llm::block_of(Dialect::anthropic_messages, "a.test",
                                                 detail::llm::binding_of(call->request, rule, "key"));
    block.data = R"({"type":"thinking","thinking":"","signature":"s"})";
    outcome.reasoning = {block};
    FakeClient::finish(*call, outcome);
    t.settle();
  };
  for (const char* const turn : {"1", "2"}) {
    t.ask(agent, "add");
    answer_with_call(std::string("x") + turn);
    answer_with_call(std::string("y") + turn);
    t.answer("done");
  }
  t.ask(agent, "and?");
  FakeClient::Call* const call = t.llm->find("a");
  REQUIRE(call);
  ChatRequest request = call->request;
  const Binding binding = detail::llm::binding_of(request, rule, "key");
  CHECK(detail::llm::keep_own_reasoning(request, Dialect::anthropic_messages, rule, "a.test", binding) == 0);
  CHECK(request.messages == call->request.messages);  // all four blocks
  CHECK_FALSE(request.salt.empty());
  request.messages.erase(request.messages.begin());  // the system prompt
  CHECK(detail::llm::keep_own_reasoning(request, Dialect::anthropic_messages, rule, "a.test", binding) == 4);
}
