// LlmClient: the interface between an agent's turn and a model.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/export.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

namespace agentcore {

/// Reports that an operation must end. Obtained from a StopSource.
using StopToken = std::stop_token;
/// Triggers its stop tokens, from any thread.
using StopSource = std::stop_source;

/// Receives the result of one model call: any number of deltas and notices, then exactly one outcome. A
/// client calls it; the sink forwards to a Receiver. The sink enforces the order: calls after the outcome are
/// ignored, and a sink that is destroyed without an outcome delivers Errc::client_dropped_call.
///
/// The functions of the receiver may do anything: stop the call, destroy the sink, its client or the Runtime.
/// Exceptions of the receiver do not leave the sink (G16). After an exception of on_delta(), on_reasoning()
/// or on_rate_limit() the receiver gets the outcome Errc::callback_failed at once, and the sink becomes
/// false. So a client must test the sink after each delta, and end the call if the sink is false. An
/// exception of on_outcome() is ignored.
///
/// Movable, not copyable. A client with threads of its own must post to the Runtime before it uses the sink.
///
///     std::string answer;
///     llm.chat({.messages = {agentcore::ChatMessage::user("Why is the sky blue?")}}, {},
///              agentcore::ChatSink([&](std::string_view text) { answer += text; },
///                                  [](const agentcore::ChatOutcome&) {}));
///
/// @loop_thread
class AGENTCORE_API ChatSink {
 public:
  /// Receives the deltas, the notices and the outcome of one call. on_outcome() is the last function called.
  /// The receiver is destroyed after it, as soon as none of its functions is running.
  ///
  /// @loop_thread
  class Receiver {
   public:
    /// @loop_thread
    virtual ~Receiver() = default;
    /// Called with the next piece of the answer: valid UTF-8, not empty. `text` is valid during the call.
    virtual void on_delta(std::string_view text) = 0;
    /// Called once, with the outcome.
    virtual void on_outcome(ChatOutcome outcome) = 0;
    /// Called with the next piece of the model's reasoning: valid UTF-8, not empty. `text` is valid during
    /// the call. By default does nothing.
    virtual void on_reasoning(std::string_view /*text*/) {}
    /// Called with the rate limits that the endpoint reported, before the first delta. By default does
    /// nothing.
    virtual void on_rate_limit(const RateLimit& /*limit*/) {}

   private:
    friend class ChatSink;
    struct Frame;
    void end(ChatOutcome outcome) noexcept;

    Frame* frame_ = nullptr;  // of the outermost call that is running in this receiver
    bool spent_ = false;      // the outcome was delivered
  };

  /// Makes a sink without a receiver: false, ignores all calls.
  ChatSink() = default;
  /// Makes a sink that forwards to `receiver`.
  explicit ChatSink(std::unique_ptr<Receiver> receiver) noexcept;
  /// Makes a sink that calls two functions, for callers without an agent tree. Either may be empty.
  ChatSink(std::function<void(std::string_view)> on_delta, std::function<void(ChatOutcome)> on_outcome);
  /// Takes over the receiver. `other` becomes false.
  ChatSink(ChatSink&&) noexcept = default;
  /// Takes over the receiver of `other`. The previous receiver, if it has no outcome yet, receives
  /// Errc::client_dropped_call.
  ChatSink& operator=(ChatSink&& other) noexcept;
  /// Delivers Errc::client_dropped_call, if there was no outcome.
  /// @loop_thread
  ~ChatSink();

  /// Delivers the next piece of the answer. `text` must be valid UTF-8 and is read before the call returns.
  /// An empty text is ignored.
  void delta(std::string_view text);
  /// Delivers the next piece of what the model writes for itself before or between the pieces of the answer.
  /// The rules for `text` are those of delta().
  void reasoning(std::string_view text);
  /// Delivers the rate limits that the endpoint reported. Call it before the first delta.
  void rate_limit(const RateLimit& limit);
  /// Delivers the outcome. The sink is false afterwards.
  void finish(ChatOutcome outcome);
  /// True while the sink has a receiver without an outcome. False after finish(), after an exception of the
  /// receiver, and if the sink was moved from.
  explicit operator bool() const noexcept { return receiver_ && !receiver_->spent_; }

 private:
  template <typename Call>
  void tell(const char* what, Call&& call);

  std::unique_ptr<Receiver> receiver_;
};

/// Sends model calls. Implementations: HttpLlmClient (HTTP), LlmRouter (retries, other routes, limits),
/// testing::ScriptedClient (no network), and classes of the host.
///
/// The contract of chat(): it returns at once. Deltas and the one outcome go to `sink`, during chat() or
/// later. When `stop` is triggered, on any thread, the call ends at once: its connection is closed, its slot
/// is released, no delta follows, the call is never retried, and the outcome is `cancelled` (G5 to G7). A
/// stop callback that a client registers runs on the thread that stops. So it may only cut the connection and
/// wake the loop.
///
///     class OfflineClient final : public agentcore::LlmClient {
///      public:
///       void chat(agentcore::ChatRequest, agentcore::StopToken, agentcore::ChatSink sink) override {
///         sink.finish(agentcore::ChatOutcome::failed({agentcore::Errc::network_error, "offline"}));
///       }
///       bool abort(std::string_view) override { return false; }
///       bool has_active_request(std::string_view) const override { return false; }
///     };
class AGENTCORE_API LlmClient {
 public:
  /// A client ends its open calls before it is destroyed: each receives the outcome `cancelled`.
  /// @loop_thread
  virtual ~LlmClient() = default;

  /// Starts one call. If the request has an agent id, the call is registered under request.tree and
  /// request.agent_id before anything is sent, and unregistered however it ends. A second call for an agent
  /// with an open call fails with Errc::request_in_progress. Agents of the same id in different trees are
  /// different agents.
  ///
  /// @loop_thread
  virtual void chat(ChatRequest request, StopToken stop, ChatSink sink) = 0;

  /// Ends the open call of the agent `agent_id`, as its stop token would. If several trees have an agent of
  /// that id, ends the calls of all of them; for one of them use Agent::abort().
  /// Returns true only if there was a call. When it returns, has_active_request() is false and a new call may
  /// start.
  ///
  /// @threadsafe
  virtual bool abort(std::string_view agent_id) = 0;

  /// True while a call of the agent `agent_id` is open, in any tree.
  ///
  /// @threadsafe
  virtual bool has_active_request(std::string_view agent_id) const = 0;
};

}  // namespace agentcore
