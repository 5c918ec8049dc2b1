// Any agent can go on with the conversation of another.
#include "any_history.hpp"
#include "support/drive/tool_turn.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using property_test::any_words;
using property_test::HistoryWriter;

namespace {

using History = std::vector<ChatMessage>;

std::vector<ReasoningBlock> any_reasoning() {
  if (*rc::gen::arbitrary<bool>()) return {};
  return {{"anthropic_messages", *any_words(), "api.example.com"}};
}

void finish(ToolTurn& t, std::vector<ToolCall> calls) {
  FakeClient::Call* const call = t.llm->find("a");
  RC_ASSERT(call);
  call->sink.delta(*any_words());
  auto outcome = ChatOutcome::completed(calls.empty() ? FinishReason::complete : FinishReason::tool_calls);
  outcome.tool_calls = std::move(calls);
  outcome.reasoning = any_reasoning();
  FakeClient::finish(*call, outcome);
  t.settle();
}

// Asks the agent; how far the turn comes, and how it ends, is any.
void play_turn(ToolTurn& t, const Agent& agent) {
  Message message{.text = "x" + *any_words()};
  if (*rc::gen::inRange(0, 4) == 0) message.parts = {{.url = "https://a/b.png", .detail = "low"}};
  RC_ASSERT(agent.send(std::move(message)).accepted());
  t.settle();
  for (int steps = *rc::gen::inRange(0, 3); steps > 0; --steps)
    finish(t, {add_call(*rc::gen::element<std::string>("", "x1"), 1, 2), {.name = "nothing"}});
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      static_cast<void>(agent.abort());
      break;
    case 1:
      t.llm->fail("a");
      break;
    case 2:  // while a tool runs
      finish(t, {{.name = "held"}, add_call("x2", 1, 2)});
      [[fallthrough]];
    case 3:
      RC_ASSERT(agent.stop().took_effect());
      t.held.calls.clear();
      t.settle();
      RC_ASSERT(agent.resume().took_effect());
      break;
    default:
      finish(t, {});
  }
  t.settle();
}

// A question that has no answer yet counts as stopped when the history is put back.
History put_back(History history) {
  for (auto message = history.rbegin(); message != history.rend(); ++message) {
    const bool is_answer = message->role == Role::assistant && message->tool_calls().empty();
    if (message == history.rbegin() && is_answer && !message->is_partial()) break;
    if (!message->is_question()) continue;
    if (message->interruption == Interruption::none) message->interruption = Interruption::stopped;
    break;
  }
  // A system message that is empty is none.
  if (!history.empty() && history[0].role == Role::system && history[0].content().empty())
    history.erase(history.begin());
  if (!history.empty() && history[0].role == Role::system) history[0].pinned = false;  // it is always sent
  return history;
}

void go_on_with(const History& history, const std::string& prompt) {
  const auto read = history_from_json(history_to_json(history));
  RC_ASSERT(read);
  RC_ASSERT(*read == history);
  ToolTurn t;
  const auto agent = t.tree->create({.id = "a", .system_prompt = prompt, .tools = t.tools, .history = *read});
  RC_ASSERT(agent);
  History expected = put_back(history);
  if (const History begins = agent->conversation().value(); begins != expected)
    RC_FAIL(history_to_json(begins) + " is not " + history_to_json(expected));
  RC_ASSERT(agent->send("and now?").accepted());
  t.settle();
  expected.push_back(ChatMessage::user("and now?"));
  RC_ASSERT(t.llm->call(0).request.messages == expected);
  finish(t, {add_call("x1", 1, 2)});
  t.answer("three");
  RC_ASSERT(agent->conversation().value().size() == expected.size() + 3);
  RC_ASSERT(is_valid_history(agent->conversation().value()));
}

}  // namespace

TEST_CASE("any conversation can be exported as JSON and imported and continued", "[property][turn][G8]") {
  prop("it comes back as it was, and the next turn follows it", [] {
    const std::string prompt = *rc::gen::element<std::string>("", "Be brief.");
    ToolTurn t;
    const Agent agent = t.agent({.system_prompt = prompt});
    for (int turns = *rc::gen::inRange(0, 5); turns > 0; --turns) play_turn(t, agent);
    if (*rc::gen::inRange(0, 3) == 0) {  // in the middle of a turn
      RC_ASSERT(agent.send("open").accepted());
      t.settle();
      if (*rc::gen::arbitrary<bool>()) finish(t, {{.name = "held"}, {.name = "held"}});
    }
    History history = agent.conversation().value();
    for (ChatMessage& message : history)
      message.pinned = message.role != Role::system && *rc::gen::inRange(0, 5) == 0;
    go_on_with(history, *rc::gen::element<std::string>("", prompt));
    t.held.calls.clear();
  });
}

TEST_CASE("any valid history can be continued", "[property][turn][G8]") {
  prop("an agent that begins with it has it, and the next turn follows it",
       [] { go_on_with(HistoryWriter(20).write(*rc::gen::inRange(0, 6)), ""); });
}
