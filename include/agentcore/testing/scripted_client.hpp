// ScriptedClient: an LlmClient without a network, for tests and demos.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::testing {

/// What a ScriptedClient does with one call: it waits, delivers the deltas one by one, then ends the call.
struct ScriptedReply {
  std::vector<std::string> deltas = {};     ///< The pieces of the answer.
  std::vector<std::string> reasoning = {};  ///< Pieces of reasoning, all delivered before the first delta.
  std::vector<ToolCall> tool_calls = {};    ///< The tool calls of the outcome.
  Duration first_delay{0};  ///< The wait before the first delta; >= 0. 0: the first delta in the next poll().
  /// The wait between two deltas, and before the outcome; >= 0. 0: one delta per poll().
  Duration interval{0};
  FinishReason finish_reason = FinishReason::complete;  ///< The finish reason of the outcome.
  Usage usage = {};      ///< The usage of the outcome, unless the call is stopped.
  ChatError error = {};  ///< If its code is not Errc::none: the call fails with this error after the deltas.
  /// True: nothing follows the deltas, and the call ends only when it is stopped. Without deltas the
  /// reasoning is not delivered either.
  bool silent = false;
  /// True: the call ignores its stop token, like a faulty client; for tests of late results. The agent is
  /// unregistered all the same: has_active_request() is false after the stop.
  bool deaf = false;
};

/// Answers each call from a script: with the first queued reply; if none is queued, with the reply of the
/// responder; without a responder, with the text of the last message, word by word. It uses the clock of the
/// Runtime, so its behavior is deterministic with a ManualClock.
///
///     agentcore::testing::ScriptedClient llm{runtime};
///     agentcore::testing::ScriptedReply reply;
///     reply.deltas = {"The sky ", "is blue."};
///     llm.enqueue(reply);
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
///
/// All functions except abort() and has_active_request():
/// @loop_thread
class AGENTCORE_API ScriptedClient final : public LlmClient {
 public:
  /// Returns the reply to a request. It may destroy the client. If it throws, the call fails with
  /// Errc::callback_failed; if its reply has a negative delay, with Errc::invalid_config.
  ///
  /// @loop_thread
  using Responder = std::function<ScriptedReply(const ChatRequest&)>;

  /// Makes a client. `responder` answers the calls for which no reply is queued; it may be empty.
  explicit ScriptedClient(Runtime& runtime, Responder responder = {});
  /// Cancels all open calls: each receives the outcome `cancelled` before the destructor returns.
  /// @loop_thread
  ~ScriptedClient() override;
  ScriptedClient(const ScriptedClient&) = delete;
  ScriptedClient& operator=(const ScriptedClient&) = delete;

  /// Adds a reply to the queue. Each call takes the first reply of the queue when it starts. Throws
  /// std::invalid_argument for a negative delay.
  void enqueue(ScriptedReply reply);

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  /// Returns the number of calls started so far.
  std::size_t calls() const noexcept;
  /// Returns the number of calls without an outcome.
  std::size_t open_calls() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore::testing
