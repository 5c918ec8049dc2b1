#include "property/sendable.hpp"

#include "support/observe/strict_history.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

namespace property_test {
namespace {

// What a provider refuses of a request with that history and a question behind it.
std::string refusal_by(const char* provider, const ProviderForm& form,
                       const std::vector<ChatMessage>& history) {
  ChatRequest request;
  request.messages = history;
  request.messages.push_back(ChatMessage::user("And now?"));
  request.tools = {{"held", "", ""}};
  return refusal_of(provider, body_for(form, std::move(request)));
}

}  // namespace

std::string problem_of(const std::vector<ChatMessage>& history) {
  if (std::string why = refusal(history); !why.empty()) return why;
  if (!is_valid_history(history)) return "not valid";
  if (history.empty()) return {};
  // The strictest of each dialect; last_check_test.cpp asks all.
  static const auto forms = [] {
    std::map<const char*, ProviderForm> all;
    for (const char* const name : {"mistral", "openai-responses", "anthropic"})
      all.emplace(name, form_of(name));
    return all;
  }();
  for (const auto& [provider, form] : forms)
    if (std::string why = refusal_by(provider, form, history); !why.empty()) return why;
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
