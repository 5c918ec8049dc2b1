// AgentWriter: writes what has changed of one agent into a batch.
#pragma once

#include "core/agent_table.hpp"
#include "loop/engine.hpp"
#include "persist/acknowledgement.hpp"
#include "persist/agent_record.hpp"
#include "persist/histories.hpp"
#include "persist/mail_writer.hpp"
#include "persist/spec_table.hpp"
#include "persist/stored_agents.hpp"
#include "turn/turns.hpp"

#include <agentcore/store.hpp>

#include <cstdint>
#include <vector>

namespace agentcore::detail::persist {

// Changes for the store, and what is reported to the host when they are there.
struct Batch {
  StoreBatch changes;
  Acknowledgements acknowledgements;
};

// All @loop_thread. What throws std::bad_alloc has written a part: the agent is then to be written again,
// with StoredAgent::all_changed.
class AgentWriter {
 public:
  AgentWriter(const core::AgentTable& table, StoredAgents& agents, const MailWriter& mail, turn::Turns& turns,
              const loop::Engine& engine)
      : table_(table), agents_(agents), turns_(turns), engine_(engine), mail_(mail) {}

  void write(Batch& batch, core::Node& node, StoredAgent& agent);
  void write_conversation(StoreBatch& changes, core::Node& node, StoredAgent& agent);
  // The agent was deleted.
  void erase(StoreBatch& changes, core::NodeId id, StoredAgent& agent);

  MailWriter& mail() noexcept { return mail_; }
  SpecTable& specs() noexcept { return specs_; }
  Histories& histories() noexcept { return histories_; }
  // The highest of all agents that were written.
  std::uint64_t generation() const noexcept { return generation_; }

 private:
  void write_spec(StoreBatch& changes, const core::Node& node, StoredAgent& agent);
  static void acknowledge_begins(Batch& batch, const core::Node& node, const StoredAgent& agent);
  void acknowledge_turn(Batch& batch, const core::Node& node, StoredAgent& agent,
                        const std::vector<StoredMail>& stored);
  void write_grants(StoreBatch& changes, const core::Node& node, StoredAgent& agent) const;
  void add_turn(AgentRecord& record, const core::Node& node, const StoredAgent& agent) const;
  void add_tasks(AgentRecord& record, const core::Node& node) const;
  static void write_intents(Batch& batch, const core::Node& node, StoredAgent& agent);
  AgentRecord record_of(const core::Node& node, const StoredAgent& agent) const;
  void add_data(AgentRecord& record, const core::Node& node, const StoredAgent& agent) const;
  static void keep_unusable(AgentRecord& record, const Unusable& found);

  const core::AgentTable& table_;
  StoredAgents& agents_;
  turn::Turns& turns_;
  const loop::Engine& engine_;
  MailWriter mail_;
  SpecTable specs_;
  Histories histories_;
  std::uint64_t generation_ = 0;
};

}  // namespace agentcore::detail::persist
