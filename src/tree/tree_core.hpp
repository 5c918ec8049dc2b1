// TreeCore: what AgentTree and all its handles share.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/control_queue.hpp"
#include "tree/ready_list.hpp"
#include "tree/settler.hpp"
#include "turn/turns.hpp"

#include <agentcore/agent_tree.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::tree {

inline constexpr std::string_view runtime_gone_text = "the Runtime of this tree was destroyed";

// Lives as long as the tree or any handle. close() is the tree's end: what is left then is memory in which
// foreign threads may still look, and find nothing.
//
// A verb has two halves. The first is @threadsafe, in verbs.cpp: it closes (or opens) a gate with one
// compare-and-set, cuts what it can on the wire, and leaves a ControlOp. The second runs on the loop.
class TreeCore final : public loop::Source, private turn::TurnOwner {
 public:
  TreeCore(std::shared_ptr<loop::Engine> engine, const TreeOptions& options);
  void close();
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  // Handles count. @threadsafe
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Creating and looking around. @loop_thread
  Result<Agent> create(core::NodeId parent, SharedAgentSpec spec, std::string id);
  Result<Agent> create(core::NodeId parent, AgentSpec spec);
  std::size_t clear_queue(core::NodeId id);
  std::vector<ChatMessage> conversation(core::NodeId id) const;
  std::vector<ChatMessage> context(core::NodeId id) const;
  Spent spent(core::NodeId id, bool subtree) const;
  GrantResult grant(core::NodeId id, const Budget& budget, bool subtree);
  AnswerResult answer(std::string_view question_id, Answer answer);
  std::vector<OpenQuestion> questions() const;
  std::vector<RunningTask> tasks() const;
  bool cancel_task(std::string_view task_id);
  Result<Agent> parent(core::NodeId id);
  std::vector<Agent> children(core::NodeId id);
  void walk(const std::function<void(const Agent&)>& visit);
  bool busy() const noexcept;
  std::size_t count_references(std::string_view name) const;
  events::EventHub& hub() noexcept { return hub_; }
  core::NodeId trunk() const noexcept { return table_.trunk().id(); }
  std::size_t size() const noexcept { return closed() ? 0 : table_.alive(); }

  // The verbs' first halves, and what goes with them. @threadsafe
  core::NodeId find(std::string_view name) const noexcept;
  // The reason when reach() has found no agent: `runtime_gone` or `agent_not_found`.
  Errc missing() const noexcept { return engine_->closed() ? Errc::runtime_gone : Errc::agent_not_found; }
  std::string name_of(core::NodeId id) const;
  Result<AgentState> state(core::NodeId id) const;
  bool exists(core::NodeId id) const noexcept;
  std::size_t queue_length(core::NodeId id) const noexcept;
  SendResult send(core::NodeId id, Message&& message);
  AbortResult abort(core::NodeId id, AbortOptions&& options);
  StopResult stop(core::NodeId id, StopOptions&& options);
  ResumeResult resume(core::NodeId id, const ResumeOptions& options);
  TerminateResult terminate(core::NodeId id, TerminateOptions&& options);

  // loop::Source
  void run_control(loop::Budget& budget) override;
  void run_round(loop::Budget& budget) override;
  bool has_work() const noexcept override;
  bool has_pending() const noexcept override {
    return settler_.jobs() != 0 || turns_.flights().open_count() != 0;
  }

 private:
  ~TreeCore();

  // Marks that the loop is inside the tree: a callback that destroys the tree must not pull the ground away.
  class Inside {
   public:
    explicit Inside(TreeCore& core) noexcept : core_(core) { core_.enter(); }
    ~Inside() { core_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    TreeCore& core_;
  };

  // turn::TurnOwner
  void let_go(core::Node& node) noexcept override;
  void schedule(core::Node& node) override;
  void stop_for_budget(core::Node& node, std::string reason) override;
  void enter() noexcept override {
    retain();
    ++inside_;
  }
  void leave() noexcept override {
    if (--inside_ == 0 && closed()) purge();
    release();
  }

  // The agent of that id: resolve() finds it until the tree is closed, reach() only while the Runtime exists,
  // too. Null: see missing().
  core::Node* resolve(core::NodeId id) const noexcept;
  core::Node* reach(core::NodeId id) const noexcept { return engine_->closed() ? nullptr : resolve(id); }
  Error missing(std::string_view text) const;
  Agent handle(core::NodeId id) noexcept { return core::AgentAccess::make(this, id); }
  Error refusal(core::NodeId parent) const;
  Result<Agent> insert(core::Node& parent, SharedAgentSpec spec, std::string id);
  void withdraw(core::Node& node) noexcept;
  void start(std::unique_ptr<ControlOp>& op);
  void step(core::Node& node);
  bool wants_step(const core::Node& node) const noexcept;
  void finish_abort(ControlOp& op);
  void purge();

  void let_go_later(const core::Node& node) noexcept;

  StopResult close_for_stop(core::Node& node, std::unique_ptr<ControlOp> op, std::string_view caller);
  ResumeResult open_for_resume(core::Node& node, std::unique_ptr<ControlOp> op);
  TerminateResult close_for_delete(core::Node& node, std::unique_ptr<ControlOp> op, std::string_view caller);
  void join(std::unique_ptr<ControlOp> op);
  void follow_up(std::unique_ptr<ControlOp> op);
  bool is_quiet(const core::Node& root) const noexcept;
  bool is_parent(std::string_view caller, const core::Node& node) const noexcept;

  const std::shared_ptr<loop::Engine> engine_;
  const std::shared_ptr<loop::Waker> waker_;
  const TreeOptions options_;
  const SharedAgentSpec plain_spec_ = std::make_shared<const AgentSpec>();
  std::atomic<std::uint64_t> references_{1};
  std::atomic<bool> closed_{false};
  int inside_ = 0;  // loop-side functions of the tree that are on the stack

  core::AgentTable table_;
  mailbox::MessagePool pool_;
  std::mutex closing_;  // held by a verb for a look at the ancestors, one replacement, and its ControlOp
  ControlQueue control_;
  ControlOp* taken_ = nullptr;  // out of it, oldest first, what the last poll had no time for
  ReadyList ready_;
  events::EventHub hub_;
  turn::Turns turns_;
  Settler settler_;
};

}  // namespace agentcore::tree
