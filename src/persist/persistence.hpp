// Persistence: keeps the agents of a tree in a store.
#pragma once

#include "core/node.hpp"
#include "core/tree_lifetime.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "loop/source.hpp"
#include "persist/commit.hpp"
#include "persist/delayed_reads.hpp"
#include "persist/owned_store.hpp"
#include "persist/recorder.hpp"
#include "persist/store_waits.hpp"

#include <agentcore/restore.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace agentcore::detail::persist {

// Writes a batch at the end of a poll in which something was changed that is due, reports when it is in the
// store, and reads conversations when they are used first. One commit runs at a time. All @loop_thread.
class Persistence final : public loop::Source {
 public:
  struct Tree {
    core::TreeLifetime& lifetime;
    core::AgentTable& table;
    mailbox::MessagePool& pool;
    mailbox::SteerBox& steers;
    const mailbox::ClearedMessages& cleared;
    MailNotes& mail_notes;
    events::EventHub& hub;
    loop::Engine& engine;
    turn::Turns& turns;
    std::function<Agent()> keep;                       // a handle that keeps the memory of the tree
    std::function<void(core::NodeId agent)> go_on;     // the turn of that agent waits no longer for the store
    std::function<void(core::NodeId agent)> schedule;  // the messages of that agent wait no longer for it
    // Stops an agent, or all if it is 0.
    std::function<void(core::NodeId agent, std::string reason)> stop;
    std::function<bool()> has_resumes;  // a resume has agents to open, which are not due for the store yet
  };
  Persistence(Tree tree, std::shared_ptr<OwnedStore> store, RestoreOptions options);
  ~Persistence();
  Persistence(const Persistence&) = delete;
  Persistence& operator=(const Persistence&) = delete;

  // Null: the tree goes on without its store.
  Recorder* recorder() noexcept { return detached_ ? nullptr : &recorder_; }
  const RestoreOptions& options() const noexcept { return options_; }

  // loop::Source: it works at the end of a poll. May run code of the host.
  void run_control(loop::PollBudget&) override {}
  void run_round(loop::PollBudget&) override {}
  bool has_work() const noexcept override { return false; }
  bool has_pending() const noexcept override { return commit_ != nullptr; }
  void end_poll() override;
  bool has_end_work() const noexcept override;

  Result<void> flush();
  // core::when_stored(). Throws std::bad_alloc.
  void when_stored(StoreWaits::Done done, std::optional<std::string> stop_of);
  // The end of the tree, or of its Runtime: writes what has changed. Reports nothing.
  void close() noexcept;

  // Reads the conversation of the agent, if that was not done. Error: then it is not there.
  Result<void> load(core::Node& node);
  // The same, for a turn that is about to begin, and without waiting for a commit. False: it may not begin.
  // The agent is being stopped, because its conversation is damaged; or the conversation is read later, and
  // the agent is scheduled then. Throws std::bad_alloc.
  bool load_for_turn(core::Node& node);
  // True if the next message of the agent may begin its turn. False: a restart has brought it back, and the
  // store does not have yet how often its turn was begun; the agent is scheduled when it has. Throws
  // std::bad_alloc.
  bool may_begin_next(core::Node& node);
  // Recorder::begun().
  std::uint32_t begun(core::NodeId agent, MessageId message) const noexcept {
    return detached_ ? 1 : recorder_.begun(agent, message);
  }
  // True if its conversation is read later (it could not be read, or a commit runs), or its next message
  // waits for a commit.
  bool is_delayed(core::NodeId agent) const noexcept {
    return delayed_reads_.contains(agent) || (!readers_.empty() && readers_.contains(agent)) ||
           (!beginners_.empty() && beginners_.contains(agent));
  }
  // OwnedStore::read(), between two commits.
  Result<void> read(const RecordKey& first, const RecordKey& last, const VisitRecord& visit);

 private:
  bool begin(bool also_empty = false);
  bool collect(bool also_empty);
  bool begin_urgent();
  void start(StoreBatch&& changes, bool is_urgent);
  void submit() noexcept;
  void on_committed() noexcept;
  void on_stored();
  void on_urgent_stored();
  void on_not_stored(const Error& error) noexcept;
  void report(const Acknowledgement& one) noexcept;
  void on_failure(const Error& error) noexcept;
  void detach() noexcept;
  void retry_later() noexcept;

  Tree tree_;
  std::shared_ptr<OwnedStore> store_;
  RestoreOptions options_;
  Recorder recorder_;
  std::shared_ptr<Commit> commit_;  // that runs; null: none
  bool commits_urgent_ = false;     // it has the first of `urgent_`, and not `unstored_`
  // What is not in the store: after a failure, together with what has changed since. At most one but within
  // collect(). While its commit runs, that has the changes.
  std::vector<Batch> unstored_;
  std::vector<StoreBatch> urgent_;              // what a full store takes of it, not committed yet
  std::unordered_set<core::NodeId> unwritten_;  // UrgentChanges::unwritten
  bool is_full_ = false;                        // the last commit of `unstored_` has failed with `store_full`
  Error last_error_;
  StoreWaits waits_for_store_;
  bool failed_ = false;    // it has failed, and is tried again
  unsigned failures_ = 0;  // in a row
  Timer retry_;
  bool waits_ = false;  // for it
  DelayedReads delayed_reads_;
  std::unordered_set<core::NodeId> readers_;    // agents that wait for the end of the commit, to read
  std::unordered_set<core::NodeId> beginners_;  // agents that wait for it, to begin a turn
  bool readers_first_ = false;                  // they read before the next commit begins
  bool detached_ = false;                       // AfterStoreFailure::go_on, or the tree is closed
  bool closing_ = false;
};

}  // namespace agentcore::detail::persist
