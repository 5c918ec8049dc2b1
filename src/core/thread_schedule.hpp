// ThreadSchedule: what decides which thread goes on, in a build with AGENTCORE_YIELD_POINTS.
#pragma once

#ifdef AGENTCORE_YIELD_POINTS

#include <cstdint>

namespace agentcore::detail::core {

// What a thread is about to do at a yield point.
enum class Access : std::uint8_t {
  load,
  store,
  change,  // a read and a write in one
  lock,
  unlock,
  wait,
  notify,
};

// Where in the code; a std::source_location, which clang 14 lacks.
struct Place {
  const char* file = "";
  unsigned line = 0;

  static constexpr Place current(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

// A test has one, and gives it to the threads that it controls: of these one runs at a time. Each function is
// called on such a thread, and returns when that thread is to go on. Addresses only tell objects apart.
class ThreadSchedule {
 public:
  virtual void yield(const void* object, Access access, Place where) noexcept = 0;
  // Returns when the mutex belongs to this thread. The real mutex is free then, or held by readers alone if
  // `shared`.
  virtual void lock(const void* mutex, bool shared) noexcept = 0;
  // The real mutex was released.
  virtual void unlock(const void* mutex, bool shared) noexcept = 0;
  // Gives the mutex up, which was released, and returns when it belongs to this thread again after a
  // notify().
  virtual void wait(const void* condition, const void* mutex) noexcept = 0;
  virtual void notify(const void* condition, bool all) noexcept = 0;
  // Between these two there are no yield points on this thread. They nest.
  virtual void begin_quiet() noexcept = 0;
  virtual void end_quiet() noexcept = 0;

 protected:
  ~ThreadSchedule() = default;
};

// That of this thread; null: it runs freely.
inline thread_local ThreadSchedule* thread_schedule = nullptr;

class QuietSection {
 public:
  QuietSection() noexcept {
    if (schedule_) schedule_->begin_quiet();
  }
  ~QuietSection() {
    if (schedule_) schedule_->end_quiet();
  }
  QuietSection(const QuietSection&) = delete;
  QuietSection& operator=(const QuietSection&) = delete;

 private:
  ThreadSchedule* const schedule_ = thread_schedule;
};

inline void yield_point(const void* object, Access access, Place where) noexcept {
  if (thread_schedule) thread_schedule->yield(object, access, where);
}

}  // namespace agentcore::detail::core

#endif
