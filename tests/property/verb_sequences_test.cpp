// Any sequence of verbs leaves histories that every dialect can send, and a held mailbox in its order.
#include "llm/dialects/wire_format.hpp"
#include "property/generate.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/observe/strict_history.hpp"
#include "support/prop.hpp"

#include <agentcore/http_llm_client.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;
using nlohmann::json;

namespace {

std::string body(const detail::llm::WireFormat& format, std::vector<ChatMessage> messages) {
  ChatRequest request;
  request.messages = std::move(messages);
  return format.body(request, {.model = "m", .join_user_messages = true});
}

// ---- The rules of the three dialects, as their providers check them; independent of the writers.

std::string chat_problem(const json& messages) {
  std::set<std::string> open;
  std::string before;
  for (const json& message : messages) {
    const std::string role = message.at("role");
    if (role == "tool") {
      if (open.erase(message.at("tool_call_id")) == 0) return "a result of no open call";
    } else if (!open.empty()) {
      return "a call without a result before the next message";
    } else if (role == before) {
      return "two messages of " + role + " in a row";
    }
    if (message.contains("tool_calls"))
      for (const json& call : message["tool_calls"]) open.insert(call.at("id"));
    before = role;
  }
  return open.empty() ? "" : "a call without a result at the end";
}

std::string anthropic_problem(const json& messages) {
  std::set<std::string> open;
  std::string before = "assistant";
  for (const json& message : messages) {
    const std::string role = message.at("role");
    if (role == before) return "roles do not alternate";
    before = role;
    if (!message.at("content").is_array()) continue;
    bool others = false;
    for (const json& block : message["content"]) {
      const std::string type = block.at("type");
      if (type == "tool_result") {
        if (others) return "a result behind other content";
        if (open.erase(block.at("tool_use_id")) == 0) return "a result of no open call";
      } else {
        others = true;
      }
    }
    if (role == "user" && !open.empty()) return "a call without a result in the next message";
    for (const json& block : message["content"])
      if (block.at("type") == "tool_use") open.insert(block.at("id"));
  }
  return open.empty() ? "" : "a call without a result at the end";
}

std::string responses_problem(const json& input) {
  std::set<std::string> open;
  for (const json& item : input) {
    const std::string type = item.value("type", "message");
    if (type == "function_call") {
      open.insert(item.at("call_id"));
    } else if (type == "function_call_output") {
      if (open.erase(item.at("call_id")) == 0) return "an output of no open call";
    } else if (type == "message" && item.at("role") == "user" && !open.empty()) {
      return "a question before the output of a call";
    }
  }
  return open.empty() ? "" : "a call without an output at the end";
}

std::string problem_of(const std::vector<ChatMessage>& history) {
  if (std::string why = refusal(history); !why.empty()) return why;
  if (!is_valid_history(history)) return "not valid";
  if (history.empty()) return {};
  if (std::string why = chat_problem(json::parse(body(detail::llm::openai_chat(), history)).at("messages"));
      !why.empty())
    return "chat: " + why;
  if (std::string why =
          anthropic_problem(json::parse(body(detail::llm::anthropic_messages(), history)).at("messages"));
      !why.empty())
    return "anthropic: " + why;
  if (std::string why =
          responses_problem(json::parse(body(detail::llm::openai_responses(), history)).at("input"));
      !why.empty())
    return "responses: " + why;
  return {};
}

// ---- One agent, and what may happen to it.

struct Play : ToolTurn {
  Agent agent = ToolTurn::agent();
  int sent = 0;

  std::string next_text() { return "m" + std::to_string(++sent); }
  std::string newest_call() {
    const auto history = agent.conversation().value();
    for (auto message = history.rbegin(); message != history.rend(); ++message)
      if (!message->tool_calls.empty()) return message->tool_calls.back().id;
    return "none";
  }
  FakeClient::Call* open_call() { return llm->open_calls().empty() ? nullptr : llm->open_calls().back(); }
  void finish_call(std::vector<ToolCall> calls) {
    FakeClient::Call* const call = open_call();
    if (!call) return;
    call->sink.delta("words");
    auto outcome = ChatOutcome::completed(calls.empty() ? FinishReason::complete : FinishReason::tool_calls);
    outcome.tool_calls = std::move(calls);
    FakeClient::finish(*call, std::move(outcome));
  }
};

struct PlayStep {
  const char* name;
  std::function<void(Play&)> act;
};

const std::array play_steps{
    PlayStep{"send", [](Play& p) { static_cast<void>(p.agent.send(p.next_text())); }},
    PlayStep{"poll", [](Play& p) { p.poll(); }},
    PlayStep{"poll again", [](Play& p) { p.settle(); }},
    PlayStep{"answer", [](Play& p) { p.finish_call({}); }},
    PlayStep{"call tools",
             [](Play& p) {
               p.finish_call({{.name = "held"}, add_call("", 1, 2), {.name = "held"}});
             }},
    PlayStep{"fail",
             [](Play& p) {
               if (p.open_call()) p.llm->fail("a");
             }},
    PlayStep{"end a tool",
             [](Play& p) {
               if (p.held.calls.size() != 0)
                 p.held.calls[p.held.calls.size() - 1].done(ToolResult::done("ok"));
             }},
    PlayStep{"steer", [](Play& p) { static_cast<void>(p.agent.steer(p.next_text())); }},
    PlayStep{"steer now",
             [](Play& p) { static_cast<void>(p.agent.steer(p.next_text(), {.when = SteerWhen::now})); }},
    PlayStep{"interrupt", [](Play& p) { static_cast<void>(p.agent.interrupt()); }},
    PlayStep{"interrupt and hold",
             [](Play& p) { static_cast<void>(p.agent.interrupt({.queue = QueueAction::hold})); }},
    PlayStep{"interrupt a subtree",
             [](Play& p) { static_cast<void>(p.agent.interrupt({.scope = InterruptScope::subtree})); }},
    PlayStep{"release", [](Play& p) { static_cast<void>(p.agent.release_queue()); }},
    PlayStep{"abort", [](Play& p) { static_cast<void>(p.agent.abort()); }},
    PlayStep{"cancel a call", [](Play& p) { static_cast<void>(p.agent.cancel_call(p.newest_call())); }},
    PlayStep{"complete a call",
             [](Play& p) {
               static_cast<void>(p.agent.complete_call(p.newest_call(), ToolResult::done("by hand")));
             }},
    PlayStep{"stop", [](Play& p) { static_cast<void>(p.agent.stop()); }},
    PlayStep{"resume", [](Play& p) { static_cast<void>(p.agent.resume()); }},
};

}  // namespace

TEST_CASE("any sequence of verbs leaves a history that every dialect can send",
          "[property][turn][interrupt][steer][G8][G9]") {
  prop("also in the middle of a turn", [] {
    const auto sequence =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, play_steps.size()));
    Play play;
    std::string names;
    for (const std::size_t number : sequence) {
      const PlayStep& step = play_steps[number];
      step.act(play);
      names += std::string(names.empty() ? "" : ", ") + step.name;
      const std::string problem = problem_of(play.agent.conversation().value());
      if (!problem.empty()) RC_FAIL(names + ": " + problem);
    }
    RC_ASSERT(play.llm->histories_were_valid());
    RC_ASSERT(play.seen.violations == std::vector<std::string>{});
    play.held.calls.clear();
  });
}

TEST_CASE("a held mailbox keeps the order of its messages", "[property][interrupt]") {
  prop("whatever is sent and interrupted before the release", [] {
    TreeFixture t;
    std::vector<std::string> handled;
    const Agent agent = t.root(
        "a", {.handler = [&](const Agent&, const Message& message) { handled.push_back(message.text); }});
    RC_ASSERT(agent.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    std::vector<std::string> normal, urgent;
    for (int steps_left = *rc::gen::inRange(1, 30); steps_left > 0; --steps_left) {
      const std::string text = std::to_string(steps_left);
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          RC_ASSERT(agent.send({.text = text, .priority = MessagePriority::urgent}).accepted());
          urgent.push_back(text);
          break;
        case 1:
          t.poll();
          break;
        case 2:
          static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
          break;
        default:
          RC_ASSERT(agent.send(text).accepted());
          normal.push_back(text);
      }
    }
    t.settle();
    RC_ASSERT(handled.empty());
    std::vector<std::string> expected = urgent;
    expected.insert(expected.end(), normal.begin(), normal.end());
    std::vector<std::string> queued;
    for (const QueuedMessage& message : agent.queued().value()) queued.push_back(message.message.text);
    RC_ASSERT(queued == expected);
    RC_ASSERT(agent.release_queue().took_effect());
    t.settle();
    RC_ASSERT(handled == expected);
  });
}
