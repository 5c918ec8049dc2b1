// LlmClient: the interface between an agent's turn and a model.
#pragma once

#include <agentcore/chat.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

namespace agentcore {

using StopToken = std::stop_token;
using StopSource = std::stop_source;

// Where a client delivers: any number of deltas and notices, then exactly one outcome. It enforces that: what
// comes after the outcome is ignored, and a sink that is dropped without one delivers `client_dropped_call`.
//
// Receivers may do anything when they are called: stop the call, destroy the sink, its client, the Runtime.
// What they throw ends there (G16): after a throw from on_delta() the outcome is `callback_failed`, at once,
// and the sink is spent, so a client that finds its sink spent after a delta ends the call. Movable, not
// copyable. @loop_thread: a client with threads of its own posts to the Runtime first.
class ChatSink {
 public:
  // What receives. Called on the loop thread; on_outcome() is the last call, and the receiver is destroyed
  // after it, as soon as it is not being called any more.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void on_delta(std::string_view text) = 0;
    virtual void on_outcome(ChatOutcome outcome) = 0;
    // Of interest to some only.
    virtual void on_reasoning(std::string_view /*text*/) {}
    virtual void on_rate_limit(const RateLimit& /*limit*/) {}

   private:
    friend class ChatSink;
    struct Frame;
    void end(ChatOutcome outcome) noexcept;

    Frame* frame_ = nullptr;  // of the delta that it is receiving now
    bool spent_ = false;      // it had its outcome
  };

  ChatSink() = default;
  explicit ChatSink(std::unique_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}
  // For callers without an agent tree.
  ChatSink(std::function<void(std::string_view)> on_delta, std::function<void(ChatOutcome)> on_outcome);
  ChatSink(ChatSink&&) noexcept = default;
  ChatSink& operator=(ChatSink&& other) noexcept;
  ~ChatSink();

  // A piece of the answer; valid UTF-8, never empty. `text` is read before the call returns.
  void delta(std::string_view text);
  // A piece of what the model thinks before or between its words; the same rules.
  void reasoning(std::string_view text);
  // What the endpoint said about its limits; before the first delta.
  void rate_limit(const RateLimit& limit);
  // The end. The sink is spent afterwards.
  void finish(ChatOutcome outcome);
  // False once finished, spent or moved from.
  explicit operator bool() const noexcept { return receiver_ && !receiver_->spent_; }

 private:
  template <typename Call>
  void tell(const char* what, Call&& call);

  std::unique_ptr<Receiver> receiver_;
};

// A model that can be called. Implementations: HttpLlmClient (HTTP), ScriptedClient (no network), yours.
//
// The contract of chat(): it returns at once. Deltas and the one outcome go to `sink`, from within chat() or
// later. When `stop` is triggered, on whatever thread, the call ends at once: its connection is closed, its
// slot freed, no delta follows, it is never retried, and the outcome is `cancelled` (A7-A9, G5-G7). A stop
// callback that a client registers runs on the thread that stops, so all it may do there is cut and wake.
class LlmClient {
 public:
  virtual ~LlmClient() = default;

  // Starts one call. It is registered under request.tree and request.agent_id, if there is an id, before
  // anything is sent, and unregistered on every ending (A2-A4). A second call for an agent whose call is
  // still open ends with `request_in_progress`; agents of the same id in different trees are different
  // agents. @loop_thread
  virtual void chat(ChatRequest request, StopToken stop, ChatSink sink) = 0;

  // Ends the open call of that agent, as its stop token would. If several trees have an agent of that id,
  // ends the calls of all of them; for one of them use Agent::abort() or AgentTree::abort(). True only if
  // there was a call (A5); after that, has_active_request() is false at once, and a new call may start (X11).
  // @threadsafe
  virtual bool abort(std::string_view agent_id) = 0;

  // True while a call of that agent is open, in any tree (A6). @threadsafe
  virtual bool has_active_request(std::string_view agent_id) const = 0;
};

}  // namespace agentcore
