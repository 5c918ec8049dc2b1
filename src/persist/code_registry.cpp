#include <agentcore/code_registry.hpp>

#include <stdexcept>
#include <utility>

namespace agentcore {
namespace {

template <typename T>
void add_code(std::map<std::string, T, std::less<>>& all, const char* what, std::string name, T code) {
  if (name.empty() || !code)
    throw std::invalid_argument(std::string("CodeRegistry::") + what + ": the name or the code is empty");
  all.insert_or_assign(std::move(name), std::move(code));
}

// Sets `code` if it is empty and has a name. A name that is unknown is added to `missing`.
template <typename T>
void bind_code(const std::map<std::string, T, std::less<>>& all, const char* what, const std::string& name,
               T& code, std::string& missing) {
  if (name.empty() || code) return;
  if (const auto found = all.find(name); found != all.end()) {
    code = found->second;
    return;
  }
  if (!missing.empty()) missing += "; ";
  missing.append(what).append(" '").append(name).append("'");
}

}  // namespace

void CodeRegistry::add_llm(std::string name, Ref<LlmClient> client) {
  add_code(llms_, "add_llm", std::move(name), std::move(client));
}
void CodeRegistry::add_tools(std::string name, Ref<ToolRegistry> tools) {
  add_code(tools_, "add_tools", std::move(name), std::move(tools));
}
void CodeRegistry::add_handler(std::string name, MessageHandler handler) {
  add_code(handlers_, "add_handler", std::move(name), std::move(handler));
}
void CodeRegistry::add_tool_policy(std::string name, ToolPolicy policy) {
  add_code(policies_, "add_tool_policy", std::move(name), std::move(policy));
}
void CodeRegistry::add_token_counter(std::string name, TokenCounter counter) {
  add_code(counters_, "add_token_counter", std::move(name), std::move(counter));
}

std::string CodeRegistry::bind(AgentSpec& spec) const {
  std::string missing;
  bind_code(llms_, "llm", spec.code.llm, spec.llm, missing);
  bind_code(tools_, "tools", spec.code.tools, spec.tools, missing);
  bind_code(handlers_, "handler", spec.code.handler, spec.handler, missing);
  bind_code(policies_, "tool_policy", spec.code.tool_policy, spec.tool_policy, missing);
  bind_code(counters_, "count_tokens", spec.code.count_tokens, spec.context.count_tokens, missing);
  if (spec.context.compact)
    bind_code(llms_, "summary_llm", spec.code.summary_llm, spec.context.compact->llm, missing);
  return missing;
}

}  // namespace agentcore
