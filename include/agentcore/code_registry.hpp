// CodeRegistry: the host's code by name, for agents that a store keeps.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/context.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/tool_policy.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore {

/// Clients, registries of tools and functions, each with a name. A store keeps of a spec what is data; of
/// what is code it keeps the names (AgentSpec::code), and AgentTree::restore() finds the code by them.
///
///     agentcore::CodeRegistry code;
///     code.add_llm("main", &client);
///     code.add_tools("travel", travel_tools);
///     code.add_handler("printer", [](const agentcore::Agent&, const agentcore::Message& message) {
///       std::puts(message.text.c_str());
///     });
///     auto restored = tree.restore(&store, {.code = code});
///
/// A name is any text that is not empty; the kinds have separate names. Adding a name again replaces its
/// code; agents that exist keep theirs. The functions that add throw std::invalid_argument if the name or the
/// code is empty.
///
/// Threads: distinct registries may be used on several threads.
class AGENTCORE_API CodeRegistry {
 public:
  /// An empty registry. Allocates nothing.
  CodeRegistry() noexcept;
  /// A registry with the same names and code.
  CodeRegistry(const CodeRegistry& other);
  CodeRegistry& operator=(const CodeRegistry& other);
  ~CodeRegistry();

  /// For CodeNames::llm.
  void add_llm(std::string name, SharedOrBorrowed<LlmClient> client);
  /// For CodeNames::tools.
  void add_tools(std::string name, SharedOrBorrowed<ToolRegistry> tools);
  /// For CodeNames::handler.
  void add_handler(std::string name, MessageHandler handler);
  /// For CodeNames::tool_policy.
  void add_tool_policy(std::string name, ToolPolicy policy);
  /// For CodeNames::count_tokens.
  void add_token_counter(std::string name, TokenCounter counter);

  /// Sets each field of `spec` that is code, that is empty, and that AgentSpec::code names. Returns what was
  /// not found, for people: "handler 'printer'; tools 'travel'"; empty if all was found.
  std::string bind(AgentSpec& spec) const;

 private:
  struct Code;
  Code& own();

  std::unique_ptr<Code> code_;  // null: nothing was added
};

}  // namespace agentcore
