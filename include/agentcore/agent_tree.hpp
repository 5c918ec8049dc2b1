// AgentTree: owns the agents.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/event.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/restore.hpp>
#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/subscription.hpp>
#include <agentcore/tool_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

/// Options of an AgentTree. No duration may be negative.
struct TreeOptions {
  /// The client for agents whose AgentSpec::llm is null. Null: none.
  SharedOrBorrowed<LlmClient> llm = {};
  /// Maximum number of agents on the path from a root to a leaf, both included; 1 to 250.
  std::uint8_t max_depth = 64;
  /// Maximum number of agents that exist at a time; 1 to 134,000,000.
  std::uint32_t max_agents = 16'000'000;
  /// Maximum number of messages in the mailbox of an agent whose AgentLimits::mailbox is empty; 1 to
  /// 65,000.
  std::uint16_t mailbox_limit = 1000;
  /// Maximum size of a message in bytes: text, sender and parts together; also of ToolResult::parts. At least
  /// 1.
  std::size_t max_message_bytes = std::size_t{1} << 20;
  /// Maximum size of an answer of a model in bytes; at least 1. The text, the tool calls and the reasoning
  /// each have this limit. If an answer exceeds it, the turn fails with `response_too_large`.
  std::size_t max_answer_bytes = std::size_t{4} << 20;
  /// Maximum number of ended turns whose results the tree keeps for message(); 0 to 1,000,000. The oldest is
  /// forgotten first, and all of an agent are forgotten when it is deleted.
  std::uint32_t kept_results = 100;
  /// Maximum number of times that a model is asked again in one turn, for whatever reason: a steered message
  /// (SteerWhen::now), an answer that is refused (AgentLimits::repairs). 0: never.
  std::uint32_t max_reasks = 16;
  /// How long a stop or a delete waits for an operation that ignores its stop token before the operation is
  /// given up. Also how long a call may go on after it was cancelled (Agent::cancel_call(),
  /// Agent::complete_call(), AgentTree::cancel_task()), or its turn was interrupted or reached its deadline,
  /// before it is given up; its agent does not wait for that.
  Duration stop_grace = std::chrono::seconds(5);
  /// Maximum number of calls of one agent that were cancelled, interrupted or ended by the deadline of their
  /// turn, and have not ended yet; at least 1. If there are more, the oldest are given up at once.
  std::uint32_t max_lingering_calls = 64;
  /// Time-out of the calls of tools without ToolSpec::timeout. Not negative. A call that exceeds it counts as
  /// interrupted: the model receives this as the result, and the turn continues.
  Duration tool_timeout = std::chrono::minutes(10);
  /// Time-out of approvals, and of questions without Question::timeout. Not negative.
  Duration question_timeout = no_limit;
  /// Maximum size of a tool's result in bytes; at least 1. A longer message is truncated; with longer data
  /// the call fails. A request has at most a quarter of ContextOptions::max_tokens of each result.
  std::size_t max_tool_result_bytes = std::size_t{256} << 10;
  /// Decides which tool calls of all agents may run, beside AgentSpec::tool_policy. Empty: all that a person
  /// need not approve (ToolSpec::needs_approval). See ToolPolicy.
  ToolPolicy tool_policy = {};
  /// Gets a record of each stop and delete, e.g. a ReceiptFile. Null: none are made.
  SharedOrBorrowed<StopAudit> audit = {};
};

/// A turn, a model call, a tool call or a background task that runs now. It is listed from before its start
/// until it has ended or was given up.
struct RunningTask {
  using Kind = TaskKind;      ///< What runs.
  Kind kind = Kind::turn;     ///< What runs.
  std::string id = {};        ///< Of a tool call or a background task; else empty.
  std::string agent_id = {};  ///< The agent to which it belongs.
  std::uint64_t turn = 0;     ///< The number of the turn in which it was started.
  MessageId message = {};     ///< The message of that turn: it stands for the turn in the whole tree.
  std::string tool = {};      ///< The name of the tool, for a tool call or a background task; else empty.
  /// True if the stop token was triggered and the operation has not ended yet. Always false for a turn.
  bool stopping = false;
};

/// What is known of a message, from AgentTree::message().
struct MessageInfo {
  /// Where the message is.
  enum class Stage : unsigned char {
    unknown,  ///< There never was such a message, it was dropped, or its result is not kept any more.
    queued,   ///< It waits in the mailbox of its agent.
    running,  ///< Its turn has begun.
    ended     ///< Its turn has ended, and `result` is its result.
  };
  Stage stage = Stage::unknown;                   ///< Where the message is.
  std::string agent_id = {};                      ///< Its agent. Empty if `stage` is `unknown`.
  std::uint64_t turn = 0;                         ///< The number of its turn. 0: none has begun.
  std::shared_ptr<const TurnResult> result = {};  ///< Null, unless `stage` is `ended`.
};

/// Owns a forest of agents on one Runtime: any number of root agents, each with its descendants. A Runtime
/// may have several AgentTrees.
///
///     agentcore::Runtime runtime;
///     agentcore::testing::ScriptedClient llm{runtime};
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
///     agentcore::Agent planner = tree.create({.id = "planner"}).value();
///     agentcore::SendResult sent = planner.send("Plan a trip.");
///     runtime.run_until_idle();
///     agentcore::VerbResult stopped = tree.stop_all();
///
/// Threads: agents are created and listed on the loop thread only. find(), size(), stop_all(), resume_all(),
/// pause_all(), unpause_all() and cancel_task() may be called on any thread. The other functions do nothing
/// on another thread: those with an error or a reason return `wrong_thread`, the others return nothing, and
/// the next poll logs the name of the function. The tree is destroyed on the loop thread, too.
///
/// Destroying the tree ends everything at once: operations in flight are cut, no event and no completion
/// callback follows, and the functions of handles return `agent_not_found`. For an orderly end, call
/// stop_all() and drive the loop until the stop has settled.
///
/// The tree may outlive its Runtime. After the Runtime was destroyed, nothing happens in the tree, and every
/// function with a Result or a reason returns `runtime_gone`. These functions can still read: find(), size(),
/// roots(), walk() and Agent::id().
class AGENTCORE_API AgentTree {
 public:
  /// Creates a tree without agents. Throws std::invalid_argument if an option is out of range.
  explicit AgentTree(Runtime& runtime, TreeOptions options = {});
  /// As the constructor, for hosts without exceptions. Errors: invalid_config, out_of_memory.
  static Result<std::unique_ptr<AgentTree>> make(Runtime& runtime, TreeOptions options = {});
  /// Ends everything and deletes all agents (see AgentTree). In a tree with a store, what has changed is
  /// written before, which blocks as long as the store does; the agents stay in the store. May be called in a
  /// callback.
  /// @loop_thread
  ~AgentTree();
  AgentTree(const AgentTree&) = delete;
  AgentTree& operator=(const AgentTree&) = delete;

  /// Creates the agents that `store` has, and keeps all agents of the tree in it from now on. An empty store
  /// makes no agents. To be called once, before the tree has agents; subscribe to AgentRestored first.
  ///
  ///     auto store = agentcore::SqliteStore::open("agents.db").value();
  ///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
  ///     auto found = tree.on<agentcore::AgentRestored>([](const agentcore::AgentRestored& restored) {
  ///       std::printf("%s is %s\n", restored.agent.id().c_str(), to_string(restored.state).data());
  ///     });
  ///     if (auto report = tree.restore(store.get()); !report)
  ///       std::fprintf(stderr, "%s\n", report.error().message.c_str());
  ///
  /// The agents have the ids, parents, specs, budgets, messages and conversations that they had. In
  /// particular:
  /// - What was stopped, was being stopped, or had a deferred stop, is `stopped`. stop_all(), pauses
  ///   and holds stay in force. What was being deleted is deleted.
  /// - A turn that was in progress is interrupted, or goes on, as RestoreOptions::turns says. Calls of tools
  ///   that had begun and are not made again have the result that their effect is unknown
  ///   (AgentRestored::interrupted_calls). No call that has its result is made again.
  /// - Grants stay. A question of a turn that goes on is asked again, with its id and a new time-out, within
  ///   this call: for an approval the policies decide again, and for another one its tool begins again, also
  ///   in a pause.
  /// - Background tasks are gone; the next question of the agent tells the model that their effect is
  ///   unknown.
  /// - Messages wait in their order, with their ids; their callbacks (SendOptions) are gone. With
  ///   InterruptedTurns::end they begin no turn until Agent::release_queue(). Messages of tool calls
  ///   (make_agent_tool()) are gone, with their calls.
  /// - A lease begins again in full. The time while no process ran does not count for Budget::wall_clock.
  /// - Code is found by name (AgentSpec::code, RestoreOptions::code). An agent of which some is not found, or
  ///   has no name, is stopped, without its children (AgentRestored::unbound). Only a resume() of that agent
  ///   opens it. Each message that waited for it is in a MessageDropped; the store keeps them for a restart
  ///   that finds the code.
  ///
  /// A conversation is read when it is used first. If that fails, Agent::conversation() returns the error. An
  /// agent that would begin a turn is stopped, with the error as the reason, if its records are damaged
  /// (`store_corrupt`, `store_newer`). After any other error its messages wait, and the conversation is read
  /// again after one second, two, four, ..., at most a minute. An agent whose turn was in progress, and
  /// whose conversation is damaged, is stopped by the restore (AgentRestored::damage); a person
  /// (AgentRole::user) is not.
  ///
  /// Not kept: the windows of a ToolRegistry, which is code of the host; the results for message(); an answer
  /// that was not complete, with what was acknowledged of it; and of the calls before the restart in the
  /// TurnResult of a turn that goes on, `mode`, `summary`, `task_id` and `last_result`.
  ///
  /// The tree is the owner of what the store has, until another tree is restored from it: that one begins the
  /// next epoch (StoreBatch::epoch()), and from then on the commits of this one are refused with
  /// `store_fenced`, which on_failure gets. This tree is not stopped by that: stop it if it must not go on in
  /// memory. So a restart after a crash always gets the agents, also if the earlier process still lives.
  ///
  /// Errors: those of Store::read() and Store::commit(); `store_in_use` (another tree uses this Store
  /// object), `store_fenced` (another process was restored from it at the same time), `store_corrupt` (a
  /// record cannot be read; the message names it), `store_newer`, `invalid_config` (the tree has agents, or
  /// had this call before; TreeOptions allow fewer agents or less depth), `runtime_gone`, `out_of_memory`.
  /// Then no agent exists, and the store has what it had; the numbers of the next ids may have risen. To try
  /// again, create a new AgentTree: this one may refuse a second call.
  /// @loop_thread
  Result<RestoreReport> restore(SharedOrBorrowed<Store> store, RestoreOptions options = {});
  /// Writes to the store everything that has changed, and returns when it is there: also if a commit has
  /// failed before. Blocks as long as the store does. Without a store it does nothing. If nothing has
  /// changed, an empty batch is committed, which says whether the store can still be written.
  ///
  /// Errors: those of Store::commit(); the changes then stay for the next commit. `store_failed` if the host
  /// has chosen AfterStoreFailure::go_on. In a MessageHandler, the message that it handles is in neither
  /// state: it does not wait any more, and its turn has not ended.
  /// @loop_thread
  Result<void> flush();

  /// Creates a root agent, `idle` and ready for messages.
  ///
  /// Errors: `invalid_agent_id`, `agent_exists`, `agent_limit`, `invalid_config`, `invalid_history` (the
  /// message specifies the entry and what is wrong with it), `runtime_gone`, `out_of_memory`; after
  /// stop_all() `agent_stopping` or `agent_stopped`.
  /// @loop_thread
  Result<Agent> create(AgentSpec spec = {});
  /// Same as create(AgentSpec), with a shared spec. The agent gets a generated id. A null pointer is refused
  /// with `invalid_config`.
  /// @loop_thread
  Result<Agent> create(const SharesAgentSpec auto& spec) { return create_shared(spec); }

  /// Returns the agent with that id, chosen or generated. An agent that is being deleted is still found.
  ///
  ///     if (agentcore::Result<agentcore::Agent> planner = tree.find("planner"))
  ///       std::printf("%s\n", to_string(planner->state().value()).data());
  ///     else
  ///       std::fprintf(stderr, "%s\n", planner.error().message.c_str());
  ///
  /// Errors: `missing_agent_id` if `id` is empty, `agent_not_found`, and `runtime_gone` if no agent is found
  /// after the Runtime was destroyed.
  /// @threadsafe
  Result<Agent> find(std::string_view id) const;

  /// Stops all agents by one stop. No agent can be created until resume_all(); while a deferred stop
  /// (StopOptions::when) is pending, agents can be created, and are included. StopReport::agent_id is empty.
  /// With Scope::descendants the agents are stopped, and others can still be created; Scope::agent is
  /// refused. `options` without a cause have StopCause::user; without `options`, the cause is
  /// StopCause::shutdown.
  /// @threadsafe
  VerbResult stop_all(StopOptions options = {.cause = StopCause::shutdown});
  /// Resumes the tree after stop_all(), and the agents that stopped because of it. Withdraws a deferred stop
  /// of stop_all() that is pending.
  /// @threadsafe
  VerbResult resume_all(ResumeOptions options = {});
  /// Pauses all agents, and those that are created meanwhile, by one pause: as Agent::pause(), but without
  /// events.
  /// @threadsafe
  VerbResult pause_all(PauseOptions options = {});
  /// Ends the pause of pause_all(). Agents that were paused by a pause() of their own stay paused.
  /// @threadsafe
  VerbResult unpause_all();

  /// Answers an open question. A question accepts one answer; later answers are refused. An approval is no
  /// question in words: `is_an_approval`, whatever `text` contains; approve() or decline() decides it.
  /// Success: the answer was passed to the tool call.
  ///
  ///     if (auto answered = tree.answer(question.id, "yes"); !answered)
  ///       std::puts(answered.error().message.c_str());
  ///
  /// Errors: `question_not_found`, `question_closed`, `is_an_approval`, `out_of_memory` (it stays open),
  /// `runtime_gone`, `wrong_thread`, or the state of an agent that is being stopped or deleted:
  /// `agent_stopping`, `agent_stopped`, `agent_terminating`.
  /// @loop_thread
  Result<void> answer(std::string_view question_id, std::string text);
  /// Approves a tool call, and with `scope`, such calls in the future (see Grant). Other approvals that are
  /// open, and that the new grant covers, are then answered in the same way, the oldest first. What was
  /// approved is what runs: the tool and the arguments that the question named, also if the ToolRegistry or
  /// the policies were changed meanwhile. Refused as answer() is, and with `not_an_approval` if the question
  /// is none; then nothing is granted.
  ///
  ///     auto result = tree.approve(question.id, agentcore::GrantScope::agent);
  /// @loop_thread
  Result<void> approve(std::string_view question_id, GrantScope scope = GrantScope::once);
  /// Declines an open question, or refuses an approval. `reason` may be empty. Refused as answer() is.
  /// @loop_thread
  Result<void> decline(std::string_view question_id, std::string reason = {});
  /// Returns the open questions, the oldest first.
  /// @loop_thread
  std::vector<OpenQuestion> questions() const;
  /// Returns the grants that approve() has given and that still hold, the oldest first.
  /// @loop_thread
  std::vector<Grant> grants() const;
  /// Ends a grant: later calls are asked about again. Calls that run go on. Refused with `grant_not_found` or
  /// `runtime_gone`.
  /// @loop_thread
  Result<void> revoke(std::uint64_t grant_id);

  /// Returns what runs now: the turns, and the operations in flight.
  /// @loop_thread
  std::vector<RunningTask> tasks() const;
  /// Returns where a message is, and the result of its turn if that has ended, as long as the tree keeps it
  /// (TreeOptions::kept_results).
  ///
  ///     const agentcore::MessageInfo info = tree.message(sent.id);
  ///     if (info.stage == agentcore::MessageInfo::Stage::ended) std::puts(info.result->text.c_str());
  /// @loop_thread
  MessageInfo message(MessageId id) const;
  /// Cancels a background task. Its agent continues, and reads in its next turn that the task was cancelled,
  /// with the reason. `task_id` is TaskChanged::task_id.
  ///
  ///     if (agentcore::VerbResult cancelled = tree.cancel_task(task_id, {.reason = "not needed"});
  ///     !cancelled.took_effect())
  ///       std::fprintf(stderr, "not cancelled: %s\n", to_string(cancelled.reason).data());
  ///
  /// Has taken effect when it returns `done`: its stop token was triggered on the calling thread, and what
  /// its tool still delivers is dropped (Discarded). The TaskChanged with TaskState::cancelled follows on the
  /// loop thread. A task that does not end within TreeOptions::stop_grace is given up (Abandoned). Never
  /// blocks. May be called from any callback.
  ///
  /// Returns `no_effect` with `call_not_found` if there is no such task, and with `call_over` if the task has
  /// ended already or its agent is being stopped or deleted. Reasons for `refused`: `agent_not_found` (the
  /// tree is being destroyed), `runtime_gone`, `invalid_utf8` (the reason), `out_of_memory`.
  /// @threadsafe
  VerbResult cancel_task(std::string_view task_id, CancelOptions options = {});

  /// Returns the number of agents that exist, including those that are being deleted.
  /// @threadsafe
  std::size_t size() const noexcept;
  /// Returns the root agents, the newest first.
  /// @loop_thread
  std::vector<Agent> roots() const;

  /// Calls `visit` for every agent, parents before children. `visit` may create agents; whether the walk
  /// visits them is unspecified. If `visit` throws, the exception is logged and the walk ends. The loop
  /// cannot be driven in `visit`. Throws std::invalid_argument if `visit` is empty.
  /// @loop_thread
  void walk(const std::function<void(const Agent&)>& visit) const;

  /// Returns true while a stop, a delete, a turn or another operation is in progress; false after the Runtime
  /// was destroyed.
  /// @loop_thread
  bool busy() const noexcept;

  /// Calls `callback` on the loop thread for each event of type T in the tree, until the Subscription is
  /// reset or destroyed. For the events of one agent: Agent::on(). Throws std::invalid_argument if `callback`
  /// is empty. Returns a Subscription without a callback if the Runtime was destroyed.
  ///
  ///     auto states = tree.on<agentcore::StateChanged>([](const agentcore::StateChanged& change) {
  ///       std::printf("%s is %s\n", change.agent.id().c_str(), to_string(change.to).data());
  ///     });
  ///
  /// @loop_thread
  template <EventType T>
  Subscription on(std::function<void(const T&)> callback) {
    return subscribe(detail::event_kind<T>, detail::only<T>(std::move(callback)));
  }
  /// Same as on(), for the events of all types.
  ///
  ///     auto events = tree.on_event([](const agentcore::Event& event) {
  ///       if (auto* end = event.get<agentcore::TurnEnded>())
  ///         std::printf("%.*s\n", static_cast<int>(end->result->text.size()), end->result->text.data());
  ///     });
  ///
  /// @loop_thread
  Subscription on_event(std::function<void(const Event&)> callback);

 private:
  friend class TerminateScope;
  friend struct detail::TestAccess;
  friend struct detail::core::AgentAccess;
  Result<Agent> create_shared(const SharedAgentSpec& spec);
  Subscription subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback);

  detail::tree::TreeCore* core_;
};

}  // namespace agentcore
