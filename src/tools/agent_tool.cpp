// make_agent_tool().
#include "core/text_hash.hpp"
#include "tools/agent_call.hpp"

#include <agentcore/agent_tool.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

std::string default_message(const nlohmann::json& arguments) {
  return arguments.at("message").get<std::string>();
}

std::string arguments_as_message(const nlohmann::json& arguments) {
  return arguments.dump();
}

void check(const AgentToolOptions& options) {
  const std::string tool = "make_agent_tool: the agent of '" + options.tool.name + "'";
  if (options.agent.handler)
    throw std::invalid_argument(tool + " has a handler, which gives no answer; an agent tool needs a model");
  if (options.agent.id.empty() && options.agent.role != AgentRole::normal)
    throw std::invalid_argument(tool + " has a role that protects it, but is deleted after each call; " +
                                "set AgentSpec::id, or no role");
}

}  // namespace

Tool make_agent_tool(AgentToolOptions options) {
  check(options);
  ToolSpec spec = std::move(options.tool);
  const bool has_parameters = !spec.parameters.empty();
  if (!has_parameters)
    spec.parameters = R"({"type":"object","properties":{"message":{"type":"string",)"
                      R"("description":"What the agent has to do, with all that it has to know for it."}},)"
                      R"("required":["message"],"additionalProperties":false})";
  if (!spec.timeout) spec.timeout = no_limit;
  // The requests of all calls begin alike, although each call has an agent of its own.
  if (options.agent.model.cache_key.empty() && options.agent.id.empty())
    options.agent.model.cache_key = detail::core::hashed_name("tool-", spec.name);
  if (!options.write_message) options.write_message = has_parameters ? arguments_as_message : default_message;
  return {std::move(spec),
          [create_again = options.create_again,
           agent = std::make_shared<const AgentSpec>(std::move(options.agent)),
           write = std::move(options.write_message)](const nlohmann::json& arguments,
                                                     const ToolContext& context, const ToolDone& done) {
            detail::tools::AgentCall::start(context, done, *agent, create_again, write(arguments));
          }};
}

}  // namespace agentcore
