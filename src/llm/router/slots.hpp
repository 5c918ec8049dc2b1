// Slots: decides which model calls may run now, and which one is next.
#pragma once

#include "llm/router/endpoint_table.hpp"
#include "llm/router/slot.hpp"
#include "loop/engine.hpp"
#include "loop/source.hpp"

#include <agentcore/call_slots.hpp>
#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// Implements call_slots.hpp. Slots are granted from acquire() to its caller, and otherwise from a posted
// function, a few at a time: never from within the end of another call. @loop_thread
class Slots : public std::enable_shared_from_this<Slots> {
 public:
  Slots(std::shared_ptr<loop::Engine> engine, CallLimits limits);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  std::shared_ptr<Endpoint> endpoint(std::string_view name) { return endpoints_.named(name); }
  std::shared_ptr<Endpoint> endpoint_of(const LlmClient* client) { return endpoints_.of(client); }
  void set_endpoint(std::string_view name, const EndpointLimits& limits);

  enum class Admission : std::uint8_t {
    now,    // `slot` is taken
    later,  // the waiter will be called, unless it leaves before
    full,   // the queue is full; never returned to a waiter that has waited before
  };
  // Throws std::bad_alloc: then the waiter is not in the queue.
  Admission acquire(Waiter& waiter, SlotRequest request, Slot& slot);
  // Removes the waiter from the queue, if it is in it.
  void leave(Waiter& waiter) noexcept;

  // The pause, from now on, that the endpoint asks of a call of so many tokens.
  Duration pause_left(const Endpoint& endpoint, std::uint64_t tokens = 1) const noexcept;

  const std::shared_ptr<loop::Engine>& engine() const noexcept { return engine_; }
  std::size_t running() const noexcept { return running_; }
  std::size_t running(std::string_view endpoint) const noexcept;
  std::size_t waiting() const noexcept { return waiting_; }

 private:
  friend class Slot;

  // A wake-up for which there was no memory: the next poll makes up for it.
  struct LateWake final : loop::Source {
    explicit LateWake(Slots& of) noexcept : slots(of) {}
    void run_control(loop::PollBudget&) override {}
    void run_round(loop::PollBudget& budget) override {
      if (budget.spend()) slots.grant_some();
    }
    bool has_work() const noexcept override { return slots.wakes_late_; }
    bool has_pending() const noexcept override { return slots.wakes_late_; }
    Slots& slots;
  };

  Lane& lane_for(Endpoint& endpoint, const CallerKey& key);
  void enter(Waiter& waiter);
  void take_out(Waiter& waiter) noexcept;
  void list(Lane& lane) noexcept;
  void list_lanes(Caller& caller) noexcept;
  void tidy(Callers::iterator caller) noexcept;
  Waiter* next(TimePoint now, TimePoint& later) const;
  Waiter* next_over_max_wait(TimePoint now) const;
  Slot grant(Waiter& waiter, TimePoint now) noexcept;
  void release(Slot& slot) noexcept;

  void wake() noexcept;
  void wake_at(TimePoint when);
  void grant_some();
  bool grant_one(TimePoint& later);

  const std::shared_ptr<loop::Engine> engine_;
  const CallLimits limits_;
  EndpointTable endpoints_;
  std::vector<Endpoint*> wanted_;  // those with waiting calls
  Callers callers_;
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t last_place_ = 0;
  bool woken_ = false;
  bool wakes_late_ = false;
  const std::shared_ptr<LateWake> late_wake_;
  std::uint64_t timer_ = 0;
  TimePoint timer_when_{};
};

}  // namespace agentcore::detail::llm

namespace agentcore {

struct CallSlots::Impl final : detail::llm::Slots {
  using Slots::Slots;
};

}  // namespace agentcore
