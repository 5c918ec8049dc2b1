// agentcore-store show FILE AGENT
#include "agent_view.hpp"
#include "message_view.hpp"
#include "opened_store.hpp"
#include "safe_text.hpp"
#include "spec_view.hpp"
#include "subcommand.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace store_tool {
namespace {

struct ShowOptions {
  std::string file;
  std::string agent;
  bool json = false;
};

// An agent, and all of it as it was after one commit.
struct AgentReading {
  persist::StoredForest forest;
  const persist::ForestAgent* agent = nullptr;
  persist::StoredConversation conversation;
};

AgentReading read_whole_agent(OpenedStore& store, const std::string& id) {
  constexpr int attempts = 10;  // while a host writes the agent
  for (int attempt = 0; attempt < attempts; ++attempt) {
    AgentReading reading{store.forest(), nullptr, {}};
    reading.agent = reading.forest.find(id);
    if (!reading.agent)
      throw Failure(agentcore::Errc::agent_not_found, store.file() + ": there is no agent '" + id +
                                                          "'; see: agentcore-store list " + store.file());
    if (auto conversation = store.conversation(*reading.agent)) {
      reading.conversation = *std::move(conversation);
      return reading;
    }
  }
  throw Failure(agentcore::Errc::store_in_use,
                store.file() + ": the agent '" + id + "' changes while it is read; try again");
}

Json json_of(const AgentReading& reading) {
  const std::vector<AgentView> views = views_of(reading.forest);
  const auto view = std::find_if(views.begin(), views.end(),
                                 [&](const AgentView& one) { return one.agent == reading.agent; });
  Json agent = agent_json(*view);
  agent.update(record_json(reading.agent->record));
  return {{"agent", std::move(agent)},
          {"spec", spec_json(reading.forest.specs().at(reading.agent->record.spec))},
          {"messages", mail_json(*reading.agent)},
          {"conversation", conversation_json(reading.conversation)}};
}

// The members of an object, a line each; those of objects in it with both names.
void print_members(const Json& object, const std::string& prefix, Output& output) {
  for (const auto& [name, value] : object.items()) {
    const std::string whole = prefix + name;
    if (value.is_object() && !value.empty()) {
      print_members(value, whole + ".", output);
    } else if (value.is_string() && value.get_ref<const std::string&>().find('\n') != std::string::npos) {
      output.print(fmt::format("  {}:\n{}", printable(whole), indented(value.get<std::string>(), "    ")));
    } else {
      const std::string text = value.is_null() ? "none"
                               : value.is_string()
                                   ? printable(value.get_ref<const std::string&>())
                                   : value.dump(-1, ' ', true, Json::error_handler_t::replace);
      output.print(fmt::format("  {}: {}\n", printable(whole), text));
    }
  }
}

void print_agent(const AgentReading& reading, Output& output) {
  const Json json = json_of(reading);
  output.print("agent\n");
  print_members(json["agent"], "", output);
  output.print("spec\n");
  print_members(json["spec"], "", output);
  output.print(fmt::format("messages waiting: {}\n", reading.agent->mail.size()));
  print_mail(*reading.agent, output);
  output.print(fmt::format("messages in the conversation: {}\n", reading.conversation.messages.size()));
  print_conversation(reading.conversation, output);
}

int run_show(const ShowOptions& options, Output& output) {
  OpenedStore store(options.file);
  const AgentReading reading = read_whole_agent(store, options.agent);
  if (options.json)
    output.print(safe_json(json_of(reading)) + "\n");
  else
    print_agent(reading, output);
  return exit_ok;
}

}  // namespace

Subcommand show_command(CLI::App& app) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* const parser =
      app.add_subcommand("show", "Shows an agent: its record, spec, waiting messages and conversation");
  parser->add_option("FILE", options->file, "The file of a SqliteStore")->required()->type_name("");
  parser->add_option("AGENT", options->agent, "The id of the agent")->required()->type_name("");
  parser->add_flag("--json", options->json, "Print JSON");
  return {parser, [options](Output& output) { return run_show(*options, output); }};
}

}  // namespace store_tool
