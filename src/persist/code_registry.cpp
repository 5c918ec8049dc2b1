#include <agentcore/code_registry.hpp>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace agentcore {
namespace {

template <typename T>
using Named = std::map<std::string, T, std::less<>>;

template <typename T>
void require(const char* what, const std::string& name, const T& code) {
  if (name.empty() || !code)
    throw std::invalid_argument(std::string("CodeRegistry::") + what + ": the name or the code is empty");
}

// Sets `code` if it is empty and has a name. A name that is unknown is added to `missing`.
template <typename T>
void bind_code(const Named<T>& all, const char* what, const std::string& name, T& code,
               std::string& missing) {
  if (name.empty() || code) return;
  if (const auto found = all.find(name); found != all.end()) {
    code = found->second;
    return;
  }
  if (!missing.empty()) missing += "; ";
  missing.append(what).append(" '").append(name).append("'");
}

}  // namespace

struct CodeRegistry::Code {
  Named<SharedOrBorrowed<LlmClient>> llms;
  Named<SharedOrBorrowed<ToolRegistry>> tools;
  Named<MessageHandler> handlers;
  Named<ToolPolicy> policies;
  Named<TokenCounter> counters;
};

CodeRegistry::CodeRegistry() noexcept = default;
CodeRegistry::CodeRegistry(const CodeRegistry& other)
    : code_(other.code_ ? std::make_unique<Code>(*other.code_) : nullptr) {
}
CodeRegistry& CodeRegistry::operator=(const CodeRegistry& other) {
  CodeRegistry copy(other);
  code_.swap(copy.code_);
  return *this;
}
CodeRegistry::~CodeRegistry() = default;

CodeRegistry::Code& CodeRegistry::own() {
  if (!code_) code_ = std::make_unique<Code>();
  return *code_;
}

void CodeRegistry::add_llm(std::string name, SharedOrBorrowed<LlmClient> client) {
  require("add_llm", name, client);
  own().llms.insert_or_assign(std::move(name), std::move(client));
}
void CodeRegistry::add_tools(std::string name, SharedOrBorrowed<ToolRegistry> tools) {
  require("add_tools", name, tools);
  own().tools.insert_or_assign(std::move(name), std::move(tools));
}
void CodeRegistry::add_handler(std::string name, MessageHandler handler) {
  require("add_handler", name, handler);
  own().handlers.insert_or_assign(std::move(name), std::move(handler));
}
void CodeRegistry::add_tool_policy(std::string name, ToolPolicy policy) {
  require("add_tool_policy", name, policy);
  own().policies.insert_or_assign(std::move(name), std::move(policy));
}
void CodeRegistry::add_token_counter(std::string name, TokenCounter counter) {
  require("add_token_counter", name, counter);
  own().counters.insert_or_assign(std::move(name), std::move(counter));
}

std::string CodeRegistry::bind(AgentSpec& spec) const {
  const Code none;
  const Code& all = code_ ? *code_ : none;
  std::string missing;
  bind_code(all.llms, "llm", spec.code.llm, spec.llm, missing);
  bind_code(all.tools, "tools", spec.code.tools, spec.tools, missing);
  bind_code(all.handlers, "handler", spec.code.handler, spec.handler, missing);
  bind_code(all.policies, "tool_policy", spec.code.tool_policy, spec.tool_policy, missing);
  bind_code(all.counters, "count_tokens", spec.code.count_tokens, spec.context.count_tokens, missing);
  if (spec.context.compact)
    bind_code(all.llms, "summary_llm", spec.code.summary_llm, spec.context.compact->llm, missing);
  return missing;
}

}  // namespace agentcore
