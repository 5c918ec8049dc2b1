// Host: the agents of agentcore-console, and the console that shows them.
#pragma once

#include "console/settings.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/console.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace console_app {

// Throws std::runtime_error with what is wrong. All functions run on one thread.
class Host {
 public:
  explicit Host(const Settings& settings);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::string url() const { return console_->url(); }
  // Serves until `quit` is readable, then ends all turns, holds all mailboxes, and waits until nothing runs.
  // The agents stay as they are: with a store, the next start finds them.
  void run(int quit);

 private:
  void open_receipts(const std::string& path);
  void open_client(const Settings& settings);
  void open_console(const Settings& settings);
  void restore(const std::string& path, bool secure_delete);
  void create_agents(const Settings& settings);
  void create_agent(std::string_view path, const Settings& settings);
  void end_turns();

  agentcore::Runtime runtime_;
  agentcore::CodeRegistry code_;
  std::shared_ptr<agentcore::ToolRegistry> tools_;
  std::shared_ptr<agentcore::StopAudit> receipts_;  // null: none are kept
  std::shared_ptr<agentcore::LlmClient> client_;
  std::unique_ptr<agentcore::Console> console_;
  std::shared_ptr<agentcore::Store> store_;  // null: agents are not kept
  std::unique_ptr<agentcore::AgentTree> tree_;
  agentcore::Subscription shown_;
};

}  // namespace console_app
