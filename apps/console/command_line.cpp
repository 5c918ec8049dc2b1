#include "console/command_line.hpp"

#include <agentcore/version.hpp>

#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace console_app {
namespace {

constexpr const char* manual =
    "The model server is that of --base-url, or that of --provider with the key in the variable that the "
    "provider "
    "uses. A config file has lines such as\n"
    "  port=8700\n"
    "  base-url=\"http://127.0.0.1:8080/v1\"\n"
    "  agent=[\"planner\", \"planner/scout\"]\n"
    "\n"
    "Ctrl+C ends all turns and the program, and holds the mailboxes. With --store the agents are there at "
    "the\n"
    "next start; what waits begins when the queue of an agent is released.";

constexpr const char* top_manual =
    "Keys: up, down, page up, page down, home, end select an agent; left, right collapse and expand.\n"
    "  Enter, m   write a message; while a turn runs, it goes into the turn\n"
    "  s, d       stop, delete the agent and all below it, after a question\n"
    "  a          answer a question of the agent, or approve a tool call; if it asks nothing, of another "
    "one\n"
    "  i, x       interrupt the turn, abort the model call\n"
    "  p, r       pause or unpause, resume after a stop\n"
    "  /, n       search, and the next one\n"
    "  q          quit\n";

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--address", settings.address, "Where to listen; anything but loopback needs --token-file")
      ->capture_default_str();
  app.add_option("--port", settings.port, "The TCP port; 0: any that is free")->capture_default_str();
  app.add_option("--token-file", settings.token_file, "A file with the token that clients need");
  app.add_option("--host-name", settings.host_names,
                 "A further name of the console, e.g. of a reverse proxy");
  app.add_option("--provider", settings.provider, "A known provider of models, e.g. openai");
  app.add_option("--base-url", settings.base_url,
                 "The URL of the model server, e.g. http://127.0.0.1:8080/v1");
  app.add_option("--model", settings.model, "The model of agents that name none");
  app.add_option("--api-key-env", settings.api_key_env,
                 "The environment variable with the key of the model server");
  app.add_option("--system-prompt", settings.system_prompt, "The system prompt of the agents");
  app.add_option("--agent", settings.agents, "An agent to create: NAME, or PARENT/NAME for a child");
  app.add_option("--approve", settings.approve,
                 "A tool whose calls a person has to approve; '*' stands for any characters");
  app.add_option("--store", settings.store, "The file in which the agents are kept");
  app.add_flag("--secure-delete", settings.secure_delete,
               "Overwrite what is deleted from the store with zeros");
  app.add_flag("--keep-partial-answers", settings.keep_partial_answers,
               "Keep the part of an answer that was not completed, and send it to the model");
  app.add_option("--receipts", settings.receipts, "The file in which receipts of stops and deletes are kept");
  app.add_flag("--verbose", settings.verbose, "Print log records of all levels");
}

CLI::App& add_top(CLI::App& app, top::Settings& settings) {
  CLI::App& command = *app.add_subcommand("top", "Shows the agents of a console in a terminal");
  command.add_option("--url", settings.url, "Where the console is")->capture_default_str();
  command.add_option("--token-file", settings.token_file, "A file with the token of the console");
  command.footer(top_manual);
  return command;
}

}  // namespace

std::optional<Settings> parse_command_line(int argc, const char* const* argv, std::string& text) {
  Settings settings;
  CLI::App app("Serves a web page and an HTTP API that show agents, and stop any of them.",
               "agentcore-console");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", "agentcore-console " + std::string(agentcore::version),
                       "Print the version");
  app.set_config("--config", "", "A file with these options");
  app.footer(manual);
  add_options(app, settings);
  top::Settings top;
  const CLI::App& top_command = add_top(app, top);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    if (end.get_exit_code() != 0)
      throw std::runtime_error(std::string(end.what()) + "; see agentcore-console --help");
    std::ostringstream out;
    app.exit(end, out, out);
    text = out.str();
    return std::nullopt;
  }
  if (top_command.parsed()) settings.top = top;
  return settings;
}

}  // namespace console_app
