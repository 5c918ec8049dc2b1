// TokenBucket: a limit of requests or tokens per minute.
#pragma once

#include <agentcore/clock.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace agentcore::detail::llm {

// Holds the allowance of one minute and refills evenly, like the limits of providers: a burst of a whole
// minute's allowance may be taken at once, then only what is refilled. From a full bucket more than its
// capacity may be taken, and later takings wait until that is refilled. Limit 0: unlimited. @loop_thread
class TokenBucket {
 public:
  // Changes the limit, and keeps the time until the bucket is full.
  void set_limit(std::uint64_t per_minute) noexcept { per_minute_ = per_minute; }

  // When `amount` may be taken: `now`, or later.
  TimePoint ready_at(std::uint64_t amount, TimePoint now) const noexcept;
  // Takes `amount`, also before the time that ready_at() returns. Returns the number of this taking.
  std::uint64_t take(std::uint64_t amount, TimePoint now) noexcept;
  // Returns a part of taking number `number`. The part that has been refilled since is not returned twice:
  // the bucket would have been full meanwhile, and cannot hold more.
  void give_back(std::uint64_t amount, std::uint64_t number, TimePoint now) noexcept;

 private:
  // The smallest debt just before any of the takings up to `number` and after the previous entry.
  struct Low {
    std::uint64_t number = 0;
    Duration owed{0};
  };

  Duration cost(std::uint64_t amount) const noexcept;
  void note_owed(Duration owed) noexcept;

  std::uint64_t per_minute_ = 0;
  TimePoint full_at_{};  // the content follows from it
  std::uint64_t taken_ = 0;
  std::vector<Low> lows_;  // ascending
};

// The rest of a limit, as reported by its endpoint. It refills evenly until the limit is reached.
// @loop_thread
class Allowance {
 public:
  // `left` is available at `now`, and `all`, the limit, at `full`. `all` is empty where the limit is unknown
  // or refills at once: then nothing is added before `until`. From `until` on, which is `full` or earlier,
  // the state is unknown, and every call is admitted.
  void learn(std::uint64_t left, std::optional<std::uint64_t> all, TimePoint now, TimePoint full,
             TimePoint until) noexcept;
  // When `amount`, or the limit if that is less, is available: `now`, or later.
  TimePoint ready_at(std::uint64_t amount, TimePoint now) const noexcept;
  void take(std::uint64_t amount) noexcept { left_ -= static_cast<double>(amount); }
  void give_back(std::uint64_t amount) noexcept { left_ += static_cast<double>(amount); }

 private:
  double left_ = 0;  // at since_, less what was taken after it
  double all_ = 0;
  double per_nanosecond_ = 0;
  TimePoint since_{};
  TimePoint until_{};  // the state is unknown after it
};

}  // namespace agentcore::detail::llm
