// PauseVerbs: the first halves of pause and unpause. All @threadsafe.
#pragma once

#include "core/mutex.hpp"
#include "tree/control_queue.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/pause.hpp>

#include <memory>

namespace agentcore::detail::tree {

// A pause is one compare-and-set of one bit, from which on every beginning below it is withheld
// (core::withheld). The second half is in Pauses. The bit is changed and the ControlOp queued under a mutex:
// so the loop reads the operations in the order in which they took effect. Also for the root sentinel.
class PauseVerbs {
 public:
  explicit PauseVerbs(TreeShared& tree) : tree_(tree) {}

  VerbResult pause(core::NodeId id, PauseOptions&& options);
  UnpauseResult unpause(core::NodeId id);

 private:
  VerbResult change(core::Node& node, std::unique_ptr<ControlOp> op);

  TreeShared& tree_;
  core::Mutex changing_{core::LockRank::pauses};  // from the change of the bit to the push of its ControlOp
};

}  // namespace agentcore::detail::tree
