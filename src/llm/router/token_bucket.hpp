// TokenBucket: so many of something per minute.
#pragma once

#include <agentcore/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace agentcore::llm {

// Holds what a minute allows and fills evenly, as the limits of providers do: a burst of a whole minute's
// worth may go at once, and then as much as flows in. More than it holds may go when it is full, and what
// follows waits until that is paid off. Limit 0: everything may always go. @loop_thread
class TokenBucket {
 public:
  // A change keeps how long it takes until the bucket is full.
  void set_limit(std::uint64_t per_minute) noexcept { per_minute_ = per_minute; }

  // When `amount` may go: `now`, or later.
  TimePoint ready_at(std::uint64_t amount, TimePoint now) const noexcept;
  // It goes, whether it may or not. Returns the number of this taking.
  std::uint64_t take(std::uint64_t amount, TimePoint now);
  // So much of taking number `number` was too much. What time has paid off since does not come back: the
  // bucket would have been full meanwhile, and no fuller for it.
  void give_back(std::uint64_t amount, std::uint64_t number, TimePoint now) noexcept;

 private:
  // The least that was owed just before any of the takings up to `number` and after the one before it here.
  struct Low {
    std::uint64_t number = 0;
    Duration owed{0};
  };

  Duration cost(std::uint64_t amount) const noexcept;
  void note_owed(Duration owed);

  std::uint64_t per_minute_ = 0;
  TimePoint full_at_{};  // how much is in it follows
  std::uint64_t taken_ = 0;
  std::vector<Low> lows_;  // rising from one to the next
};

// What an endpoint says is left until some time. @loop_thread
class Allowance {
 public:
  void learn(std::uint64_t left, TimePoint until) noexcept {
    left_ = left;
    until_ = until;
  }
  TimePoint ready_at(std::uint64_t amount, TimePoint now) const noexcept {
    return amount <= left_ || now >= until_ ? now : until_;
  }
  void take(std::uint64_t amount) noexcept { left_ -= std::min(left_, amount); }
  void give_back(std::uint64_t amount) noexcept { left_ += amount; }

 private:
  std::uint64_t left_ = 0;
  TimePoint until_{};  // nothing is known after it
};

}  // namespace agentcore::llm
