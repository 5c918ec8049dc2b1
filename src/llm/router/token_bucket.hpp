// TokenBucket: so many of something per minute.
#pragma once

#include <agentcore/clock.hpp>

#include <cstdint>
#include <optional>
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

// What is left of a limit, by what its endpoint says. It refills evenly until the limit is reached.
// @loop_thread
class Allowance {
 public:
  // `left` is available at `now`, and `all`, the limit, at `full`. `all` is empty where the limit is unknown
  // or refills at once: then nothing is added before `until`. From `until` on, which is `full` or earlier,
  // nothing is known, and everything may go.
  void learn(std::uint64_t left, std::optional<std::uint64_t> all, TimePoint now, TimePoint full,
             TimePoint until) noexcept;
  // When `amount`, or the limit if that is less, is available: `now`, or later.
  TimePoint ready_at(std::uint64_t amount, TimePoint now) const noexcept;
  void take(std::uint64_t amount) noexcept { left_ -= static_cast<double>(amount); }
  void give_back(std::uint64_t amount) noexcept { left_ += static_cast<double>(amount); }

 private:
  double left_ = 0;  // at since_, less what was taken after that
  double all_ = 0;
  double per_nanosecond_ = 0;
  TimePoint since_{};
  TimePoint until_{};  // nothing is known after it
};

}  // namespace agentcore::llm
