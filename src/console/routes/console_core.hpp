// ConsoleCore: what the routes of a console share.
#pragma once

#include "console/events/event_feed.hpp"
#include "console/events/event_log.hpp"
#include "console/http/server.hpp"
#include "console/routes/access.hpp"
#include "console/routes/receipt_list.hpp"
#include "console/routes/task_agents.hpp"
#include "console/routes/task_table.hpp"
#include "loop/engine.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/console.hpp>

#include <memory>
#include <string_view>

namespace agentcore::detail::console {

// @loop_thread
struct ConsoleCore {
  std::shared_ptr<loop::Engine> engine;
  const ConsoleOptions& options;
  AgentTree* tree = nullptr;  // null: none is shown
  std::shared_ptr<EventLog> log;
  EventFeed feed;
  std::shared_ptr<TaskTable> tasks;
  std::unique_ptr<TaskAgents> task_agents;
  ReceiptList& receipts;
  Access access;
  std::shared_ptr<Server> server = {};  // null until it listens
  std::weak_ptr<void> owner = {};       // what this is a part of
};

}  // namespace agentcore::detail::console
