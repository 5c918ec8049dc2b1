// TimerWheel: many coarse timers, each an intrusive node; set, cancel and fire in constant time, no
// allocation.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace standin {

// A node of a ring. Unlinks itself when it is destroyed, so that a timer never outlives its owner in the
// wheel.
class Timer {
 public:
  Timer() noexcept = default;
  ~Timer() { unlink(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  bool is_set() const noexcept { return next_ != this; }
  void unlink() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }

  void* owner = nullptr;  // passed to the function that advance() calls

 private:
  friend class TimerWheel;
  void link_before(Timer& other) noexcept {
    prev_ = other.prev_;
    next_ = &other;
    prev_->next_ = this;
    other.prev_ = this;
  }

  Timer* prev_ = this;
  Timer* next_ = this;
  std::int64_t tick_ = 0;
};

// Ticks are milliseconds. A timer never fires early, and fires up to one tick late. Timers must be unlinked
// or destroyed before the wheel is. One thread.
class TimerWheel {
 public:
  static constexpr std::int64_t tick_ns = 1'000'000;

  explicit TimerWheel(std::int64_t now_ns) noexcept : cursor_(now_ns / tick_ns) {}

  // (Re)sets the timer to fire at `due_ns`; if that has passed, as soon as those that are due already have
  // fired.
  void set(Timer& timer, std::int64_t due_ns) noexcept {
    timer.unlink();
    timer.tick_ = (due_ns + tick_ns - 1) / tick_ns;
    if (timer.tick_ < cursor_) {
      timer.link_before(due_);
      return;
    }
    const std::size_t slot = slot_of(timer.tick_);
    timer.link_before(slots_[slot]);
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  }

  // Fires at most `budget` timers that are due, through fire(owner); the rest stays due for the next call.
  // `fire` may set, unlink and destroy any timer.
  template <typename Fire>
  void advance(std::int64_t now_ns, std::size_t budget, Fire&& fire) {
    collect(now_ns / tick_ns);
    while (budget-- > 0 && due_.is_set()) {
      Timer* timer = due_.next_;
      timer->unlink();
      fire(timer->owner);
    }
  }

  // Milliseconds to sleep until something may be due: 0 now, -1 nothing is set.
  int wait_ms(std::int64_t now_ns) const noexcept {
    if (due_.is_set()) return 0;
    for (std::size_t step = 0; step < slot_count;) {
      const std::size_t slot = slot_of(cursor_ + static_cast<std::int64_t>(step));
      const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
      if (word == 0) {
        step += 64 - slot % 64;
        continue;
      }
      const std::int64_t tick = cursor_ + static_cast<std::int64_t>(step) + std::countr_zero(word);
      const std::int64_t wait = tick * tick_ns - now_ns;
      return wait <= 0 ? 0 : static_cast<int>((wait + tick_ns - 1) / tick_ns);
    }
    return -1;
  }

 private:
  static constexpr std::size_t slot_count = 1024;  // timers further away than that go round more than once

  static std::size_t slot_of(std::int64_t tick) noexcept {
    return static_cast<std::size_t>(tick) % slot_count;
  }

  // Moves what is due up to `now_tick` to the due ring.
  void collect(std::int64_t now_tick) noexcept {
    if (now_tick - cursor_ >= static_cast<std::int64_t>(slot_count)) {
      cursor_ = now_tick - static_cast<std::int64_t>(slot_count) + 1;  // one full round visits every slot
    }
    for (; cursor_ <= now_tick; ++cursor_) collect_slot(slot_of(cursor_), now_tick);
  }

  void collect_slot(std::size_t slot, std::int64_t now_tick) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    if ((occupied_[slot / 64] & bit) == 0) return;
    Timer& head = slots_[slot];
    for (Timer* timer = head.next_; timer != &head;) {
      Timer* next = timer->next_;
      if (timer->tick_ <= now_tick) {
        timer->unlink();
        timer->link_before(due_);
      }
      timer = next;
    }
    if (!head.is_set()) occupied_[slot / 64] &= ~bit;
  }

  std::int64_t cursor_;  // the first tick that has not been collected
  std::array<Timer, slot_count> slots_;
  std::array<std::uint64_t, slot_count / 64> occupied_{};
  Timer due_;
};

}  // namespace standin
