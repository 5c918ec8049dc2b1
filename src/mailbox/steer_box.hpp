// SteerBox: messages for running turns. They wait here for the next step of the turn, or for its end.
#pragma once

#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"
#include "core/references.hpp"

#include <agentcore/error.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agentcore::detail::mailbox {

// A steered message: a cell of the MessagePool, and how it was steered.
struct SteerEntry {
  std::uint32_t cell = 0;
  MessageId id;
  bool now = false;           // the open model call was ended for it
  bool give_back = false;     // if the turn ends first: it is returned, and does not begin a turn
  bool dropped = false;       // a verb has dropped it
  std::uint64_t sent_at = 0;  // ClearedMessages::count()
  Errc reason = Errc::none;   // why it is returned; for the loop
};

// Any thread adds, the loop thread takes. A tree has one; most of the time it is empty, and then each
// function for the loop reads one atomic value.
//
// What an adding thread and the loop agree on is decided in this order: the adding thread makes its message
// visible and then reads the packed state (`check`); the loop writes the packed state and then looks into the
// box. So at least one of them notices the other (model: tests/model/steer.pml).
class SteerBox {
 public:
  enum class Added : std::uint8_t {
    waits,    // the loop will find it
    full,     // the agent has `limit` messages here that are not dropped, or twice as many
    refused,  // `check` refused it
  };
  // Adds a message, then calls check(message, reasks) under the lock, which decides with the present packed
  // state: it may set `now`, and false takes the message out again. `reasks`: how often the
  // model was asked again in the turn, for other messages than those that wait. Throws std::bad_alloc; then
  // nothing was added. @threadsafe
  template <typename Check>
  Added add(core::NodeId agent, SteerEntry message, std::size_t limit, Check&& check) {
    const core::Lock lock(mutex_);
    Waiting& waiting = agents_[agent];
    const Cleanup cleanup(*this, agent);
    if (waiting.count() >= limit || waiting.messages.size() >= 2 * limit) return Added::full;
    waiting.messages.push_back(message);
    publish();
    SteerEntry& added = waiting.messages.back();
    if (!check(added, waiting.reasks - (waiting.cuts ? 1 : 0))) {
      waiting.messages.pop_back();
      return Added::refused;
    }
    if (added.now && !std::exchange(waiting.cuts, true)) ++waiting.reasks;
    return Added::waits;
  }

  // A verb drops the messages that wait for the agent now. The loop takes them out later. @threadsafe
  void drop(core::NodeId agent) noexcept;
  // The same of one of them; nothing if it does not wait here. @threadsafe
  void drop(core::NodeId agent, MessageId message) noexcept;
  // No message waits, and nothing is counted, for any agent. @threadsafe
  bool empty() const noexcept { return size_.load(std::memory_order_seq_cst) == 0; }
  // Messages that wait and are not dropped. @threadsafe, as the next ones
  std::size_t count(core::NodeId agent) const noexcept;
  // Messages, and what else is kept, of these agents (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // True if the open model call of the agent was ended for a message that waits.
  bool cuts(core::NodeId agent) const noexcept;
  std::uint32_t reasks(core::NodeId agent) const noexcept;

  // A copy of the messages that wait for the agent and are not dropped, oldest first. Throws std::bad_alloc.
  std::vector<SteerEntry> waiting(core::NodeId agent) const;
  // Counts a model call that is asked again for another reason. Throws std::bad_alloc. @loop_thread
  void count_reask(core::NodeId agent);
  // The cell of the oldest message that is not dropped, before a model call. 0: none; then no message that
  // was dropped ends that call. @loop_thread
  std::uint32_t next(core::NodeId agent) noexcept;
  // Takes the message in that cell, also if a verb has dropped it just now. @loop_thread
  void take(core::NodeId agent, std::uint32_t cell) noexcept;
  // Takes the oldest message that is dropped; a cell of 0: there is none. @loop_thread
  SteerEntry take_dropped(core::NodeId agent) noexcept;
  // Takes all messages, oldest first, and forgets what was counted: the turn is over. @loop_thread
  std::vector<SteerEntry> take_all(core::NodeId agent) noexcept;
  // Forgets everything; the cells stay as they are. @loop_thread
  void clear() noexcept;

 private:
  struct Waiting {
    std::size_t count() const noexcept { return messages.size() - dropped; }

    std::vector<SteerEntry> messages;
    std::size_t dropped = 0;  // of these: the first ones
    std::uint32_t reasks = 0;
    bool cuts = false;
  };
  // Forgets an agent for which nothing waits and nothing is counted. It lives and ends under the lock.
  class Cleanup {
   public:
    Cleanup(SteerBox& box, core::NodeId agent) noexcept : box_(box), agent_(agent) {}
    ~Cleanup() { box_.forget_if_unused(agent_); }
    Cleanup(const Cleanup&) = delete;
    Cleanup& operator=(const Cleanup&) = delete;

   private:
    SteerBox& box_;
    core::NodeId agent_;
  };

  void publish() noexcept AGENTCORE_REQUIRES(mutex_) {
    size_.store(agents_.size(), std::memory_order_seq_cst);
  }
  SteerEntry take_at(core::NodeId agent, Waiting& waiting, std::size_t index) noexcept
      AGENTCORE_REQUIRES(mutex_);
  void forget_if_unused(core::NodeId agent) noexcept AGENTCORE_REQUIRES(mutex_);

  mutable core::Mutex mutex_{core::LockRank::steers};
  std::unordered_map<core::NodeId, Waiting> agents_ AGENTCORE_GUARDED_BY(mutex_);
  core::Atomic<std::size_t> size_{0};
};

}  // namespace agentcore::detail::mailbox
