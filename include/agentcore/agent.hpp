// Agent: a small copyable handle to one agent of a tree.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>
#include <agentcore/message.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore {

// 16 bytes: a counted reference to the tree's core, and an id with a generation. A handle may outlive its
// agent and its tree: every call then returns `agent_not_found`, and never reaches an agent that was made
// later. It may outlive the Runtime, too: every call then returns `runtime_gone`. Copying a handle is
// @threadsafe; the same handle object must not be written by two threads at once.
class Agent {
 public:
  Agent() noexcept = default;  // refers to no agent
  Agent(const Agent& other) noexcept;
  Agent(Agent&& other) noexcept : core_(other.core_), node_(other.node_) { other.core_ = nullptr; }
  Agent& operator=(Agent other) noexcept;
  ~Agent();

  // The id it was made with, or the generated one; "" when the agent is gone. @threadsafe
  std::string id() const;

  // What it is doing, as seen from outside; Errc::agent_not_found when it is gone. @threadsafe
  Result<AgentState> state() const;
  bool exists() const noexcept;  // state() has a value. @threadsafe

  // Puts a message at the end of the mailbox. Never blocks. @threadsafe
  SendResult send(Message message) const;
  SendResult send(MessageText auto&& text) const {
    return send(Message{.text = std::string(std::forward<decltype(text)>(text))});
  }

  // The verbs. They never block, may be called from any callback, this agent's own included, and have taken
  // effect when they return (G1); what remains to be cleaned up follows on the loop thread (G4). @threadsafe
  AbortResult abort(AbortOptions options = {}) const;
  StopResult stop(StopOptions options = {}) const;
  ResumeResult resume(ResumeOptions options = {}) const;
  TerminateResult terminate(TerminateOptions options = {}) const;

  // Makes a child. Refused while this agent or an ancestor is stopping, stopped or terminating (C10, E6).
  // @loop_thread
  Result<Agent> create_child(AgentSpec spec = {}) const;
  Result<Agent> create_child(const SharesAgentSpec auto& spec) const { return create_shared(spec); }

  // Without the agent these return the error `agent_not_found`, without the Runtime `runtime_gone`.
  Result<Agent> parent() const;                 // agent_not_found for a root. @loop_thread
  Result<std::vector<Agent>> children() const;  // newest first. @loop_thread
  Result<std::size_t> queue_length() const;     // messages waiting in the mailbox. @threadsafe
  Result<std::size_t> clear_queue() const;      // drops them; how many (F3). @loop_thread
  // A copy of the history, with the system prompt first if there is one; windows and text-protocol
  // instructions are not in it. Always a valid history, which can be the AgentSpec::history of another
  // agent. @loop_thread
  Result<std::vector<ChatMessage>> conversation() const;
  // The messages of the conversation that are still sent to the model: the rest was trimmed (ContextOptions).
  // @loop_thread
  Result<std::vector<ChatMessage>> context() const;

  // What it used of its own budget, and what its subtree used of the subtree's. @loop_thread
  Result<Spent> spent() const;
  Result<Spent> subtree_spent() const;
  // Replaces its budget and counts from zero. Refused when the agent or the Runtime is gone, and for a cost
  // or a time out of range (see Budget): such a value never means "no limit". @loop_thread
  GrantResult grant(const Budget& budget) const;
  GrantResult grant_subtree(const Budget& budget) const;

  // Takes `answer` as if the model had just said it: runs its tool calls once, without a model call, and
  // tells what came of them as a turn of its own. Nothing of it is kept in the history. For tests and replays
  // (K13). Refused like a message. @threadsafe
  SendResult simulate(std::string answer) const;

  // Same agent: same tree, same slot, same generation.
  friend bool operator==(const Agent& a, const Agent& b) noexcept {
    return a.core_ == b.core_ && a.node_ == b.node_;
  }
  std::size_t hash() const noexcept;

 private:
  friend struct core::AgentAccess;
  Agent(tree::TreeCore* core, std::uint64_t node) noexcept;
  Result<Agent> create_shared(const SharedAgentSpec& spec) const;
  template <typename Read>
  auto read(Read&& read) const;

  tree::TreeCore* core_ = nullptr;
  std::uint64_t node_ = 0;
};

}  // namespace agentcore

template <>
struct std::hash<agentcore::Agent> {
  std::size_t operator()(const agentcore::Agent& agent) const noexcept { return agent.hash(); }
};
