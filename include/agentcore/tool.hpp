// Tools: what an agent may do besides talking. A Tool is a description for the model and a function that
// starts one call; the factories below make one of a plain function, a blocking function, or a question to a
// person (subprocess.hpp: a program).
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/question.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore {

namespace tools {
struct CallScope;
struct Completion;
struct ContextAccess;
}  // namespace tools

// Whether a turn waits for a tool (J9: the model has no say in it).
enum class ToolMode : unsigned char {
  sync,
  async,  // in the background, for agents that may have background tasks (L1); else as sync
};
std::string_view to_string(ToolMode mode) noexcept;

// What became of a call (G9).
enum class ToolOutcome : unsigned char {
  not_started,  // its turn ended first, or it was refused: it had no effect
  completed,    // it gave a result, good or bad
  interrupted,  // it had begun when its turn, or its time, ended: its effect is unknown
  abandoned,    // that, and it did not let go within the grace period; it may be running still. Known only
                // after its turn has ended, so it is the event Abandoned that says it.
};
std::string_view to_string(ToolOutcome outcome) noexcept;

// An application that a tool asks the registry's LaunchHandler to open.
struct Launch {
  std::string app = {};     // not empty
  std::string target = {};  // passed to the handler: the text of a JSON value; empty: none
};

struct ToolResult {
  bool success = true;
  std::string message = {};  // for the model; UTF-8, what is broken is replaced
  std::string data = {};     // the text of a JSON value, for the host and the model; empty: none
  std::string summary = {};  // one line for people; empty: none

  // What happens after a result that succeeded. Only code of the host can set these: they are never read from
  // the texts of a result, its data included.
  std::optional<Launch> launch = {};
  bool close_source = false;  // closes the window of the action, if the model is allowed to close it

  static ToolResult done(std::string message, std::string data = {}) {
    return {true, std::move(message), std::move(data)};
  }
  static ToolResult failed(std::string message) { return {false, std::move(message)}; }
};

// How a tool is described to the model, and run.
struct ToolSpec {
  std::string name = {};         // 1 to 64 of A-Z a-z 0-9 _ -
  std::string description = {};  // for the model: what it does, when to use it
  std::string parameters = {};   // the text of a JSON schema (draft 4 to 7) of an object; empty: no arguments
  ToolMode mode = ToolMode::sync;
  bool needs_approval = false;  // a person is asked before each call
  // Of one call; not negative. 0: no limit; none: TreeOptions::tool_timeout.
  std::optional<Duration> timeout = {};
};

// What a running call may know and do. A handle, cheap to copy, that may outlive its call, its agent and its
// tree; then it does nothing. All functions are @threadsafe.
class ToolContext {
 public:
  explicit ToolContext(std::shared_ptr<const tools::CallScope> scope) : scope_(std::move(scope)) {}

  const Agent& agent() const noexcept;          // that makes the call
  const std::string& call_id() const noexcept;  // unique within the agent's history
  std::uint64_t turn() const noexcept;          // of the agent

  // Triggered when the call has to end: its agent is stopped or deleted, its task cancelled, its time over
  // (an abort does not end tools). A tool that hears it lets go by calling its ToolDone soon, with whatever
  // it has; nobody reads it any more. A callback on the token runs on the stopping thread: cut and wake, no
  // more.
  StopToken stop() const noexcept;
  TimePoint deadline() const noexcept;  // when its time will be over; TimePoint::max(): never

  // Tells observers how far it is (ToolProgress).
  void progress(std::string text) const;

  // Asks a person. `closed` is called on the loop thread, exactly once: when the question was answered or
  // declined, timed out, or was cancelled because the call had to end. Not called when the tree, or the
  // Runtime, is gone. Throws std::invalid_argument without a function, or for a negative time-out.
  void ask(Question question, std::function<void(const Answer&)> closed) const;

 private:
  friend struct tools::ContextAccess;
  std::shared_ptr<const tools::CallScope> scope_;
};

// Where a call delivers its result, once. Copies stand for the same call: the first result counts, later ones
// are ignored; when the last copy goes without one, the call has failed ("the tool dropped its call").
// @threadsafe
class ToolDone {
 public:
  explicit ToolDone(std::shared_ptr<tools::Completion> completion) : completion_(std::move(completion)) {}
  void operator()(ToolResult result) const;

 private:
  std::shared_ptr<tools::Completion> completion_;
};

// A plain function: called on the loop thread, has to return soon.
using ToolFunction = std::function<ToolResult(const nlohmann::json& arguments, const ToolContext& context)>;
// Starts a call on the loop thread and returns at once; the result goes to `done`, from within or later, on
// any thread.
using ToolStart =
    std::function<void(const nlohmann::json& arguments, const ToolContext& context, ToolDone done)>;

// `arguments` are always an object that fits ToolSpec::parameters; it is valid during the call of `start`.
// What a tool throws makes its call fail, with what() as the message.
struct Tool {
  ToolSpec spec = {};
  ToolStart start = {};
};

// Runs `function` on the loop thread. For what takes microseconds. Throws std::invalid_argument without a
// function.
Tool make_tool(ToolSpec spec, ToolFunction function);

// Runs `function` on the host's executor; it should look at context.stop() now and then. Throws
// std::invalid_argument without an executor or a function.
Tool make_blocking_tool(ToolSpec spec, std::shared_ptr<Executor> executor, ToolFunction function);

// The tool `ask_human`: asks the person the question in its argument `question`, with the suggested answers
// in `choices`, if any, and gives the answer to the model. Declined and timed out are failed results that say
// so. Throws std::invalid_argument for a negative time-out.
Tool make_ask_human_tool(std::optional<Duration> timeout = {});

}  // namespace agentcore
