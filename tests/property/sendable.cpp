#include "property/sendable.hpp"

#include "llm/dialects/wire_format.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/history.hpp>
#include <agentcore/http_llm_client.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace property_test {
namespace {

std::string body(const detail::llm::WireFormat& format, std::vector<ChatMessage> messages) {
  ChatRequest request;
  request.messages = std::move(messages);
  return format.body(request, {.model = "m", .join_user_messages = JoinUserMessages::always});
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

}  // namespace

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

std::string context_problem(const Agent& agent, bool removes) {
  const std::vector<ChatMessage> all = agent.conversation().value();
  std::vector<ChatMessage> sent = agent.context().value();
  if (std::string why = problem_of(sent); !why.empty()) return "the context: " + why;
  const auto summary = std::ranges::find_if(sent, &ChatMessage::summary);
  const bool is_summarised = summary != sent.end();
  if (is_summarised) sent.erase(summary);
  auto at = all.begin();
  for (const ChatMessage& message : sent) {
    at = std::find(at, all.end(), message);
    if (at++ == all.end()) return "a message that is not in the conversation, or not in its order";
  }
  for (const ChatMessage& message : all)
    if (message.pinned && std::ranges::find(sent, message) == sent.end()) return "a pinned message is lost";
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const auto& one) { return one.is_question(); });
  const bool sends_last = last == all.rend() || std::ranges::find(sent, *last) != sent.end();
  if (!sends_last && !(removes && is_summarised)) return "the last question is lost";
  return {};
}

}  // namespace property_test
