// StoreVerbs: AgentTree::restore() and flush(): the agents of a tree and its store.
#pragma once

#include "events/event_hub.hpp"
#include "tree/agent_factory.hpp"
#include "tree/scheduler.hpp"
#include "tree/settler.hpp"
#include "tree/stored_tree.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/restore.hpp>
#include <agentcore/store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::tree {

// Everything is read and checked before the first agent is created, and all agents exist before an observer
// receives the event of the first. All @loop_thread.
class StoreVerbs {
 public:
  StoreVerbs(TreeShared& tree, turn::Turns& turns, Scheduler& scheduler, const Settler& settler,
             AgentFactory& factory, events::EventHub& hub)
      : tree_(tree), turns_(turns), scheduler_(scheduler), settler_(settler), factory_(factory), hub_(hub) {}

  Result<RestoreReport> restore(SharedOrBorrowed<Store> store, RestoreOptions options);
  Result<void> flush();
  // Notes for the next commit what a verb has changed that is in force after a restart, too. Does nothing if
  // the tree has no store. Throws std::bad_alloc; to be called again then.
  void note_verb(const ControlOp& op);
  // core::when_stored(). Throws std::bad_alloc.
  bool when_stored(std::function<void(const Result<void>&)> done, std::optional<std::string> stop_of);
  // core/task_mark.hpp.
  void set_task_mark(core::NodeId agent, bool marked) noexcept;
  bool has_task_mark(core::NodeId agent) const noexcept;
  std::uint64_t turns_begun(core::NodeId agent) const noexcept;
  bool has_steered(core::NodeId agent) const noexcept { return tree_.steers.count(agent) != 0; }
  // The end of the tree, or of its Runtime: the last changes are written.
  void close() noexcept;

 private:
  std::optional<Error> problem_of(const SharedOrBorrowed<Store>& store) const;
  std::shared_ptr<persist::Persistence> attached(std::shared_ptr<persist::OwnedStore> store,
                                                 RestoreOptions options) const;
  void note_queued();
  bool has_resumes() const noexcept;
  Result<void> create(StoredTree& stored, persist::Persistence& persistence);
  persist::TreeRecord first_record(const StoredTree& stored);
  void reserve(StoredTree& stored);
  Result<void> reserve_numbers(const StoredTree& stored, persist::OwnedStore& store, StoreSync sync);
  Result<void> place(StoredAgentOfTree& agent, persist::Persistence& persistence);
  void close(core::Node& node, const StoredAgentOfTree& agent) noexcept;
  Result<void> load(core::Node& node, StoredAgentOfTree& agent, persist::Persistence& persistence);
  void give_back(MessageId message) noexcept;
  void place_work(core::Node& node, StoredAgentOfTree& agent, persist::Persistence& persistence);
  void place_turn(core::Node& node, StoredAgentOfTree& agent, const RestoreOptions& options);
  void resume_turn(core::Node& node, StoredAgentOfTree& agent);
  void give_mail(core::Node& node, StoredAgentOfTree& agent, persist::Recorder& recorder);
  void give_up_mail(core::Node& node, StoredAgentOfTree& agent, persist::Recorder& recorder);
  void close_tree(const persist::TreeRecord& tree) noexcept;
  void withdraw(StoredTree& stored) noexcept;
  void begin(StoredTree& stored, std::shared_ptr<persist::Persistence> persistence);

  TreeShared& tree_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  const Settler& settler_;
  AgentFactory& factory_;
  events::EventHub& hub_;
};

}  // namespace agentcore::detail::tree
