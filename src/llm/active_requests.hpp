// ActiveRequests: which agent has a model call open, and how any thread stops it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agentcore::llm {

class OpenCall;

// The open calls of one client by agent id; anonymous calls are not in it (A4). Each call is its own token:
// only the call that is registered can unregister itself, never its successor's entry (X11). @threadsafe
class ActiveRequests {
 public:
  // False when that agent has an open call already.
  bool add(std::shared_ptr<OpenCall> call);
  // Forgets the call, if it is the one that is registered.
  void remove(const OpenCall& call) noexcept;
  // Stops the agent's call. False when there is none (A5).
  bool abort(std::string_view agent_id);
  bool contains(std::string_view agent_id) const;

 private:
  mutable std::mutex mutex_;  // held for the map only, never while a call is stopped or destroyed
  std::unordered_map<std::string_view, std::shared_ptr<OpenCall>> calls_;  // a key lies in its call
};

// One open call, as other threads see it. Its id is registered from its making until close() or stop().
class OpenCall {
 public:
  OpenCall(std::string agent_id, std::weak_ptr<ActiveRequests> requests)
      : agent_id_(std::move(agent_id)), requests_(std::move(requests)) {}
  virtual ~OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  const std::string& agent_id() const noexcept { return agent_id_; }

  // Ends the call: no delta follows, its wire is cut, its agent id is free again. True the first time.
  // @threadsafe
  bool stop() noexcept;
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

  // The call is over, stopped or not (A3). @threadsafe
  void close() noexcept {
    if (const auto requests = requests_.lock()) requests->remove(*this);
  }

  // Ends the transfer, on the calling thread as far as that never blocks, and wakes the loop. @threadsafe
  virtual void cut() noexcept = 0;

 private:
  const std::string agent_id_;
  const std::weak_ptr<ActiveRequests> requests_;  // which holds this call
  std::atomic<bool> stopped_{false};
};

// Stops a call from a caller's stop token. It runs on the thread that stops; destroying it may wait for that,
// so never do so under a lock.
struct StopCall {
  OpenCall* call;  // outlives the callback
  void operator()() const noexcept { call->stop(); }
};
using StopCallback = std::stop_callback<StopCall>;

}  // namespace agentcore::llm
