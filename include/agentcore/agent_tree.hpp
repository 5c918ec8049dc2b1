// AgentTree: owns the agents.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/event.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/subscription.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

struct TreeOptions {
  LlmClient* llm = nullptr;               // for agents whose spec names none. Must outlive the tree.
  std::uint8_t max_depth = 64;            // agents on the way from a root to a leaf, both counted; 1 to 250
  std::uint32_t max_agents = 16'000'000;  // alive at once; 1 to 134,000,000
  std::uint16_t mailbox_limit = 1000;     // messages per agent, for specs that name no limit; 1 to 65,000
  std::size_t max_message_bytes = std::size_t{1} << 20;  // text, sender and parts together; at least 1
  std::size_t max_answer_bytes = std::size_t{4}
                                 << 20;  // of one turn; more fails it with `response_too_large`; at least 1
  // How long a stop waits for a call that ignores its stop token, before the call is given up. No duration in
  // TreeOptions may be negative.
  Duration stop_grace = std::chrono::seconds(5);
  // For tools that name no time-out of their own; 0: none. A call whose time is over counts as interrupted:
  // the model is told so, and the turn goes on.
  Duration tool_timeout = std::chrono::minutes(10);
  Duration question_timeout{0};  // for approvals, and questions that name no time-out; 0: none
  std::size_t max_tool_result_bytes = std::size_t{256} << 10;  // of a message, which is cut off there, and of
                                                               // data, whose call fails; at least 1
};

// Something that runs (I1). It is in the list from before it starts until it has let go, however it ends.
struct RunningTask {
  enum class Kind : unsigned char { turn, model_call, tool_call, background };

  Kind kind = Kind::turn;
  std::string id = {};  // of a tool call or a background task
  std::string agent_id = {};
  std::uint64_t turn = 0;
  std::string tool = {};
  bool stopping = false;  // it was told to end, and has not let go yet
};
std::string_view to_string(RunningTask::Kind kind) noexcept;

// A forest of agents on one Runtime. Creating agents and looking around is @loop_thread; the verbs, send and
// state are @threadsafe here as on Agent.
//
// Destroying the tree ends everything at once and quietly: open calls are cut, no event or completion
// follows, handles say `agent_not_found`. For an orderly end call stop_all() and drive the loop until it has
// settled.
//
// The tree may outlive its Runtime. Then nothing happens in it any more, and every function with a Result or
// a reason returns `runtime_gone`. The others can still read: find(), size(), roots(), walk(), Agent::id().
class AgentTree {
 public:
  // Throws std::invalid_argument when an option is out of range.
  explicit AgentTree(Runtime& runtime, TreeOptions options = {});
  ~AgentTree();
  AgentTree(const AgentTree&) = delete;
  AgentTree& operator=(const AgentTree&) = delete;

  // Makes a root agent, `idle` and ready for messages (B2). Errors: invalid_agent_id, agent_exists,
  // agent_limit, invalid_config, invalid_history (the message names the entry and what is wrong with it),
  // runtime_gone, out_of_memory, and agent_stopping or agent_stopped after stop_all(). @loop_thread
  Result<Agent> create(AgentSpec spec = {});
  Result<Agent> create(const SharesAgentSpec auto& spec) { return create_shared(spec); }

  // The agent with that id, own or generated; a terminating one is still found (X33). @threadsafe
  std::optional<Agent> find(std::string_view id) const;

  // By id what Agent offers by handle. An empty id gives `missing_agent_id`. @threadsafe
  Result<AgentState> state(std::string_view id) const;
  SendResult send(std::string_view id, Message message);
  SendResult send(std::string_view id, MessageText auto&& text) {
    return send(id, Message{.text = std::string(std::forward<decltype(text)>(text))});
  }
  AbortResult abort(std::string_view id, AbortOptions options = {});
  StopResult stop(std::string_view id, StopOptions options = {});
  ResumeResult resume(std::string_view id, ResumeOptions options = {});
  TerminateResult terminate(std::string_view id, TerminateOptions options = {});

  // Stops every agent as one, with cause `shutdown` unless told otherwise; none can be created until
  // resume_all(). The report's agent_id is empty. @threadsafe
  StopResult stop_all(StopOptions options = {.cause = StopCause::shutdown});
  ResumeResult resume_all(ResumeOptions options = {});

  // Answers an open question: exactly one answer counts, a late one is refused with the reason. An approval
  // is given by answer() (whatever the text) and refused by decline(). @loop_thread
  AnswerResult answer(std::string_view question_id, std::string text);
  AnswerResult decline(std::string_view question_id, std::string reason = {});
  std::vector<OpenQuestion> questions() const;  // that are open, oldest first. @loop_thread

  // What runs now: turns, and what they wait for. @loop_thread
  std::vector<RunningTask> tasks() const;
  // Cancels a background task; its agent goes on. False when there is no such task (any more), or when the
  // Runtime is gone. @loop_thread
  bool cancel_task(std::string_view task_id);

  std::size_t size() const noexcept;  // agents that exist, terminating ones included. @threadsafe
  std::vector<Agent> roots() const;   // newest first. @loop_thread

  // Calls `visit` for every agent, parents before children. Creating agents meanwhile is allowed; whether
  // they are visited is not said. A `visit` that throws is logged and ends the walk; the loop cannot be
  // driven from within it. Throws std::invalid_argument for an empty function. @loop_thread
  void walk(const std::function<void(const Agent&)>& visit) const;

  // True while a stop, a delete or a turn is under way; false once the Runtime is gone. @loop_thread
  bool busy() const noexcept;

  // Callbacks, on the loop thread, in the order of subscribing. Throws std::invalid_argument for an empty
  // function. @loop_thread
  Subscription on_state_change(std::function<void(const StateChange&)> callback);
  Subscription on_event(std::function<void(const Event&)> callback);

  // How often the id or its agent is referred to by any table, list or queue of the tree: 0 once it is
  // deleted (D4, G13). For tests: it looks everywhere, at a cost proportional to the tree. @loop_thread
  std::size_t references(std::string_view id) const;

 private:
  friend class TerminateScope;
  Result<Agent> create_shared(const SharedAgentSpec& spec);

  tree::TreeCore* core_;
};

}  // namespace agentcore
