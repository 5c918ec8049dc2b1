// Agent: a small copyable handle to one agent of a tree.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>
#include <agentcore/agent_status.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/message.hpp>
#include <agentcore/pause.hpp>
#include <agentcore/subscription.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

/// A handle to one agent. The AgentTree owns the agent; the handle owns nothing of it.
///
///     agentcore::Agent planner = tree.create({.id = "planner"}).value();
///     agentcore::Agent scout = planner.create_child({.id = "scout"}).value();
///     agentcore::SendResult sent = scout.send("Find three quiet beaches.");
///     if (!sent) std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
///     agentcore::VerbResult stopped = planner.stop();  // stops planner and scout
///
/// Size: 16 bytes, a counted reference to the tree's core, and an id with a generation.
///
/// Lifetime: a handle may outlive its agent, its tree and the Runtime.
/// - After the agent was deleted or the tree was destroyed, every function with an error or a reason returns
///   `agent_not_found`. A handle never refers to an agent that was created later.
/// - After the Runtime was destroyed, they return `runtime_gone`.
/// - In both cases exists() returns false. id() returns "" once the agent was deleted or the tree was
///   destroyed; it does not depend on the Runtime.
///
/// Threads: any thread may copy and destroy handles. Two threads must not write the same handle at once.
class AGENTCORE_API Agent {
 public:
  /// Creates an empty handle, which refers to no agent. Its functions return `agent_not_found`.
  Agent() noexcept = default;
  /// Copies the handle, not the agent.
  Agent(const Agent& other) noexcept;
  /// Moves the handle. `other` refers to no agent afterwards.
  Agent(Agent&& other) noexcept : core_(other.core_), node_(other.node_) { other.core_ = nullptr; }
  /// Replaces the handle. Neither agent changes.
  Agent& operator=(Agent other) noexcept;
  /// Destroys the handle. The agent continues to exist.
  ~Agent() {
    if (core_) release();
  }

  /// Returns the agent's id: AgentSpec::id, or the generated id. Returns "" if the agent was deleted.
  /// @threadsafe
  std::string id() const;

  /// Returns the effective state of the agent (see AgentState). If its lease, or that of an ancestor, has run
  /// out (AgentLimits::lease), the call first stops the agent of that lease.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @threadsafe
  Result<AgentState> state() const;
  /// Returns the state, and whether the agent is paused, its mailbox is held, or a deferred stop is pending.
  /// Stops the agent of a lease that has run out, as state() does.
  /// Errors: as state().
  /// @threadsafe
  Result<AgentStatus> status() const;
  /// Returns true if state() returns a value.
  /// @threadsafe
  bool exists() const noexcept;
  /// Returns true from the moment when a message is accepted until its turn has ended, also while a pause or
  /// a hold keeps it waiting, and until a stop or a delete has settled. Background tasks and descendants do
  /// not count (AgentTree::tasks()). False if the agent or the Runtime does not exist.
  /// @threadsafe
  bool busy() const noexcept;

  /// Appends a message to the agent's mailbox. Never blocks. If the message is refused, nothing is queued,
  /// and SendResult::reason holds the reason.
  /// @threadsafe
  SendResult send(Message message) const;
  /// Same as send(Message), with callbacks for this message and its turn alone, and a deadline.
  /// @threadsafe
  SendResult send(Message message, SendOptions options) const;
  /// Same as send(Message), for a message that consists of `text` only.
  /// @threadsafe
  SendResult send(MessageText auto&& text) const {
    return send(detail::text_message(std::string(std::forward<decltype(text)>(text))));
  }
  /// Same as send(Message, SendOptions), for a message that consists of `text` only.
  /// @threadsafe
  SendResult send(MessageText auto&& text, SendOptions options) const {
    return send(detail::text_message(std::string(std::forward<decltype(text)>(text))), std::move(options));
  }

  /// An interrupt() of the model call alone: ends it, if there is one. The agent becomes `idle` and takes its
  /// next message. Tool calls and background tasks are not ended, and descendants are not affected.
  ///
  /// Has taken effect when it returns (G1); the clean-up follows on the loop thread (G4). Never blocks. May
  /// be called from any callback, including a callback of this agent.
  /// @threadsafe
  VerbResult abort(AbortOptions options = {}) const;
  /// Ends the current turn of the agent, whatever it does in it: a model call or a wait for one, tool calls,
  /// a question to a person, its MessageHandler. The agent is `idle` when the call returns, and takes its
  /// next message (see InterruptOptions::queue). The result of the turn is TurnOutcome::interrupted.
  /// Background tasks and descendants are not affected, unless Scope::subtree ends the turns of the
  /// descendants, too.
  ///
  /// The stop tokens of its model and tool calls are triggered on the calling thread (see
  /// InterruptOptions::cut). A tool call that had begun counts as `interrupted`, the others as `not_started`.
  /// What a call still delivers is dropped. A call that does not end within TreeOptions::stop_grace is given
  /// up (Abandoned), while the agent already works on. A MessageHandler runs on until it returns.
  ///
  /// Has taken effect when it returns (G1); the clean-up follows on the loop thread (G4). Never blocks. May
  /// be called from any callback, including a callback of this agent.
  /// @threadsafe
  VerbResult interrupt(InterruptOptions options = {}) const;
  /// Puts a message into the running turn, before its next model call. With SteerWhen::now the open model
  /// call is ended, as by an abort, and the model is asked again: its partial answer is dropped
  /// (ModelCallEnded). While tools or questions of the turn are open, nothing is ended: the message follows
  /// their results. If no turn runs, the message begins one.
  ///
  ///     agentcore::SendResult steered = agent.steer("Shorter, please.");
  ///     if (!steered) std::fprintf(stderr, "refused: %s\n", to_string(steered.reason).data());
  ///
  /// `message.priority` has no effect while a turn runs. At most AgentLimits::mailbox steered messages
  /// wait (`mailbox_full`).
  ///
  /// Has taken effect when it returns (G1): with SteerWhen::now, no delta of the ended call follows. Never
  /// blocks. May be called from any callback, including a callback of this agent.
  /// @threadsafe
  SendResult steer(Message message, SteerOptions options = {}) const;
  /// Same as steer(Message, SteerOptions), for a message that consists of `text` only.
  /// @threadsafe
  SendResult steer(MessageText auto&& text, SteerOptions options = {}) const {
    return steer(detail::text_message(std::string(std::forward<decltype(text)>(text))), options);
  }
  /// Ends a hold of the mailbox (QueueAction::hold): the messages that wait are handled in their order. A
  /// stop and a resume do not end a hold. Has taken effect when it returns. Never blocks.
  /// @threadsafe
  VerbResult release_queue() const;
  /// Pauses the agent and its subtree: nothing new begins in it, no turn, model call, tool call, background
  /// task, retry or question for approval. What runs goes on, and its result is kept; nothing is ended, and
  /// nothing is asked twice. Messages are accepted and wait. A stop, an interrupt, an abort and a delete take
  /// effect as always. A child created meanwhile is paused, too. A stop and a resume do not end a pause.
  ///
  /// These times do not run during a pause: the time-outs of questions, back-offs, Budget::wall_clock. All
  /// others run: those of model calls, RetryPolicy::timeout also during a back-off, those of tools also while
  /// the tool does nothing but wait for an answer to its question, the deadlines of turns and messages, and
  /// leases.
  ///
  /// Returns `no_effect` with `paused` if this agent was paused already. Reasons for `refused`:
  /// `agent_not_found`, `runtime_gone`, `out_of_memory`.
  ///
  /// Has taken effect when it returns (G1): see VerbResult::quiet. A call whose ToolStarted is just being
  /// reported begins after the unpause. Never blocks. May be called from any callback.
  /// @threadsafe
  VerbResult pause(PauseOptions options = {}) const;
  /// Ends the pause of this agent: what was withheld begins. If an ancestor is paused, the agent stays paused
  /// with it, and the result names the nearest.
  ///
  /// Returns `no_effect` with `not_paused` if pause() was not called for this agent; its ancestors are in the
  /// result nevertheless. Reasons for `refused` as those of pause(). Never blocks.
  /// @threadsafe
  UnpauseResult unpause() const;
  /// Renews the lease of the agent: it ends AgentLimits::lease after this call. Takes less than a
  /// microsecond. Leases of ancestors and descendants are not renewed.
  ///
  /// Reasons for `refused`: `no_lease` (the agent has no lease of its own), `lease_expired` (the lease has
  /// run out: the agent is being stopped, or was), `agent_not_found`, `runtime_gone`. Never blocks.
  /// @threadsafe
  VerbResult renew() const;
  /// Ends everything that the agent and its subtree do, drops their queued messages, and refuses new messages
  /// until resume(). For the agent alone, see StopOptions::scope.
  ///
  /// Has taken effect when it returns (G1); the clean-up follows on the loop thread (G4). Never blocks. May
  /// be called from any callback, including a callback of this agent.
  /// @threadsafe
  VerbResult stop(StopOptions options = {}) const;
  /// Opens the stopped agent again, and the descendants that stopped because of it; each of their leases
  /// begins again in full. Withdraws a deferred stop or delete of this agent that is pending
  /// (StopOptions::when).
  ///
  /// Has taken effect for the agent itself when it returns (G1); its descendants follow on the loop thread
  /// (G4). Never blocks. May be called from any callback, including a callback of this agent.
  /// @threadsafe
  VerbResult resume(ResumeOptions options = {}) const;
  /// Deletes the agent and its subtree: a stop that cannot be resumed, after which the agents and their data
  /// are removed.
  ///
  /// Has taken effect when it returns (G1); the clean-up follows on the loop thread (G4). Never blocks. May
  /// be called from any callback, including a callback of this agent.
  /// @threadsafe
  VerbResult terminate(TerminateOptions options = {}) const;

  /// Ends one tool call of the running turn. The turn continues: the model reads as the result of the call
  /// that a person cancelled it, and that its effect is unknown; or that the call was cancelled before it
  /// began, if it waited for its approval or for other calls. `call_id` is ToolStarted::call_id, or
  /// OpenQuestion::call_id of an approval.
  ///
  ///     agentcore::VerbResult cancelled = agent.cancel_call(call_id, {.reason = "the wrong folder"});
  ///     if (!cancelled.took_effect()) std::puts(to_string(cancelled.reason).data());  // it had ended
  ///
  /// Whether the cancel or the tool's own result ends the call is decided at one point, and the VerbResult
  /// says which. `done`: the stop token of the call was triggered on the calling thread (a program's process
  /// group has its signal), and a result that the tool still delivers is dropped (Discarded). On the loop
  /// thread its questions are closed as `cancelled`, a record is logged, and the event ToolEnded follows, or
  /// ToolRefused if the call had no ToolStarted. The outcome is `interrupted`, or `not_started`. If the agent
  /// is stopped or deleted before, the call ends with its turn instead.
  ///
  /// The turn does not wait for the tool. A tool that does not end within TreeOptions::stop_grace is given up
  /// (Abandoned); a stop of the agent waits for it no longer than that.
  ///
  /// Returns `no_effect` with `call_not_found` if the running turn has no such call, and with `call_over` if
  /// the call has ended already or the agent is being stopped or deleted. A call that started a background
  /// task has ended: see AgentTree::cancel_task(). Reasons for `refused`: `agent_not_found`, `runtime_gone`,
  /// `invalid_utf8` (the reason), `out_of_memory`. Never blocks. May be called from any callback, including a
  /// callback of this call.
  /// @threadsafe
  VerbResult cancel_call(std::string_view call_id, CancelOptions options = {}) const;
  /// Supplies the result of a tool call of the running turn that has not ended, for example because a person
  /// did by hand what the call waits for. The first result of a call counts, this one or that of the tool.
  ///
  ///     agentcore::ToolResult result = agentcore::ToolResult::done("booked by telephone");
  ///     agentcore::VerbResult given = agent.complete_call(question.call_id, std::move(result));
  ///
  /// `done`: the result is the call's. The stop token of the call was triggered on the calling thread, its
  /// tool is not started any more, and what the tool still delivers is dropped (Discarded). The loop thread
  /// writes the result, as it writes that of a tool; the outcome is `completed`, and
  /// ToolCallRecord::by_host and ToolEnded::by_host are true. A call that had no ToolStarted has one now. If
  /// the turn ends before that, e.g. by a stop, the result is dropped (Discarded).
  ///
  /// Otherwise as cancel_call(), but without `invalid_utf8`: ToolResult says what happens to broken UTF-8.
  /// @threadsafe
  VerbResult complete_call(std::string_view call_id, ToolResult result) const;

  /// Creates a child of this agent, `idle` and ready for messages.
  ///
  /// Errors: those of AgentTree::create(), `depth_limit` and `agent_not_found`. While this agent or an
  /// ancestor is stopping, stopped or being deleted, the error is `agent_stopping`, `agent_stopped` or
  /// `agent_terminating`.
  /// @loop_thread
  Result<Agent> create_child(AgentSpec spec = {}) const;
  /// Same as create_child(AgentSpec), with a shared spec. The child gets a generated id.
  /// Further error: `invalid_config` if the pointer is null.
  /// @loop_thread
  Result<Agent> create_child(const SharesAgentSpec auto& spec) const { return create_shared(spec); }

  /// Returns the parent.
  /// Errors: `agent_not_found` for a root agent or if this agent does not exist; `runtime_gone`.
  /// @loop_thread
  Result<Agent> parent() const;
  /// Returns the children, the newest first.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @loop_thread
  Result<std::vector<Agent>> children() const;
  /// Returns the number of messages that wait in the mailbox. What a verb drops does not count, from its
  /// return on: after a stop the number is 0. Errors: `agent_not_found`, `runtime_gone`.
  /// @threadsafe
  Result<std::size_t> queue_length() const;
  /// Drops all messages that wait in the mailbox, and returns their number.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @loop_thread
  Result<std::size_t> drop_queue() const;
  /// Returns the messages that wait in the mailbox, the next one first.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @loop_thread
  Result<std::vector<QueuedMessage>> queued() const;
  /// Replaces a message that waits in the mailbox. It keeps its id, its place, its SendOptions and
  /// its priority; Message::priority of `message` is ignored. A message that is refused by send() for what
  /// it contains is refused here for the same reason.
  ///
  /// Further reasons: `message_not_found` if no message with that id waits in this mailbox, for example
  /// because its turn has begun.
  /// @loop_thread
  Result<void> edit_queued(MessageId id, Message message) const;
  /// Removes a message that waits in the mailbox: it is dropped, with DropReason::removed.
  ///
  ///     if (!agent.remove_queued(sent.id)) std::puts("too late: its turn has begun");
  ///
  /// Reasons: `agent_not_found`, `runtime_gone`, `message_not_found`.
  /// @loop_thread
  Result<void> remove_queued(MessageId id) const;
  /// Returns a copy of the history, with the system prompt first if there is one. Windows and the
  /// instructions of ToolProtocol::text are not included. The result is always a valid history, and can be
  /// the AgentSpec::history of another agent.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @loop_thread
  Result<std::vector<ChatMessage>> conversation() const;
  /// Returns the messages that are sent to the model: the system prompt, the summary if there is one
  /// (ChatMessage::summary), and the messages of conversation() that were neither left out nor summarised,
  /// long results as they are cut for requests (see ContextOptions). What no request had yet is whole.
  /// Errors: `agent_not_found`, `runtime_gone`.
  /// @loop_thread
  Result<std::vector<ChatMessage>> context() const;
  /// Returns a copy of the last `count` messages before the index `end` of conversation(). Without
  /// `end`: the last ones. An `end` beyond the conversation is that of the conversation. The rest of a long
  /// conversation is not copied.
  ///
  ///     auto page = agent.conversation_page(50);
  ///     // The messages before these:
  ///     if (page && page->first > 0) page = agent.conversation_page(50, page->first);
  ///
  /// Unlike a whole conversation, a page may begin in the middle of a turn, so it is no history for another
  /// agent.
  ///
  /// Errors: `agent_not_found`, `runtime_gone`, and those of conversation().
  /// @loop_thread
  Result<ConversationPage> conversation_page(std::size_t count, std::optional<std::size_t> end = {}) const;
  /// Returns the turns of the conversation, the oldest first. The turns of AgentSpec::history have
  /// the numbers 1, 2, ... in the order of their questions; the turns of the agent continue them. Turns
  /// without a question in the conversation are not listed: those of a MessageHandler and of simulate(), and
  /// those that rewind() has removed.
  ///
  /// Errors: `agent_not_found`, `runtime_gone`; in a tree with a store also those of Store::read().
  /// @loop_thread
  Result<std::vector<ConversationTurn>> turns() const;
  /// Reports how far a person has seen or heard the answer that the agent is giving. If the answer is
  /// interrupted and a part of it is kept (AgentSpec::partial_answers), exactly these bytes are kept, and not
  /// what was delivered beyond them.
  ///
  ///     // `player` calls the function when the piece was played. `message` is that of TurnStarted.
  ///     auto deltas = agent.on<agentcore::DeltaReceived>([&](const agentcore::DeltaReceived& delta) {
  ///       std::size_t& end = bytes[delta.call];  // of the pieces of this model call
  ///       end += delta.text.size();
  ///       player.say(std::string(delta.text), [agent, seen = agentcore::Acknowledgement{message, delta.call,
  ///       end}] {
  ///         static_cast<void>(agent.acknowledge(seen));
  ///       });
  ///     });
  ///
  /// The greatest number counts, whatever the order of the calls. A number in the middle of a
  /// character counts up to that character; one beyond what was delivered counts as all of it. One of an
  /// earlier model call of the turn, or of a later one that has not begun, is ignored. An acknowledgement
  /// that comes after the end of the turn changes nothing: see truncate_answer().
  ///
  /// Errors: `agent_not_found`, `runtime_gone`, `turn_over` (the message is not that of the turn
  /// in progress), `invalid_config` (`call` is 0). Never blocks.
  /// @threadsafe
  Result<void> acknowledge(const Acknowledgement& seen) const;
  /// Shortens the last answer of the conversation to its first `bytes` bytes: what was seen or heard of it.
  /// Use it for voice, when a person interrupts an answer that is complete but not yet spoken to its end. A
  /// number in the middle of a character counts up to that character. If only white space would be left, the
  /// answer is removed, and its question is marked as interrupted. The answer is marked with
  /// Interruption::truncated, unless it is marked already, and loses its reasoning, which belongs to the
  /// whole text.
  ///
  ///     if (!agent.truncate_answer(message, heard)) std::puts("it is not the last answer");
  ///
  /// `message` is the message of the turn of that answer. Emits ConversationChanged.
  ///
  /// Errors: `turn_over` if that answer is not the last message of the conversation: the next
  /// turn has begun, its own turn is in progress, or it had no answer; `agent_not_found`, `runtime_gone`,
  /// `agent_terminating`, `out_of_memory`; in a tree with a store also those of Store::read(). An answer that
  /// is not longer than `bytes` is not changed.
  /// @loop_thread
  Result<void> truncate_answer(MessageId message, std::size_t bytes) const;
  /// Takes the conversation back to before a turn: removes its question and everything after it. A turn in
  /// progress ends first, as by interrupt(). Messages that wait in the mailbox stay there. Background
  /// tasks go on. Nothing that tools have done is undone, and budgets get nothing back. If the last
  /// question that is left was left out of requests, or a message is removed that a summary stands for
  /// (ContextOptions::compact), the messages for which no earlier summary stands are sent again, as far as
  /// ContextOptions allows.
  ///
  /// Returns the messages that were removed, the question first: a host that lets a person edit the question
  /// sends the edited text as a new message. Lines about background tasks that have ended are not in the
  /// questions: they go into the next question. Emits ConversationChanged.
  ///
  ///     auto removed = agent.rewind(turn);
  ///     if (removed) editor.open(removed->front().content());
  ///
  /// Errors: `turn_not_found` if turns() does not list the turn, `agent_not_found`, `runtime_gone`,
  /// `agent_terminating`, `out_of_memory`; in a tree with a store also those of Store::read(). Then nothing
  /// is changed. If an observer of the end of the turn has caused the error, the turn has ended, and nothing
  /// else is changed. A stopped agent can be rewound; it stays stopped. A turn of a MessageHandler goes on.
  /// May be called from any callback but a TokenCounter; while a turn is ending, between its end and its
  /// TurnEnded, it is refused with `turn_over`.
  /// @loop_thread
  Result<std::vector<ChatMessage>> rewind(std::uint64_t turn) const;
  /// Sends the last question of the conversation again: removes its turn as rewind() does, and sends the
  /// question as an urgent message (MessagePriority::urgent), with its images. Messages that were steered
  /// into the removed turn are not sent again.
  ///
  ///     agentcore::SendResult sent = agent.regenerate();
  ///     if (!sent) std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
  ///
  /// Reasons for a refusal: those of send(), `turn_not_found` if the conversation has no question, and
  /// `turn_over` while a turn is ending, as for rewind(). Then nothing is changed. May be called from any
  /// callback but a TokenCounter.
  /// @loop_thread
  SendResult regenerate(SendOptions options = {}) const;
  /// Creates a sibling of this agent, with the same parent, a copy of its spec, and a copy of its
  /// conversation up to the end of a turn. The ids of tool calls in it stay the same. A summary is copied,
  /// too, as far as the new agent has all messages for which it stands. The agent itself is not changed, and
  /// may be busy or stopped; the new one is `idle`.
  ///
  /// The new agent has the budgets of the spec, that of its summaries included, from zero; budgets of
  /// ancestors count it like any other child. It has no children, and nothing that runs: no queued messages,
  /// questions, background tasks or grants, no pause and no lease of its own (AgentLimits::lease is not
  /// copied).
  ///
  ///     agentcore::Agent other = agent.fork({.id = "draft-2", .at = 3}).value();
  ///
  /// Errors: `turn_not_found`, and those of AgentTree::create() and create_child(); in a tree with a
  /// store also those of Store::read().
  /// @loop_thread
  Result<Agent> fork(ForkOptions options = {}) const;
  /// Returns what was used of a budget since it was granted: with Scope::agent, by the agent, of its own
  /// (AgentLimits::budget); with Scope::subtree, by the agent and its descendants, of that of the subtree
  /// (AgentLimits::subtree_budget). Without a limit nothing is counted: turns, tokens and cost are 0.
  /// Errors: `agent_not_found`, `runtime_gone`, `invalid_config` (another scope).
  /// @loop_thread
  Result<Spent> spent(Scope scope = Scope::agent) const;
  /// Replaces the agent's own budget, or with Scope::subtree that of the subtree, and counts from zero.
  ///
  /// Errors: `agent_not_found`, `runtime_gone`, `wrong_thread`, `out_of_memory`, and `invalid_config` for
  /// another scope, and for a cost or a duration out of range (see Budget): such a value never means "no
  /// limit".
  /// @loop_thread
  Result<void> grant(const Budget& budget, Scope scope = Scope::agent) const;

  /// Returns AgentSpec::role. Errors: `agent_not_found`, `runtime_gone`. @loop_thread
  Result<AgentRole> role() const;
  /// Returns ModelOptions::name, or its replacement. Errors: as role(). @loop_thread
  Result<std::string> model() const;
  /// Replaces ModelOptions::name, from the next model call on. Empty: the client's default.
  ///
  ///     if (agentcore::Result<void> changed = agent.set_model("gpt-4o"); !changed)
  ///       std::fprintf(stderr, "refused: %s\n", changed.error().message.c_str());
  ///
  /// The history stays, also with set_llm(), set_system_prompt() and set_tools(). A model call in flight is
  /// not affected. Errors: as grant(), with `invalid_config` if a value is out of range.
  /// @loop_thread
  Result<void> set_model(std::string model) const;
  /// Replaces AgentSpec::llm, from the next model call on. Null: TreeOptions::llm. `name`: CodeNames::llm.
  /// @loop_thread
  Result<void> set_llm(SharedOrBorrowed<LlmClient> llm, std::string name = {}) const;
  /// Replaces the system prompt, from the next model call on. Empty: none.
  /// @loop_thread
  Result<void> set_system_prompt(std::string system_prompt) const;
  /// Replaces AgentSpec::tools, from the next model call on. Null: none. Tool calls that have begun continue
  /// with the tools that they began with. `name`: CodeNames::tools.
  /// @loop_thread
  Result<void> set_tools(SharedOrBorrowed<ToolRegistry> tools, std::string name = {}) const;

  /// Calls `callback` on the loop thread for each event of type T of this agent, until the Subscription is
  /// reset or destroyed, or the agent is deleted. The events of its descendants are not included. Throws
  /// std::invalid_argument if `callback` is empty. Returns a Subscription without a callback if the agent (a
  /// warning is logged) or the Runtime does not exist.
  ///
  ///     auto ends = planner.on<agentcore::TurnEnded>([](const agentcore::TurnEnded& end) {
  ///       std::printf("turn %llu ended\n", static_cast<unsigned long long>(end.turn));
  ///     });
  ///
  /// The function is defined in event.hpp, which has the types of events.
  /// @loop_thread
  template <typename T>
  Subscription on(std::function<void(const T&)> callback) const;
  /// Same as on(), for the events of all types.
  /// @loop_thread
  Subscription on_event(std::function<void(const Event&)> callback) const;

  /// Handles `answer` as if a model had just returned it: runs its tool calls once, without a model call, and
  /// reports the results as a turn of its own. The tool calls are read from <tool_call> blocks in `answer`
  /// (ToolProtocol::text). Nothing of the turn is kept in the history. For tests and replays.
  /// `answer` waits in the mailbox like a message, and is refused for the same reasons.
  /// @threadsafe
  SendResult simulate(std::string answer) const;

  /// Returns true if both handles refer to the same agent: same tree, same slot, same generation.
  friend bool operator==(const Agent& a, const Agent& b) noexcept {
    return a.core_ == b.core_ && a.node_ == b.node_;
  }
  /// Returns a hash that is equal for equal handles.
  std::size_t hash() const noexcept;

 private:
  friend struct detail::core::AgentAccess;
  Agent(detail::tree::TreeCore* core, std::uint64_t node) noexcept;
  void release() noexcept;
  Result<Agent> create_shared(const SharedAgentSpec& spec) const;
  Subscription subscribe(detail::EventKinds kinds, std::function<void(const Event&)> callback) const;

  detail::tree::TreeCore* core_ = nullptr;
  std::uint64_t node_ = 0;
};

}  // namespace agentcore

/// Hashes handles, so that an Agent can be a key of std::unordered_map and std::unordered_set.
template <>
struct std::hash<agentcore::Agent> {
  std::size_t operator()(const agentcore::Agent& agent) const noexcept { return agent.hash(); }
};
