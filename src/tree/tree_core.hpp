// TreeCore: the state that AgentTree and all its handles share.
#pragma once

#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "tree/activity_listener.hpp"
#include "tree/agent_factory.hpp"
#include "tree/conversation_verbs.hpp"
#include "tree/lease_timer.hpp"
#include "tree/scheduler.hpp"
#include "tree/settler.hpp"
#include "tree/store_verbs.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/agent_tree.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::tree {

// Owns the parts of a tree and drives them from the loop. close() is the end of the tree, on_engine_closed()
// that of its Runtime: both close the gate of the root sentinel, so that every later admission in the tree is
// refused. The memory that other threads may still read stays as long as any handle.
class TreeCore final : public loop::Source, public core::TreeLifetime {
 public:
  TreeCore(std::shared_ptr<loop::Engine> engine, const TreeOptions& options);
  void close();

  // The parts that Agent and AgentTree forward to.
  TreeShared& shared() noexcept { return shared_; }
  turn::Turns& turns() noexcept { return turns_; }
  ConversationVerbs& conversation_verbs() noexcept { return conversation_verbs_; }
  AgentFactory& factory() noexcept { return factory_; }
  StoreVerbs& store_verbs() noexcept { return store_verbs_; }

  // True while some work is in progress or ready. @loop_thread
  bool busy() const noexcept;

  // loop::Source
  void run_control(loop::PollBudget& budget) override;
  void run_round(loop::PollBudget& budget) override;
  bool has_work() const noexcept override;
  bool has_pending() const noexcept override;
  void on_engine_closed() noexcept override;

 private:
  friend struct detail::TestAccess;
  ~TreeCore();

  // core::TreeLifetime
  void before_loop_left() noexcept override;
  void on_loop_left() noexcept override;
  void destroy() noexcept override { delete this; }

  bool has_control_work() const noexcept;
  bool run_second_halves(loop::PollBudget& budget);
  void run_second_half(std::unique_ptr<ControlOp>& op);
  void purge();

  TreeShared shared_;
  ActivityListener listener_{shared_, shared_.hub, settler_, scheduler_};  // only refers to the others
  turn::Turns turns_;
  Settler settler_;
  Scheduler scheduler_;
  ConversationVerbs conversation_verbs_;
  AgentFactory factory_;
  LeaseTimer lease_timer_;
  StoreVerbs store_verbs_;
  std::uint64_t erased_ = 0;  // AgentTable::erased() when the loop last left the tree
};

}  // namespace agentcore::detail::tree
