// TaskAgents: the agents that were made for one task each, and are deleted after it.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>
#include <agentcore/message.hpp>
#include <agentcore/subscription.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

namespace agentcore::detail::console {

// An agent is deleted when its task has ended `retention` ago, or when more than `kept` tasks have ended
// after its own: the oldest first. One that got another message, a child or a background task stays. The mark
// is in the store: after a restart the time starts again. All @loop_thread.
class TaskAgents {
 public:
  TaskAgents(std::shared_ptr<loop::Engine> engine, Duration retention, std::size_t kept)
      : engine_(std::move(engine)), retention_(retention), kept_(kept) {}
  ~TaskAgents() { leave(); }
  TaskAgents(const TaskAgents&) = delete;
  TaskAgents& operator=(const TaskAgents&) = delete;

  // Follows `tree` from now on, and knows the marked agents that it has.
  void follow(AgentTree& tree);
  // No agent is deleted any more.
  void leave();
  // The agent was made for the task with this message. Marks it. Throws std::bad_alloc.
  void add(const Agent& agent, MessageId task);

 private:
  struct Entry {
    MessageId task = {};   // 0: it was sent before a restart, and no turn has begun with it since
    bool in_turn = false;  // when it was found again
    bool has_ended = false;
    TimePoint until = {};  // if it has ended
  };

  void take(const Event& event);
  // `of_turn`: the message of the turn in progress, if it is known.
  void find_again(const Agent& agent, bool in_turn, MessageId of_turn);
  void end(const Agent& agent, Entry& entry);
  void keep(const Agent& agent);
  void forget(const Agent& agent) noexcept;
  void delete_due();
  void start_timer();

  const std::shared_ptr<loop::Engine> engine_;
  const Duration retention_;
  const std::size_t kept_;
  std::unordered_map<Agent, Entry> agents_;
  std::deque<Agent> ended_;  // the oldest first
  std::uint64_t timer_ = 0;  // 0: none
  Subscription events_;
};

}  // namespace agentcore::detail::console
