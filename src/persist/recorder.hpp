// Recorder: notes what changes in a tree, and makes batches of it for the store.
#pragma once

#include "core/agent_table.hpp"
#include "events/change_listener.hpp"
#include "persist/agent_writer.hpp"
#include "persist/mail_notes.hpp"
#include "persist/stored_agents.hpp"
#include "persist/tree_record.hpp"

#include <agentcore/restore.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::persist {

// A note is cheap; what has changed is read when a batch is made, between two actions of the loop. All
// @loop_thread.
class Recorder final : public events::ChangeListener {
 public:
  // The messages of the tree.
  struct Mail {
    mailbox::MessagePool& pool;
    mailbox::SteerBox& steers;
    const mailbox::ClearedMessages& cleared;
    MailNotes& notes;
  };
  Recorder(core::AgentTable& table, const Mail& mail, turn::Turns& turns, const loop::Engine& engine,
           Durability durability);

  // events::ChangeListener
  void on_event(const core::Node& node, EventKinds kind) noexcept override;
  void on_turn_ended(const core::Node& node, MessageId message) noexcept override;
  void on_turn_counted(const core::Node& node) noexcept override;
  void on_grants_changed(core::NodeId agent) noexcept override;
  bool may_begin(const core::Node& node, const std::string& call_id) noexcept override;

  // A restart has brought back messages of the agent that are counted when their turns begin.
  bool counts_mail(core::NodeId agent) const noexcept;
  // The turn of that message is about to begin. True: it may. False: it may when the next batch is in the
  // store, which has the count.
  bool may_begin(core::NodeId agent, MessageId message) noexcept;
  // How often the turn of that message was begun, this time included; at least 1.
  std::uint32_t begun(core::NodeId agent, MessageId message) const noexcept;

  // A function of the host has changed the agent, or its messages that wait; or the agent was removed from
  // the table.
  void note_change(core::NodeId agent) noexcept;
  void note_edited_mail(const core::Node& node) noexcept;
  void note_mail(const core::Node& node) noexcept;
  // The stop or delete of that agent has begun; 0: that of the tree. `name`: its id. Throws std::bad_alloc.
  void note_stop(core::NodeId agent, std::string name, bool deletes);
  // stop_all(), pause_all() and their ends; or a client waits until all that was noted is stored.
  void note_tree() noexcept { due_ = urgent_ = true; }
  // The agent that is created next begins with the first messages of `origin`; null: with its own. Throws
  // std::bad_alloc.
  void set_origin(core::Node* origin);

  // True if changes are to be written now.
  bool is_due() const noexcept;
  // True if a stop, a delete, or what makes the store smaller was noted: it does not wait while the store is
  // full.
  bool is_urgent() const noexcept { return urgent_; }
  // False: a stop of an agent that was resumed since. It is not reported as stored.
  bool is_in_force(const Acknowledgement& one) const noexcept;
  // All changes that were noted. Throws std::bad_alloc; to be called again then.
  Batch take();
  // Forgets what take() would return.
  void forget_changes() noexcept { batch_ = {}; }

  StoredAgents& agents() noexcept { return agents_; }

  // For a restore: what the store has.
  void begin(const TreeRecord& tree);
  void adopt(const AgentRecord& record, std::uint64_t key, const SharedAgentSpec& spec,
             std::vector<StoredMail> mail);
  // Histories::add() and end_adding() come first. An agent that is not restored is erased after both.
  Histories& histories() noexcept { return writer_.histories(); }
  void erase(std::uint64_t key, const AgentRecord& record);
  void erase_spec(std::uint64_t number);

 private:
  void note_accounts_above(const core::Node& node) noexcept;
  void share(const core::Node& node, StoredAgent& agent, const core::Node& origin);
  void take_mail_notes() noexcept;
  void add_missing();
  void write(core::NodeId id);
  void write_tree();

  core::AgentTable& table_;
  turn::Turns& turns_;
  const EventKinds at_once_;
  const bool mail_at_once_;
  MailNotes& mail_notes_;
  StoredAgents agents_;
  AgentWriter writer_;
  core::Node* origin_ = nullptr;  // of the fork that is being created
  bool due_ = false;
  bool urgent_ = false;
  TreeRecord tree_;
  std::optional<TreeRecord> stored_tree_;
  Batch batch_;
};

}  // namespace agentcore::detail::persist
