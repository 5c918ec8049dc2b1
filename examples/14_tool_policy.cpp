// Who may run what: rules decide which tools agents may call, and a person approves a call once, or for as
// long as the agent lives.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using agentcore::Permission;

namespace {

agentcore::testing::ScriptedReply call_of(std::string tool, std::string arguments) {
  agentcore::testing::ScriptedReply reply;
  reply.tool_calls.push_back({.name = std::move(tool), .arguments = std::move(arguments)});
  return reply;
}

// A model that reads a file, deletes it, makes the same backup twice, and then is content.
agentcore::testing::ScriptedReply cleaning(const agentcore::ChatRequest& request) {
  int results = 0;
  for (const agentcore::ChatMessage& message : request.messages)
    results += message.role == agentcore::Role::tool;
  switch (results) {
    case 0:
      return call_of("read_file", R"({"path":"notes.txt"})");
    case 1:
      return call_of("delete_file", R"({"path":"notes.txt"})");
    case 2:
    case 3:
      return call_of("run", R"({"command":"make backup"})");
    default:
      return {.deltas = {"The backup is made."}};
  }
}

agentcore::Tool printing_tool(std::string name) {
  agentcore::ToolSpec spec{.name = std::move(name), .parameters = R"({"type":"object"})"};
  return agentcore::make_tool(
      spec, [name = spec.name](const nlohmann::json& arguments, const agentcore::ToolContext&) {
        std::printf("%s runs with %s\n", name.c_str(), arguments.dump().c_str());
        return agentcore::ToolResult::done("done");
      });
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, cleaning};
  auto tools = std::make_shared<agentcore::ToolRegistry>();
  for (const char* const name : {"read_file", "delete_file", "run"}) tools->add(printing_tool(name));

  // [snippet: policy]
  agentcore::TreeOptions options;
  options.llm = &llm;
  options.tool_policy = agentcore::make_tool_policy(  // the first rule that matches; no rule: denied
      {{.tool = "read_*"},
       {.tool = "delete_*", .permission = Permission::deny, .reason = "files are deleted by hand"},
       {.tool = "run", .permission = Permission::ask}});
  agentcore::AgentTree tree{runtime, std::move(options)};

  int asked = 0;
  auto questions = tree.on<agentcore::QuestionAsked>([&](const agentcore::QuestionAsked& event) {
    const agentcore::OpenQuestion& question = event.question;
    std::printf("may %s call %s with %s?\n", question.agent_id.c_str(), question.tool.c_str(),
                question.text.c_str());
    ++asked;
    runtime.post([&tree, id = question.id] {  // here a person says: yes, this agent may do that always
      if (auto result = tree.approve(id, agentcore::GrantScope::agent); !result)
        std::puts(result.error().message.c_str());
    });
  });
  // [/snippet]
  auto refusals = tree.on<agentcore::ToolRefused>([](const agentcore::ToolRefused& refused) {
    std::printf("%s was refused: %s\n", refused.tool.c_str(), refused.reason.c_str());
  });

  const agentcore::Agent cleaner = tree.create({.id = "cleaner", .tools = tools}).value();
  if (!cleaner.send("Clean up.")) return 1;
  runtime.run_until_idle();

  const std::vector<agentcore::Grant> grants = tree.grants();
  if (asked != 1 || grants.size() != 1) return 1;  // the second backup was not asked about
  std::printf("%s may call %s with %s, until it is revoked\n", grants[0].agent_id.c_str(),
              grants[0].tool.c_str(), grants[0].arguments.c_str());
  return tree.revoke(grants[0].id) && tree.grants().empty() ? 0 : 1;
}
