// RestWatches: notices when nothing runs in a subtree any more.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"
#include "tree/progress.hpp"
#include "turn/turns.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <unordered_map>

namespace agentcore::detail::tree {

// While beginnings are withheld, an agent that has neither a turn nor an operation gets none. So a watch
// notes the others once, in a pass over all agents, and follows them from then on, through check(). When none
// of them runs, it looks at them once more, because not everything that lets an agent run again is reported.
// All work is done in pieces, within the budget of a poll. All @loop_thread.
//
// Invariants:
// 1. A watch is in the list of its stage, and in the index of its cause.
// 2. `running` is the number of members that are not at rest.
// 3. From `watching` on, the members are the agents that the watch covers and that have a turn or an
//    operation; in `watching` one of them runs, in `resting` none.
class RestWatches {
 public:
  enum class Cause : unsigned char { pause, stop };
  using AtRest = std::function<void(core::NodeId root, Cause cause)>;

  // `at_rest` is called by run(); it may add and remove watches.
  RestWatches(core::AgentTable& agents, turn::Turns& turns, AtRest at_rest)
      : agents_(agents), turns_(turns), at_rest_(std::move(at_rest)) {}

  // Watches the subtree of `root`, instead of an earlier watch of that root and cause. Throws std::bad_alloc,
  // and then nothing has changed.
  void add(core::NodeId root, Cause cause);
  void remove(core::NodeId root, Cause cause) noexcept;
  // Forgets the agents that do not exist any more.
  void forget_deleted() noexcept;
  // An operation or the turn of `node` has ended, or began or ceased to wait.
  void check(const core::Node& node) noexcept;
  // Throws std::bad_alloc; the next call tries again.
  Progress run(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone);
  bool has_work() const noexcept {
    return !list(Stage::queued).empty() || !list(Stage::counting).empty() || !list(Stage::resting).empty();
  }
  std::size_t count(const core::References& refers) const noexcept;
  void clear() noexcept;

 private:
  enum class Stage : std::uint8_t {
    queued,    // waits for the next pass
    counting,  // the pass notes its members, or has just done so
    watching,
    resting,  // to be reported
  };
  struct Watch {
    core::NodeId root = 0;
    Cause cause = Cause::pause;
    Stage stage = Stage::queued;
    std::map<core::NodeId, bool> members;  // true: at rest when last looked at
    std::size_t running = 0;
    core::NodeId verified = 0;  // in `resting`: the members up to this one were looked at once more
  };
  using List = std::list<Watch>;
  using Index = std::unordered_map<core::NodeId, List::iterator>;  // by root

  Progress count_all(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone);
  void begin_pass() noexcept;
  void count_agent(const core::Node& node);
  Progress report_all(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone);
  Progress verify(Watch& watch, loop::PollBudget& budget) noexcept;

  template <typename Visit>
  void for_each_above(const core::Node& node, Visit&& visit);
  bool has_activity(const core::Node& node) const noexcept;
  bool is_at_rest(const Watch& watch, const core::Node& node) const noexcept;
  void update(Watch& watch, std::map<core::NodeId, bool>::iterator member, bool rests) noexcept;
  void sort(Watch& watch) noexcept;
  void move(Watch& watch, Stage stage) noexcept;

  List& list(Stage stage) noexcept { return lists_[static_cast<std::size_t>(stage)]; }
  const List& list(Stage stage) const noexcept { return lists_[static_cast<std::size_t>(stage)]; }
  Index& index(Cause cause) noexcept { return indices_[static_cast<std::size_t>(cause)]; }

  core::AgentTable& agents_;
  turn::Turns& turns_;
  const AtRest at_rest_;
  std::array<List, 4> lists_;
  std::array<Index, 2> indices_;
  SlotPass pass_;
};

}  // namespace agentcore::detail::tree
