// The ready-made policy.
#include <agentcore/tool.hpp>
#include <agentcore/tool_policy.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace agentcore {

namespace {

// In at most text.size() * pattern.size() steps: only the last '*' is ever extended.
bool matches(std::string_view pattern, std::string_view text) noexcept {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, star = none, resume = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) {
      ++at;
      ++i;
    } else if (star != none) {
      at = star + 1;
      i = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == none;
}

bool applies(const ToolRule& rule, std::string_view name, std::string_view agent) noexcept {
  return matches(rule.tool, name) && matches(rule.agent, agent);
}

}  // namespace

ToolPolicy make_tool_policy(std::vector<ToolRule> rules, Permission otherwise) {
  const auto shared = std::make_shared<const std::vector<ToolRule>>(std::move(rules));
  return [shared, otherwise](const ToolRequest& request) -> ToolDecision {
    std::string name = request.tool.name;
    if (!request.window_id.empty()) name = std::string(request.window_id) + "__" + name;
    const auto rule = std::find_if(shared->begin(), shared->end(),
                                   [&](const ToolRule& one) { return applies(one, name, request.agent_id); });
    if (rule == shared->end()) return {otherwise};
    return {rule->permission, rule->reason, rule->grants_any_arguments ? "any arguments" : ""};
  };
}

}  // namespace agentcore
