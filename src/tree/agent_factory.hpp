// AgentFactory: creates agents. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "persist/agent_record.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/conversation.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::tree {

class AgentDocuments;

// An agent of an earlier run.
struct RestoredAgent {
  core::NodeId id = 0;
  std::string name;          // empty: the generated id
  core::PackedState packed;  // its first one
  SharedAgentSpec spec;
  std::shared_ptr<const turn::AnswerCheck> answer_check;
  std::uint32_t turns = 0;
};

// Creating a child is an action of its parent: it goes through the parent's gate (G1), and the gates are read
// once more when the child is linked, so that a stop either finds the child or refuses it (G2).
class AgentFactory {
 public:
  AgentFactory(TreeShared& tree, turn::Turns& turns, events::EventHub& hub)
      : tree_(tree), turns_(turns), hub_(hub) {}

  // `keeper` has room for one more handle, and gets the new one before AgentCreated.
  Result<Agent> create(core::NodeId parent, SharedAgentSpec spec, std::string id,
                       std::vector<Agent>* keeper = nullptr);
  Result<Agent> create(core::NodeId parent, AgentSpec spec, std::vector<Agent>* keeper = nullptr);
  // Creates an agent that a store has, without an event. Its slot is reserved, and its id is not in use. Its
  // mailbox is open, and it has no budgets yet. If it throws, the agent may exist in part.
  core::Node& place(core::Node& parent, const RestoredAgent& agent);
  // `data`: what the agent begins with; null: by its spec.
  Result<Agent> create(core::NodeId parent, SharedAgentSpec spec, std::string id,
                       std::unique_ptr<turn::TurnData> data, std::vector<Agent>* keeper);
  // The same, without AgentCreated: announce() or withdraw() follows.
  Result<Agent> add(core::NodeId parent, SharedAgentSpec spec, std::string id,
                    std::unique_ptr<turn::TurnData> data);
  void announce(core::Node& node) noexcept;
  // Removes an agent without children of which no observer has been notified.
  void withdraw(core::Node& node) noexcept;
  // The budgets of the agent, and what was used of them, become those of the record. Throws std::bad_alloc.
  void set_accounts(core::Node& node, const persist::AgentRecord& record);
  // Export and import.
  AgentDocuments documents() noexcept;
  // Creates a sibling that has the first turns of the agent's conversation.
  Result<Agent> fork(core::NodeId origin, ForkOptions&& options);

 private:
  Error refusal(core::NodeId parent) const;
  std::optional<Error> bind(AgentSpec& spec) const;
  std::optional<Error> problem_of(const core::Node& parent, const AgentSpec& spec,
                                  const std::string& id) const;
  Result<Agent> insert(core::Node& parent, SharedAgentSpec spec, std::string id,
                       std::unique_ptr<turn::TurnData> data);
  void set_options(core::Node& node, const AgentSpec& spec) const noexcept;
  void begin_lease(core::Node& node, const AgentSpec& spec);
  void fill(core::Node& node, SharedAgentSpec spec, std::unique_ptr<turn::TurnData> data);
  void grant_budgets(core::Node& node);

  TreeShared& tree_;
  turn::Turns& turns_;
  events::EventHub& hub_;
  const SharedAgentSpec plain_spec_ = std::make_shared<const AgentSpec>();
};

}  // namespace agentcore::detail::tree
