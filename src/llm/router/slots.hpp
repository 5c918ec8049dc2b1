// Slots: which model calls may run now, and which one is next.
#pragma once

#include "llm/active_requests.hpp"
#include "llm/router/rate_limiter.hpp"
#include "loop/engine.hpp"

#include <agentcore/call_slots.hpp>
#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::llm {

class Slots;
class Waiter;
struct Caller;
struct Endpoint;

// The calls of one agent to one endpoint that wait, in order. Only the first of them competes with others, so
// a queue of any length costs what its number of lanes costs.
struct Lane {
  Endpoint* endpoint = nullptr;
  Caller* caller = nullptr;                  // null: of anonymous calls, which are not counted
  std::map<std::uint64_t, Waiter*> waiters;  // by place
  std::uint64_t listed_as = 0;               // place in Endpoint::ready; 0: it is not there
};

struct Endpoint {
  std::uint32_t limit = 0;  // at once
  std::uint32_t running = 0;
  RateLimiter rate;
  std::map<std::uint64_t, Lane*> ready;                               // whose caller is not at its limit
  std::map<std::pair<Duration, std::uint64_t>, Waiter*> by_patience;  // all that wait
  Lane anonymous;
};

// An agent that has calls running or waiting.
struct Caller {
  std::unique_ptr<const std::string> agent_id;  // the key in Slots::callers_ views it
  std::uint32_t running = 0;
  std::vector<std::unique_ptr<Lane>> lanes;  // one for each endpoint that it waits for
};

// Leave to make one attempt, given back when it is dropped. @loop_thread
class Slot {
 public:
  Slot() = default;
  Slot(Slot&& other) noexcept = default;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot() { release(); }

  // What the endpoint said about its limits.
  void learn(const RateLimit& limit);
  // The attempt ended so: the limits hear what it used, the slot is free.
  void end(const ChatOutcome& outcome);
  // There was no attempt.
  void undo();

 private:
  friend class Slots;
  using Callers = std::map<CallerKey, Caller>;  // a key views the agent_id of its caller

  void release();

  std::shared_ptr<Slots> slots_;  // null: not taken
  std::shared_ptr<Endpoint> endpoint_;
  std::optional<Callers::iterator> caller_;  // none: anonymous
  std::uint64_t tokens_ = 0;                 // as estimated
  RateLimiter::Mark mark_;
};

// A call that may have to wait for a slot. @loop_thread
class Waiter {
 public:
  virtual void on_slot(Slot slot) = 0;
  // Its endpoint wants to be left alone for longer than its patience. It waits no more. Never called from
  // within acquire().
  virtual void on_left_alone() = 0;

 protected:
  ~Waiter() = default;

 private:
  friend class Slots;

  std::shared_ptr<Endpoint> endpoint_;
  CallerKey caller_;
  std::uint64_t tokens_ = 0;
  Duration patience_{0};
  std::uint64_t place_ = 0;  // kept from its first wait on: a call that comes back is where it was
  Lane* lane_ = nullptr;     // where it waits
};

// See call_slots.hpp for what it promises. Slots are handed out from acquire(), to who asks, and else from a
// posted function, a few at a time: never from within the end of another call. @loop_thread
class Slots : public std::enable_shared_from_this<Slots> {
 public:
  Slots(std::shared_ptr<loop::Engine> engine, CallLimits limits);
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // The endpoint of that name, or the nameless one of a client. The latter is forgotten when nobody holds it.
  std::shared_ptr<Endpoint> endpoint(std::string_view name);
  std::shared_ptr<Endpoint> endpoint_of(const LlmClient* client);
  void set_endpoint(std::string_view name, const CallLimits& limits);

  // What a call wants.
  struct Wish {
    std::shared_ptr<Endpoint> endpoint;
    CallerKey caller;          // its id lives as long as the waiter; empty: anonymous
    std::uint64_t tokens = 0;  // estimate of what it will use
    Duration patience{0};      // with an endpoint that wants to be left alone
  };
  enum class Admission : unsigned char { now, later, full };

  // `now`: `slot` is taken. `later`: the waiter will be called, unless it leaves or goes before. `full`: too
  // many wait; never the answer to one that has waited before.
  Admission acquire(Waiter& waiter, Wish wish, Slot& slot);
  // It waits no more, if it did.
  void leave(Waiter& waiter);

  // How long that endpoint wants to be left alone by a call of so many tokens, from now on.
  Duration pause_left(const Endpoint& endpoint, std::uint64_t tokens = 1) const noexcept;

  const std::shared_ptr<loop::Engine>& engine() const noexcept { return engine_; }
  std::size_t running() const noexcept { return running_; }
  std::size_t running(std::string_view endpoint) const noexcept;
  std::size_t waiting() const noexcept { return waiting_; }

 private:
  friend class Slot;

  void configure(Endpoint& endpoint, const CallLimits& limits) const;
  Lane& lane_for(Endpoint& endpoint, const CallerKey& key);
  void enter(Waiter& waiter);
  void take_out(Waiter& waiter);
  void list(Lane& lane);
  void list_lanes(Caller& caller);
  void tidy(Slot::Callers::iterator caller);
  Waiter* next(TimePoint now, TimePoint& later) const;
  Waiter* impatient(TimePoint now) const;
  Slot grant(Waiter& waiter, TimePoint now);
  void release(Slot& slot);

  void wake();
  void wake_at(TimePoint when);
  void hand_out();
  bool hand_out_one(TimePoint& later);

  const std::shared_ptr<loop::Engine> engine_;
  const CallLimits limits_;
  std::map<std::string, std::shared_ptr<Endpoint>, std::less<>> named_;
  std::map<const LlmClient*, std::weak_ptr<Endpoint>> nameless_;
  std::vector<Endpoint*> wanted_;  // those that somebody waits for
  Slot::Callers callers_;
  std::size_t running_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t last_place_ = 0;
  bool woken_ = false;
  std::uint64_t timer_ = 0;
  TimePoint timer_when_{};
};

}  // namespace agentcore::llm

namespace agentcore {

struct CallSlots::Impl final : llm::Slots {
  using Slots::Slots;
};

}  // namespace agentcore
