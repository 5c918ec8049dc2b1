// ControlQueue: what the verbs leave for the loop to do.
#pragma once

#include "core/node.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/verbs.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace agentcore::tree {

enum class Verb : std::uint8_t { abort, stop, resume, terminate, let_go };

// One verb that has taken effect and has to be followed up; or a call that ended within a callback.
struct ControlOp {
  Verb verb = Verb::stop;
  core::NodeId agent = 0;
  std::string agent_name;   // for the report; only if one was asked for
  std::uint32_t epoch = 0;  // abort: of the agent after it
  bool took_effect = true;  // false: another one did it before; this one only waits for the end
  bool cascade = true;
  StopCause cause = StopCause::user;
  std::string reason;
  std::optional<Duration> deadline;
  std::function<void(const StopReport&)> on_stopped;
  std::function<void(const TerminateReport&)> on_terminated;
  std::optional<std::uint32_t> clear_up_to;  // abort with clear_queue: the end of the mailbox then
  ControlOp* next = nullptr;

  bool wants_report() const noexcept { return on_stopped || on_terminated; }
};

// An operation, filled in by `fill`; null when an allocation fails. A verb makes it before it changes
// anything.
template <typename Fill>
std::unique_ptr<ControlOp> prepared(Fill&& fill) noexcept {
  try {
    auto op = std::make_unique<ControlOp>();
    std::forward<Fill>(fill)(*op);
    return op;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// A lock-free stack that is turned around when it is taken.
class ControlQueue {
 public:
  ControlQueue() = default;
  ControlQueue(const ControlQueue&) = delete;
  ControlQueue& operator=(const ControlQueue&) = delete;
  ~ControlQueue() { drop(take_all()); }

  // @threadsafe
  void push(std::unique_ptr<ControlOp> op) noexcept {
    ControlOp* raw = op.release();
    raw->next = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(raw->next, raw, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
  }
  // @threadsafe
  bool empty() const noexcept { return newest_.load(std::memory_order_acquire) == nullptr; }

  // All of them, oldest first, linked by next. @loop_thread
  ControlOp* take_all() noexcept {
    if (empty()) return nullptr;
    ControlOp* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    ControlOp* oldest = nullptr;
    while (newest) {
      ControlOp* next = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, next);
    }
    return oldest;
  }
  static void drop(ControlOp* list) noexcept {
    while (list) delete std::exchange(list, list->next);
  }

 private:
  std::atomic<ControlOp*> newest_{nullptr};
};

}  // namespace agentcore::tree
