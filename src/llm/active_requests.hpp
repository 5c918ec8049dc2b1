// ActiveRequests: which agent has a model call open, and how any thread stops it.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

namespace agentcore::llm {

class OpenCall;

// The agent that a call is made for. Agents of the same id in two trees are different callers.
struct CallerKey {
  std::string_view agent_id;
  std::uint64_t tree = 0;  // ChatRequest::tree

  auto operator<=>(const CallerKey&) const = default;  // NOLINT: clang-tidy 14 sees a null pointer
};

// The open calls of one client by agent; anonymous calls are not in it (A4). Each call is its own token: only
// the call that is registered can unregister itself, never its successor's entry (X11). @threadsafe
class ActiveRequests {
 public:
  // False when that agent has an open call already.
  bool add(std::shared_ptr<OpenCall> call);
  // Forgets the call, if it is the one that is registered.
  void remove(const OpenCall& call) noexcept;
  // Stops the open calls of all agents of that id, whatever their tree. False when there is none (A5).
  bool abort(std::string_view agent_id);
  bool contains(std::string_view agent_id) const;

 private:
  // Removes the call of that agent id with the lowest tree from `first_tree` on. Null when there is none.
  std::shared_ptr<OpenCall> take(std::string_view agent_id, std::uint64_t first_tree);

  mutable std::mutex mutex_;  // held for the map only, never while a call is stopped or destroyed
  std::map<CallerKey, std::shared_ptr<OpenCall>> calls_;  // a key's id lies in its call
};

// One open call, as other threads see it. Its caller is registered from ActiveRequests::add() until close()
// or stop().
class OpenCall {
 public:
  OpenCall(std::string agent_id, std::weak_ptr<ActiveRequests> requests, std::uint64_t tree = 0)
      : agent_id_(std::move(agent_id)), tree_(tree), requests_(std::move(requests)) {}
  virtual ~OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  const std::string& agent_id() const noexcept { return agent_id_; }
  CallerKey caller() const noexcept { return {agent_id_, tree_}; }

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
  const std::uint64_t tree_;
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
