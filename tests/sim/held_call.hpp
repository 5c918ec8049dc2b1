// HeldCall: a call of a simulated tool, until a command or a stop ends it.
#pragma once

#include "sim/world.hpp"

#include <agentcore/tool.hpp>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace agentcore::sim {

struct World::HeldCall {
  HeldCall(std::string tool, ToolContext of, ToolDone with)
      : name(std::move(tool)), agent(of.agent().id()), context(std::move(of)), done(std::move(with)) {}

  std::string name;
  std::string agent;  // its id when the call began
  ToolContext context;
  std::optional<ToolDone> done;  // empty: it has ended
  bool threw = false;            // its start did, which ends the call
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

}  // namespace agentcore::sim
