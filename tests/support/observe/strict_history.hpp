// A validator of histories with the rules of providers, independent of the library's own.
#pragma once

#include <agentcore/chat.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// The reason for a provider to refuse `messages`; "" when there is none.
inline std::string refusal(const std::vector<agentcore::ChatMessage>& messages) {
  using agentcore::Role;
  std::set<std::string> ids;
  std::size_t i = 0;
  if (i < messages.size() && messages[i].role == Role::system) ++i;
  if (i < messages.size() && messages[i].role != Role::user) return "it does not begin with a question";
  bool asked = false;
  bool answered = false;
  bool interrupted = false;
  bool cut_off = false;  // the last message is an answer that a steered message has ended
  while (i < messages.size()) {
    const agentcore::ChatMessage& message = messages[i++];
    if (message.role == Role::system) return "a system message in the middle";
    if (message.role == Role::tool) return "a result without a call before it";
    if (message.summary && (message.role != Role::user || asked)) return "a summary behind a question";
    if (message.summary) continue;
    if (message.steered && (message.role != Role::user || (answered && !cut_off)))
      return "a steered message outside a turn";
    if (message.steered) {
      answered = cut_off = false;
      continue;
    }
    if (message.role == Role::user) {
      if (std::exchange(asked, true) && !answered && !interrupted)
        return "two questions in a row, and the first is not marked";
      answered = false;
      interrupted = message.interruption != agentcore::Interruption::none;
      continue;
    }
    if (answered) return "two answers in a row";
    answered = message.tool_calls().empty();
    cut_off = message.interruption == agentcore::Interruption::steered;
    const bool goes_on = cut_off && i < messages.size() && messages[i].steered;
    if (message.is_partial() && !goes_on && !interrupted) return "a part of an answer, and no mark";
    if (message.is_partial() && (message.content().find_first_not_of(" \n") == std::string::npos ||
                                 !answered || !message.reasoning().empty()))
      return "a part of an answer that is blank, or has more than words";
    std::vector<std::string> open;
    for (const agentcore::ToolCall& call : message.tool_calls()) {
      if (call.name.empty()) return "a call without a name";
      if (!nlohmann::json::parse(call.arguments, nullptr, false).is_object())
        return "arguments that are no object";
      if (!ids.insert(call.id).second || call.id.empty()) return "an id that is taken, or empty";
      open.push_back(call.id);
    }
    for (const std::string& id : open) {
      if (i >= messages.size() || messages[i].role != Role::tool) return "a call without a result";
      if (messages[i].tool_call_id != id) return "results that are not in the order of their calls";
      if (messages[i].content().empty()) return "a result that says nothing";
      ++i;
    }
  }
  return {};
}

}  // namespace agentcore::test
