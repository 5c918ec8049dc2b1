// CallScope: connects a running tool call with its agent.
#pragma once

#include "core/atomic.hpp"
#include "core/call_begin.hpp"
#include "core/mutex.hpp"
#include "core/operation_id.hpp"
#include "loop/engine.hpp"

#include <agentcore/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::detail::tools {

struct CallScope;

// The object that started the call. A result for a call that has ended is late. @loop_thread, except where
// said.
class CallOwner {
 public:
  // Why the call may not act outside of its agent; `none` if it may. @threadsafe
  virtual Errc refusal_of(const CallScope& call) const noexcept = 0;
  // Sends a message whose turn is a part of the call: a deferred stop of the call's agent, or above it, does
  // not withhold it. Refused as ToolContext::send() is. `of_call`: so is the agent `to`, which a restart
  // deletes.
  virtual SendResult delegate(const CallScope& call, const Agent& to, bool of_call, Message message,
                              SendOptions options) = 0;
  // Hashes of the names of the children that agent tools of the call's agent have worked with, also of those
  // that were deleted since. Null: the agent is gone.
  virtual std::vector<std::string>* tool_children(const CallScope& call) = 0;
  // The call was handed over, and begins later: its time-out does not run before. Runs in Tool::start.
  virtual void on_handed_over(const CallScope&) {}
  // The call begins on another thread about now: its time-out runs until CallBegin::ends_at().
  virtual void on_begun(const CallScope&) {}
  virtual void on_result(const CallScope& call, ToolResult result) = 0;
  virtual void on_progress(const CallScope& call, std::string text) = 0;
  virtual void on_ask(const CallScope& call, Question question,
                      std::function<void(const Answer&)> closed) = 0;

 protected:
  ~CallOwner() = default;
};

// The implementation of ToolContext. The agent's handle keeps the owner in memory.
struct CallScope {
  std::shared_ptr<loop::Engine> engine;
  CallOwner* owner;
  core::OperationId operation;
  Agent agent;
  std::string call_id;
  std::uint64_t turn = 0;
  std::string idempotency_key;
  std::uint32_t epoch = 0;  // of the agent, when the turn began
  bool in_turn = true;      // false: a background task, which outlives its turn
  StopToken stop = {};
  TimePoint deadline = TimePoint::max();                        // of the turn
  std::size_t max_result_bytes = static_cast<std::size_t>(-1);  // a longer message is cut later
  Duration timeout = no_limit;
  std::shared_ptr<core::CallBegin> begin = std::make_shared<core::CallBegin>();
};

// Access for the library's own tools.
struct ContextAccess {
  static const CallScope& scope(const ToolContext& context) noexcept { return *context.scope_; }
  // Within Tool::start: the call begins with begin(), on another thread. @loop_thread
  static void hand_over(const ToolContext& context);
  // False: the call may not begin, and never will. Throws std::bad_alloc; then it has not begun. @threadsafe
  static bool begin(const ToolContext& context);
};

// The implementation of ToolDone. A result from within ToolStart is delivered at once; any other in a later
// poll, so that a tool never re-enters a running function of the library.
struct Completion {
  explicit Completion(std::shared_ptr<const CallScope> of) : scope(std::move(of)) {}
  ~Completion() { fail(lost ? "the tool's result was lost: out of memory" : "the tool dropped its call"); }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // @threadsafe
  void finish(ToolResult result) noexcept;
  // The same with a failed result whose message is made of `before` and `what`; empty if out of memory.
  void fail(std::string_view before, std::string_view what = {}) noexcept;

  const std::shared_ptr<const CallScope> scope;
  bool starting = false;              // the loop thread, its only reader, is inside ToolStart
  core::Atomic<bool> finished{true};  // true until the call is started, and once it has a result
  core::Atomic<bool> lost{false};     // there was a result, and no memory to post it
};

// The completion of a call that was not started yet. If it is dropped before start_call(), no result follows.
std::shared_ptr<Completion> make_completion(std::shared_ptr<const CallScope> scope);
// Starts a call: runs Tool::start, and reports its exception as a result. @loop_thread
void start_call(const Tool& tool, const nlohmann::json& arguments,
                const std::shared_ptr<Completion>& completion) noexcept AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tools
