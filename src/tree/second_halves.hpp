// SecondHalves: runs the second half of each verb. @loop_thread
#pragma once

#include "tree/control_queue.hpp"
#include "tree/pauses.hpp"
#include "tree/pending_stops.hpp"
#include "tree/scheduler.hpp"
#include "tree/settler.hpp"
#include "turn/turns.hpp"

#include <memory>

namespace agentcore::detail::tree {

// Says which part of the tree has the second half of which verb.
class SecondHalves {
 public:
  SecondHalves(TreeShared& tree, turn::Turns& turns, Scheduler& scheduler, Settler& settler,
               PendingStops& pending, Pauses& pauses)
      : tree_(tree),
        turns_(turns),
        scheduler_(scheduler),
        settler_(settler),
        pending_(pending),
        pauses_(pauses) {}

  // If it throws, the caller still owns `op`, and calls it again.
  void start(std::unique_ptr<ControlOp>& op);
  // Notes for the store the verbs whose second halves are still queued. Throws std::bad_alloc.
  void record_queued();
  // True while a resume is queued, or still has agents to open.
  bool has_resumes() const noexcept;

 private:
  void close(std::unique_ptr<ControlOp>& op);
  void delete_forks(const ControlOp& op);
  void record(const ControlOp& op, persist::Recorder& recorder);
  void note_turns_below(const core::Node& root, persist::Recorder& recorder) const;

  TreeShared& tree_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  Settler& settler_;
  PendingStops& pending_;
  Pauses& pauses_;
};

}  // namespace agentcore::detail::tree
