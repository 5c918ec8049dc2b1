// Pages of a conversation, and what an agent says of its spec.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

AgentSpec spec_with_history() {
  AgentSpec spec;
  spec.system_prompt = "Be brief.";
  spec.history = {ChatMessage::user("one"), ChatMessage::assistant("1"), ChatMessage::user("two"),
                  ChatMessage::assistant("2")};
  return spec;
}

std::string page(const Agent& agent, std::size_t count, std::optional<std::size_t> end = {}) {
  const ConversationPage page = agent.conversation_page(count, end).value();
  std::string all = std::to_string(page.first) + " of " + std::to_string(page.total) + ":";
  for (const ChatMessage& message : page.messages) all += " " + message.content();
  return all;
}

}  // namespace

TEST_CASE("a page of a conversation has its last messages, or those before an index",
          "[tree][conversation]") {
  TreeFixture t;
  const Agent agent = t.root("a", spec_with_history());
  CHECK(page(agent, 2) == "3 of 5: two 2");
  CHECK(page(agent, 2, 3) == "1 of 5: one 1");
  CHECK(page(agent, 2, 1) == "0 of 5: Be brief.");
  CHECK(page(agent, 2, 0) == "0 of 5:");
  CHECK(page(agent, 0) == "5 of 5:");
  CHECK(page(agent, 100, 100) == "0 of 5: Be brief. one 1 two 2");
}

TEST_CASE("the pages of a conversation together are the conversation", "[tree][conversation]") {
  TreeFixture t;
  const bool has_prompt = GENERATE(false, true);
  AgentSpec spec = spec_with_history();
  if (!has_prompt) spec.system_prompt.clear();
  const Agent agent = t.root("a", std::move(spec));
  const std::vector<ChatMessage> all = agent.conversation().value();
  for (std::size_t count = 1; count <= all.size() + 1; ++count) {
    std::vector<ChatMessage> pages;
    for (std::size_t end = all.size(); end > 0;) {
      ConversationPage older = agent.conversation_page(count, end).value();
      CHECK(older.total == all.size());
      end = older.first;
      pages.insert(pages.begin(), older.messages.begin(), older.messages.end());
    }
    CHECK(pages == all);
  }
}

TEST_CASE("the conversation of an agent without a turn is its system prompt", "[tree][conversation]") {
  TreeFixture t;
  AgentSpec spec;
  spec.system_prompt = "Be brief.";
  CHECK(page(t.root("a", std::move(spec)), 10) == "0 of 1: Be brief.");
  CHECK(page(t.root("b"), 10) == "0 of 0:");
}

TEST_CASE("a page names the calls that have not ended", "[tree][conversation]") {
  ToolTurn t;
  AgentSpec spec;
  if (GENERATE(false, true)) spec.system_prompt = "Be brief.";
  const std::size_t first = spec.system_prompt.empty() ? 0 : 1;  // of the question
  const Agent agent = t.agent(std::move(spec));
  const auto open_calls = [&](std::size_t count) {
    return agent.conversation_page(count).value().open_calls;
  };
  t.ask(agent, "Add.");
  CHECK(open_calls(10).empty());
  t.call({add_call("c1", 1, 2), {.id = "c2", .name = "held", .arguments = "{}"}});
  CHECK(open_calls(10) == std::vector<std::size_t>{first + 3});
  CHECK(agent.conversation_page(10).value().messages[first + 3].tool_call_id == "c2");
  CHECK(open_calls(1) == std::vector<std::size_t>{first + 3});
  CHECK(agent.conversation_page(10, first + 3).value().open_calls.empty());
  t.held.calls.at(0).done(ToolResult::done("x"));
  t.settle();
  CHECK(open_calls(10).empty());
  t.answer("Done.");
  CHECK(open_calls(10).empty());
}

TEST_CASE("a page names the calls of an answer that wait for an approval", "[tree][conversation]") {
  ToolTurn t;
  t.tools->add(make_tool({.name = "pay", .needs_approval = true},
                         [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("paid"); }));
  const Agent agent = t.agent();
  t.ask(agent, "Pay.");
  t.call({{.id = "c1", .name = "pay", .arguments = "{}"}});
  CHECK(agent.conversation_page(10).value().open_calls == std::vector<std::size_t>{2});
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(agent.conversation_page(10).value().open_calls.empty());
}

TEST_CASE("there is no page of the conversation of an agent that does not exist", "[tree][conversation]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK(agent.conversation_page(1).error().code == Errc::agent_not_found);
  CHECK(Agent().conversation_page(1).error().code == Errc::agent_not_found);
}

TEST_CASE("the role and the model of an agent can be read", "[tree]") {
  TreeFixture t;
  AgentSpec spec;
  spec.model.name = "gpt-4o";
  spec.role = AgentRole::system;
  const Agent agent = t.root("a", std::move(spec));
  CHECK(agent.model().value() == "gpt-4o");
  CHECK(agent.role().value() == AgentRole::system);
  CHECK(agent.set_model("other"));
  CHECK(agent.model().value() == "other");
  const Agent plain = t.root("b");
  CHECK(plain.model().value().empty());
  CHECK(plain.role().value() == AgentRole::normal);
  CHECK(plain.terminate().took_effect());
  t.settle();
  CHECK(plain.model().error().code == Errc::agent_not_found);
  CHECK(plain.role().error().code == Errc::agent_not_found);
  CHECK(Agent().model().error().code == Errc::agent_not_found);
}

TEST_CASE("roles have names", "[core]") {
  CHECK(to_string(AgentRole::normal) == "normal");
  CHECK(to_string(AgentRole::system) == "system");
  CHECK(to_string(AgentRole::user) == "user");
}
