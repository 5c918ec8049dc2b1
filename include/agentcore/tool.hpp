// Tools: functions and programs that a model may call. A Tool is a description for the model and a function
// that starts one call. The make_...() functions create a tool from a plain function, a blocking function, or
// a question to a person. For a program: subprocess.hpp.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/export.hpp>
#include <agentcore/json_fwd.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/question.hpp>
#include <agentcore/shared_or_borrowed.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore {

/// Internal.
namespace detail::tools {
struct CallScope;
struct Completion;
struct ContextAccess;
}  // namespace detail::tools

/// Whether a turn waits for the calls of a tool. The model has no influence on it.
enum class ToolMode : unsigned char {
  sync,   ///< the turn waits for the result
  async,  ///< a background task, if AgentLimits::background_tasks allows any for the agent; otherwise as sync
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(ToolMode mode) noexcept;

/// Whether a call of a tool may be made again if the process has ended before its result was stored. It has
/// no effect in a tree without a store (AgentTree::restore()).
enum class ToolReplay : unsigned char {
  /// No. The beginning of the call is written to the store first, and its turn waits for that; a stop or an
  /// interrupt ends the wait. So after a restart, a call whose beginning is not in the store has not begun.
  never,
  /// Yes: the call does not wait for the store. The first call may still be at work when it is made again: a
  /// program outlives a host that was killed (make_subprocess_tool()), and so does what a service has begun.
  /// So
  /// a tool is safe only if two calls with the same arguments, at the same time, do no harm. If such a call,
  /// or
  /// its turn, ends before it is made again, it is `interrupted`: it may have begun before the restart.
  safe
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(ToolReplay replay) noexcept;

/// An application to open: a tool asks the LaunchHandler of its ToolRegistry for it with ToolResult::launch.
struct Launch {
  std::string app = {};     ///< the name of the application; not empty
  std::string target = {};  ///< passed to the handler: the text of a JSON value; empty: none
};

/// The result of a tool call.
///
///     return agentcore::ToolResult::done("3 files", R"({"files":3})");
///     return agentcore::ToolResult::failed("the directory does not exist");
struct ToolResult {
  /// False: the call failed; the model receives "error: " before the message.
  bool success = true;
  /// The text for the model. Broken UTF-8 is replaced. It is cut to TreeOptions::max_tool_result_bytes.
  std::string message = {};
  /// The text of a JSON value, for the host and the model; empty: none. The call fails if the text is not
  /// UTF-8, is longer than TreeOptions::max_tool_result_bytes, or is nested deeper than 64 levels.
  std::string data = {};
  /// One line for people; empty: none.
  std::string summary = {};

  /// The application to open after a result with success. Only code of the host can set this member: it is
  /// never read from a text of the result. If the application cannot be opened, the call fails.
  std::optional<Launch> launch = {};
  /// True: closes the window of the action after a result with success, if the model is allowed to close it:
  /// what its action `close` does (WindowClosed).
  /// Only code of the host can set this member, as with `launch`.
  bool close_source = false;
  /// True: a result with success ends the turn. The other calls of the same answer end first; then the model
  /// is not asked again, and `message` is the answer of the turn (TurnResult::text, the last message of the
  /// history). If several results of an answer set it, the first in the order of the calls counts. An answer
  /// that ModelOptions::response_format has to match is not checked. No effect in a background task.
  /// Only code of the host can set this member, as with `launch`.
  bool end_turn = false;
  /// Images, documents and sounds for the model, behind the text; together at most
  /// TreeOptions::max_message_bytes, or the call fails. Dialect::anthropic_messages and openai_responses take
  /// images and documents in results; a model call in another dialect fails with Errc::unsupported_part. No
  /// effect in a background task.
  std::vector<ContentPart> parts = {};

  /// A result with success.
  static ToolResult done(std::string message, std::string data = {}) {
    return {true, std::move(message), std::move(data)};
  }
  /// A failed result; `message` is the reason.
  static ToolResult failed(std::string message) { return {false, std::move(message)}; }
};

/// The description of a tool for the model, and the way its calls run.
struct ToolSpec {
  /// The name: 1 to 64 characters of A-Z a-z 0-9 _ -
  std::string name = {};
  /// UTF-8 text for the model: what the tool does and when to use it.
  std::string description = {};
  /// The text of a JSON schema (draft 4 to 7) of an object. Empty: the tool takes no arguments. A call with
  /// any argument is then rejected: the tool does not start, and the model reads that the tool takes none.
  /// For a tool that takes any arguments: {"type":"object"}.
  std::string parameters = {};
  /// Whether a turn waits for the calls.
  ToolMode mode = ToolMode::sync;
  /// Whether a call may be made again after a restart.
  ToolReplay replay = ToolReplay::never;
  /// True: a person has to approve each call before it begins (QuestionKind::approval), unless a Grant
  /// covers it.
  bool needs_approval = false;
  /// The time-out of one call, from its begin: without the wait for an approval, and for a thread of the
  /// executor. Not negative. Not set: TreeOptions::tool_timeout. A result that came in time counts, also if
  /// the loop is late and takes it afterwards.
  std::optional<Duration> timeout = {};
};

/// A running tool call, as the tool sees it. A handle: cheap to copy. It may outlive the call, the agent and
/// the tree; then it does nothing.
///
/// All functions but create_child(), the destructor included:
/// @threadsafe
class AGENTCORE_API ToolContext {
 public:
  /// Internal: tools receive their context from the library.
  explicit ToolContext(std::shared_ptr<const detail::tools::CallScope> scope) : scope_(std::move(scope)) {}

  /// The agent that makes the call.
  const Agent& agent() const noexcept;
  /// The id of the call, unique within the history of the agent; of a background task: the id of the task.
  const std::string& call_id() const noexcept;
  /// The number of the turn that started the call.
  std::uint64_t turn() const noexcept;

  /// A key for this call, for services that accept a request with the same key only once ("Idempotency-Key").
  /// In a tree with a store, a call that is made again after a restart (ToolReplay::safe,
  /// InterruptedTurns::go_on) has the same key, as long as its tool and its arguments are the same. No other
  /// call has it, in any tree whose store is not a copy of the same file. It has at most 120 characters:
  /// letters, digits and '-'. Throws std::bad_alloc.
  std::string idempotency_key() const;

  /// The stop token of the call. It is triggered when the call has to end: its agent is stopped or deleted,
  /// it, or its background task, is cancelled, the host supplied its result, its turn was interrupted or
  /// reached its deadline, or it timed out. An abort does not trigger it. The tool must then call its
  /// ToolDone soon, with any result: the result is dropped. A callback on the token runs on the thread that
  /// stops: it must only end a connection or wake a thread.
  StopToken stop() const noexcept;
  /// The time at which the call ends: its time-out, or the deadline of its turn, where that is earlier.
  /// no_limit: never. The time-out of a call that waits for its executor does not run yet.
  TimePoint deadline() const noexcept;

  /// Reports the progress of the call as an event ToolProgress. Ignored if the call has ended.
  void progress(std::string text) const;

  /// Asks a person. `closed` is called on the loop thread, exactly once: when the question was answered or
  /// declined, when it timed out, or when it was cancelled because the call had to end. If the call has ended
  /// already, `closed` reports `cancelled`: within ask() on the loop thread, else in a later poll. It is not
  /// called if the tree or the Runtime has been destroyed. Throws std::invalid_argument if `closed` is empty
  /// or the time-out is negative.
  void ask(Question question, std::function<void(const Answer&)> closed) const;

  /// Sends a message as the agent of the call: only if the agent may act, and the call is not over. Otherwise
  /// nothing is sent, and the reason is `agent_stopping`, `agent_stopped`, `agent_terminating` (the state of
  /// the agent of the call), `agent_not_found` or `runtime_gone`, or `call_over`: the call, or its turn, was
  /// ended by a verb or a time-out. The other reasons are those of Agent::send(). Agent::send() itself does
  /// not ask whether the agent of the call may act: it is a call by the host.
  ///
  ///     if (agentcore::SendResult sent = context.send(reviewer, {.text = "Please read this."}); !sent)
  ///       return agentcore::ToolResult::failed(std::string(to_string(sent.reason)));
  SendResult send(const Agent& to, Message message) const;
  /// Creates a child of `parent` as the agent of the call; `parent` may be that agent, or any other. Refused
  /// as send() is, with the same reasons; the other errors are those of Agent::create_child().
  /// @loop_thread
  Result<Agent> create_child(const Agent& parent, AgentSpec spec) const;

 private:
  friend struct detail::tools::ContextAccess;
  std::shared_ptr<const detail::tools::CallScope> scope_;
};

/// Delivers the result of a tool call, once. All copies belong to the same call: the first result counts,
/// later results are ignored. If the last copy is destroyed without a result, the call fails ("the tool
/// dropped its call").
///
/// All functions, the destructor included:
/// @threadsafe
class AGENTCORE_API ToolDone {
 public:
  /// Internal: tools receive their ToolDone from the library.
  explicit ToolDone(std::shared_ptr<detail::tools::Completion> completion)
      : completion_(std::move(completion)) {}
  /// Delivers the result.
  void operator()(ToolResult result) const;

 private:
  std::shared_ptr<detail::tools::Completion> completion_;
};

/// A function that returns the result of a call. For make_tool() and make_blocking_tool(), which specify the
/// thread. If it throws, the call fails.
using ToolFunction = std::function<ToolResult(const nlohmann::json& arguments, const ToolContext& context)>;
/// A function that starts a call. Called on the loop thread; must return at once. It passes the result to
/// `done`, within the function or later, on any thread.
using ToolStart =
    std::function<void(const nlohmann::json& arguments, const ToolContext& context, ToolDone done)>;

/// A tool. Register it with ToolRegistry::add(), or as an action of a Window.
///
///     agentcore::Tool tool;
///     tool.spec.name = "next_poll";
///     tool.spec.description = "Waits for the next poll.";
///     tool.start = [&runtime](const nlohmann::json&, const agentcore::ToolContext&,
///                             agentcore::ToolDone done) {
///       runtime.post([done] { done(agentcore::ToolResult::done("waited")); });
///     };
struct Tool {
  /// The description.
  ToolSpec spec = {};
  /// Starts a call. `arguments` is always an object that conforms to ToolSpec::parameters. It is valid only
  /// during the call of `start`. If `start` throws, the call fails, with what() in the message.
  ToolStart start = {};
};

/// Creates a tool that calls `function` on the loop thread. The function must return within microseconds.
/// Without ToolSpec::parameters, `arguments` is always an empty object. Throws std::invalid_argument if
/// `function` is empty.
///
///     tools->add(agentcore::make_tool(
///         {.name = "roll", .description = "Rolls a die."},
///         [&](const nlohmann::json&, const agentcore::ToolContext&) {
///           return agentcore::ToolResult::done(std::to_string(runtime.random() % 6 + 1));
///         }));
AGENTCORE_API Tool make_tool(ToolSpec spec, ToolFunction function);

/// Creates a tool that calls `function` on `executor`. The function should check context.stop() regularly.
///
/// The call begins when the function does. Until then it waits for the executor, its time-out does not run,
/// and whatever ends it (a stop, an interrupt, a cancel, the deadline of its turn, the end of the executor)
/// leaves it `not_started`: then the function never runs. A pause does not keep a call that waits from its
/// begin. If an executor has not taken a call for 5 seconds, that is logged as a warning, at most once in 5
/// seconds for a tree. Without ToolSpec::parameters, `arguments` is always an empty object. Throws
/// std::invalid_argument if `executor` is null or `function` is empty.
///
///     auto pool = std::make_shared<agentcore::ThreadPool>(2);
///     tools->add(agentcore::make_blocking_tool(
///         {.name = "count"}, pool, [](const nlohmann::json&, const agentcore::ToolContext& context) {
///           int count = 0;
///           while (count < 1'000'000 && !context.stop().stop_requested()) ++count;
///           return agentcore::ToolResult::done(std::to_string(count));
///         }));
AGENTCORE_API Tool make_blocking_tool(ToolSpec spec, SharedOrBorrowed<Executor> executor,
                                      ToolFunction function);

/// Creates the tool `ask_human`. It asks the person the question in its argument `question`, with the
/// suggested answers in its argument `choices`, if any, and returns the answer to the model. If the person
/// declines or does not answer in time, the result is a failure that states this. `timeout` is
/// Question::timeout; the call itself has no time-out. Throws std::invalid_argument if `timeout` is negative.
AGENTCORE_API Tool make_ask_human_tool(std::optional<Duration> timeout = {});

}  // namespace agentcore
