// AgentFactory: creates agents. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/conversation.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agentcore::detail::tree {

// Creating a child is an action of its parent: it goes through the parent's gate (G1), and the gates are read
// once more when the child is linked, so that a stop either finds the child or refuses it (G2).
class AgentFactory {
 public:
  AgentFactory(TreeShared& tree, turn::Turns& turns, events::EventHub& hub)
      : tree_(tree), turns_(turns), hub_(hub) {}

  Result<Agent> create(core::NodeId parent, SharedAgentSpec spec, std::string id);
  Result<Agent> create(core::NodeId parent, AgentSpec spec);
  // Creates a sibling that has the first turns of the agent's conversation.
  Result<Agent> fork(core::NodeId origin, ForkOptions&& options);

 private:
  Error refusal(core::NodeId parent) const;
  // `data`: what the agent begins with; null: by its spec.
  Result<Agent> create(core::NodeId parent, SharedAgentSpec spec, std::string id,
                       std::unique_ptr<turn::TurnData> data);
  std::optional<Error> problem_of(const core::Node& parent, const AgentSpec& spec,
                                  const std::string& id) const;
  Result<Agent> insert(core::Node& parent, SharedAgentSpec spec, std::string id,
                       std::unique_ptr<turn::TurnData> data);
  void set_options(core::Node& node, const AgentSpec& spec) const noexcept;
  void begin_lease(core::Node& node, const AgentSpec& spec);
  static void fill(core::Node& node, SharedAgentSpec spec, std::unique_ptr<turn::TurnData> data);
  void grant_budgets(core::Node& node);
  void withdraw(core::Node& node) noexcept;

  TreeShared& tree_;
  turn::Turns& turns_;
  events::EventHub& hub_;
  const SharedAgentSpec plain_spec_ = std::make_shared<const AgentSpec>();
};

}  // namespace agentcore::detail::tree
