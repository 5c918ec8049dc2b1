// PauseToken: how an LlmClient learns that the agent of a call is paused.
#pragma once

#include <agentcore/export.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace agentcore {

/// Says whether the agent of a model call is paused (Agent::pause()). While it is, the client begins nothing
/// new for the call: no further attempt, no other route. What runs goes on, and its outcome is delivered as
/// always; the time of a back-off does not run, and a call that waits for a slot gets none. A client that
/// makes one attempt per call needs no PauseToken, because a paused agent starts no call.
///
///     if (request.pause.is_paused()) {
///       waiting_ = request.pause.on_change([this] { try_again(); });
///       request.pause.set_waiting(true);
///     }
///
/// A copy refers to the same agent. May outlive the agent, its tree and the Runtime: then nothing is paused,
/// and no callback is called.
class AGENTCORE_API PauseToken {
 public:
  /// What a token asks: implemented by an AgentTree for each call, and by tests of clients.
  class Source {
   public:
    virtual ~Source() = default;
    /// As PauseToken::is_paused().
    /// @threadsafe
    virtual bool is_paused() const noexcept = 0;
    /// As PauseToken::on_change().
    /// @loop_thread
    virtual std::shared_ptr<void> on_change(std::function<void()> callback) = 0;
    /// As PauseToken::set_waiting().
    /// @loop_thread
    virtual void set_waiting(bool waiting) noexcept = 0;
  };

  /// Makes a token that is never paused.
  PauseToken() noexcept = default;
  /// Makes a token that asks `source`.
  explicit PauseToken(std::shared_ptr<Source> source) noexcept : source_(std::move(source)) {}

  /// Returns true if the agent is paused: it or an ancestor.
  /// @threadsafe
  bool is_paused() const noexcept { return source_ && source_->is_paused(); }
  /// Calls `callback` on the loop thread, in a poll after the call, each time the agent may have been paused
  /// or unpaused, as long as the returned pointer has an owner. The callback asks is_paused(). It may drop
  /// the pointer, end the call and destroy the client.
  /// @loop_thread
  [[nodiscard]] std::shared_ptr<void> on_change(std::function<void()> callback) const {
    return source_ ? source_->on_change(std::move(callback)) : nullptr;
  }
  /// Reports that the call does nothing but wait for the end of the pause (true), or that it goes on (false).
  /// So the tree knows when nothing runs any more below a paused agent (PauseSettled).
  /// @loop_thread
  void set_waiting(bool waiting) const noexcept {
    if (source_) source_->set_waiting(waiting);
  }

 private:
  std::shared_ptr<Source> source_;
};

}  // namespace agentcore
