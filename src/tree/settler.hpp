// Settler: the second phase of stop, terminate and resume. It follows on the loop thread after a gate was
// closed.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/control_queue.hpp"
#include "turn/turns.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::tree {

// Works in this order: transfers first (cut every open call below a closed gate, end its turn), then the
// walks, one job after the other: top down to show `stopping` or `terminating` where somebody watches states,
// then bottom up, children before parents, to empty mailboxes, close doors, write states and tell `settled`.
// An agent with a call that has not let go yet is passed by and settles later, by let_go() or when its grace
// is over; its ancestors wait for it.
//
// Iterative, bounded by the budget of a poll, and without an allocation per agent (but for the lists of a
// report, if one was asked for). In a large tree the cost of the walk is waiting for memory; so it is walked
// by several walkers in turn, each in a subtree of its own, whose next agent is fetched while the others are
// at work. All @loop_thread. After anything that tells observers the tree may be gone: hub.closed().
//
// When an allocation fails, work is delayed, but not lost: start() takes over an operation completely or
// not at all, a walk keeps its position, and an agent that cannot be settled stays unchanged. The next run()
// tries again.
class Settler {
 public:
  Settler(core::AgentTable& table, mailbox::MessagePool& pool, events::EventHub& hub, turn::Turns& turns,
          loop::Engine& engine, Duration grace)
      : table_(table), pool_(pool), hub_(hub), turns_(turns), engine_(engine), grace_(grace) {
    jobs_.reserve(16);  // from then on start() reserves, before it changes anything
  }

  // Takes over a stop, a terminate or a resume. When it throws, `op` is still the caller's and nothing has
  // changed.
  void start(std::unique_ptr<ControlOp>& op);
  // Goes on with what was started until it is done or the budget is used up.
  void run(loop::Budget& budget);
  // A call of `node` has ended: settles it if that is what it was waiting for.
  void let_go(core::Node& node) noexcept;
  // The same for all agents, in the next run(): for use when an allocation has failed.
  void look_again() noexcept { look_again_ = true; }

  bool has_work() const noexcept {
    return cut_next_ != pass_done || late_next_ != pass_done || look_next_ != pass_done || look_again_ ||
           !queue_.empty();
  }
  // Jobs not done yet, waiting ones included.
  std::size_t jobs() const noexcept { return jobs_.size(); }
  // Jobs that have this agent as their root (for leak tests).
  std::size_t references(core::NodeId agent) const { return jobs_.count(agent); }
  // A completion is being called.
  bool reporting() const noexcept { return reporting_; }
  // Forgets everything; completions are not called.
  void clear();

 private:
  // Goes through the subtree of `root`, children before parents.
  struct Walker {
    core::Node* root = nullptr;
    core::Node* cursor = nullptr;  // the next agent; null: it rests
    bool descending = true;        // the cursor's children were not visited yet
  };
  struct Job {
    std::unique_ptr<ControlOp> op;
    core::Node* root = nullptr;
    bool marked = false;           // the walk down is done
    core::Node* cursor = nullptr;  // of the walk down; null: not begun
    std::vector<Walker> walkers;   // of the walk up; empty: not begun
    std::vector<std::string> done;
    std::vector<std::string> failed;
    std::size_t messages_dropped = 0;
    std::uint64_t timer = 0;
    std::uint64_t number = 0;                        // jobs that end together are reported in this order
    std::unique_ptr<Job> next;                       // in a list of jobs that end together
    std::optional<std::list<Job*>::iterator> place;  // in the queue; empty: its walk is done, or it has none
  };
  using Jobs = std::unordered_multimap<core::NodeId, std::unique_ptr<Job>>;

  bool cut(loop::Budget& budget);
  bool give_up(loop::Budget& budget);
  bool settle_again(loop::Budget& budget);
  bool walk(Job& job, loop::Budget& budget);
  bool walk_down(Job& job, loop::Budget& budget);
  bool walk_up(Job& job, loop::Budget& budget);
  bool resume_down(Job& job, loop::Budget& budget);

  bool skips(const Job& job, const core::Node& node) const noexcept;
  bool walk_one(Job& job, Walker& walker);
  void descend(Job& job, Walker& walker);
  void wait_for(core::NodeId root) noexcept;
  void dequeue(Job& job) noexcept;
  bool cut_few(core::Node& root);
  core::Node* below_or_beside(const core::Node& root, const core::Node& node, bool descend) const noexcept;

  void mark(Job& job, core::Node& node);
  void visit(Job& job, core::Node& node);
  bool resume_one(Job& job, core::Node& node);
  bool finish(core::Node& node, bool deleting_above) noexcept;
  void finish_upwards(core::Node& node, bool deleting_above) noexcept;
  bool can_finish(core::Node& node, bool deleting_above) noexcept;
  static bool stops_first(const core::Node& node, bool deleting) noexcept;
  std::size_t write_stopped(core::Node& node) noexcept;
  static bool is_deleted_above(const core::Node& node) noexcept;
  void remove(core::Node& node) noexcept;
  void step_aside(const core::Node& node);
  template <typename Write>
  void each_report(const core::Node& node, bool removed, Write&& write);
  void record(const core::Node& node, bool stops, bool goes);
  void count_dropped(const core::Node& node, std::size_t messages, bool removed) noexcept;
  void complete_jobs(core::NodeId root) noexcept;
  std::unique_ptr<Job> take_done(core::NodeId root, bool stops_only) noexcept;
  void report(Job& job) noexcept;
  void expire(core::NodeId root) noexcept;
  static void count(core::Node& node) noexcept;

  core::AgentTable& table_;
  mailbox::MessagePool& pool_;
  events::EventHub& hub_;
  turn::Turns& turns_;
  loop::Engine& engine_;
  Duration grace_;

  // Passes over all slots of flights or of agents: the slot at which each pass continues.
  static constexpr std::uint32_t pass_done = 0xffff'ffff;
  std::uint32_t cut_next_ = pass_done;   // flights: cuts those whose gate is closed
  std::uint32_t late_next_ = pass_done;  // flights: gives up those whose grace period is over
  std::uint32_t look_next_ = pass_done;  // agents: settles those that could not be settled
  bool look_again_ = false;              // the next run() begins the pass of look_next_
  std::list<Job*> queue_;                // the jobs whose walks are not done, oldest first
  const Job* walking_ = nullptr;         // the job whose agents are being visited; null once it is done
  Jobs jobs_;                            // all, by root
  std::size_t reports_wanted_ = 0;
  bool reporting_ = false;
  std::uint64_t next_number_ = 0;
};

}  // namespace agentcore::tree
