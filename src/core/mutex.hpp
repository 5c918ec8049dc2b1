// Mutex and its locks, with a rank, and the marks by which clang checks who holds which mutex.
#pragma once

#include "core/thread_schedule.hpp"

#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

// The marks of clang's thread-safety analysis, which scripts/check-tidy runs; other compilers do not see
// them. They are read within one function: a function that is called under a mutex says so itself.
#ifdef __clang__
#define AGENTCORE_LOCK_MARK(...) __attribute__((__VA_ARGS__))
#else
#define AGENTCORE_LOCK_MARK(...)
#endif

// On a member: it is read and written only by a thread that holds that mutex.
#define AGENTCORE_GUARDED_BY(mutex) AGENTCORE_LOCK_MARK(guarded_by(mutex))
// On a function: its callers hold these mutexes.
#define AGENTCORE_REQUIRES(...) \
  AGENTCORE_LOCK_MARK(requires_capability(__VA_ARGS__, ::agentcore::detail::core::any_mutex))
// On a function: it may run code of the host, and is never called by a thread that holds a mutex of ours.
#define AGENTCORE_RUNS_HOST_CODE AGENTCORE_LOCK_MARK(locks_excluded(::agentcore::detail::core::any_mutex))
// On a function that the analysis cannot follow; a comment says why it is right.
#define AGENTCORE_UNCHECKED_LOCKS AGENTCORE_LOCK_MARK(no_thread_safety_analysis)

namespace agentcore::detail::core {

// The order of all mutexes: a thread takes one only while those that it holds have a lower rank. So no two
// threads wait for each other. The table in docs/design/gate-protocol.md says which mutex has which rank, and
// what is taken under it. Builds with assertions check the order, as they check AGENTCORE_RUNS_HOST_CODE
// where code of the host is called.
enum class LockRank : std::uint8_t {
  verbs,
  pauses,
  steers,
  acknowledgements,
  erasing,
  end_reasons,
  leaf,  // every other mutex: nothing is locked under it
};

// Held by a thread that holds any mutex: for AGENTCORE_RUNS_HOST_CODE.
class AGENTCORE_LOCK_MARK(capability("role")) AnyMutex {};
inline constexpr AnyMutex any_mutex{};

#ifdef NDEBUG
inline void note_locked(LockRank) noexcept {
}
inline void note_unlocked(LockRank) noexcept {
}
// True if this thread holds no mutex of ours. Only builds with assertions know; others return true.
inline bool holds_no_mutex() noexcept {
  return true;
}
#else
// The ranks that this thread holds, a bit for each.
inline thread_local std::uint32_t held_ranks = 0;

inline void note_locked(LockRank rank) noexcept {
  assert(held_ranks >> static_cast<unsigned>(rank) == 0);  // see LockRank
  held_ranks |= std::uint32_t{1} << static_cast<unsigned>(rank);
}
inline void note_unlocked(LockRank rank) noexcept {
  held_ranks &= ~(std::uint32_t{1} << static_cast<unsigned>(rank));
}
inline bool holds_no_mutex() noexcept {
  return held_ranks == 0;
}
#endif

// A build with AGENTCORE_YIELD_POINTS reports to a ThreadSchedule which thread waits for which mutex; the
// real one is free then. In all others these do nothing.
#ifdef AGENTCORE_YIELD_POINTS
inline void before_lock(const void* mutex, bool shared = false) noexcept {
  if (thread_schedule) thread_schedule->lock(mutex, shared);
}
inline void after_unlock(const void* mutex, bool shared = false) noexcept {
  if (thread_schedule) thread_schedule->unlock(mutex, shared);
}
#else
inline void before_lock(const void*, bool = false) noexcept {
}
inline void after_unlock(const void*, bool = false) noexcept {
}
#endif

// A std::mutex with a rank.
class AGENTCORE_LOCK_MARK(capability("mutex")) Mutex {
 public:
  explicit Mutex(LockRank rank = LockRank::leaf) noexcept : rank_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() AGENTCORE_LOCK_MARK(acquire_capability()) {
    note_locked(rank_);  // before it may wait for ever
    before_lock(this);
    mutex_.lock();
  }
  void unlock() AGENTCORE_LOCK_MARK(release_capability()) {
    mutex_.unlock();
    after_unlock(this);
    note_unlocked(rank_);
  }

 private:
  friend class Condition;
  std::mutex mutex_;
  const LockRank rank_;
};

// Holds a mutex during its lifetime.
class AGENTCORE_LOCK_MARK(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) AGENTCORE_LOCK_MARK(acquire_capability(mutex, any_mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~Lock() AGENTCORE_LOCK_MARK(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

// The same in a function that AGENTCORE_REQUIRES another mutex.
class AGENTCORE_LOCK_MARK(scoped_lockable) InnerLock {
 public:
  explicit InnerLock(Mutex& mutex) AGENTCORE_LOCK_MARK(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~InnerLock() AGENTCORE_LOCK_MARK(release_capability()) { mutex_.unlock(); }
  InnerLock(const InnerLock&) = delete;
  InnerLock& operator=(const InnerLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits until another thread has changed what the mutex guards.
class Condition {
 public:
  void notify_one() noexcept {
    tell_schedule(false);
    condition_.notify_one();
  }
  void notify_all() noexcept {
    tell_schedule(true);
    condition_.notify_all();
  }
  // May also return without a reason.
  void wait(Mutex& mutex) AGENTCORE_LOCK_MARK(requires_capability(mutex)) {
#ifdef AGENTCORE_YIELD_POINTS
    if (thread_schedule) {
      mutex.mutex_.unlock();
      thread_schedule->wait(this, &mutex);
      mutex.mutex_.lock();
      return;
    }
#endif
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

 private:
  void tell_schedule([[maybe_unused]] bool all) noexcept {
#ifdef AGENTCORE_YIELD_POINTS
    if (thread_schedule) thread_schedule->notify(this, all);
#endif
  }

  std::condition_variable condition_;
};

// A std::shared_mutex, always LockRank::leaf: one thread writes, or several read.
class AGENTCORE_LOCK_MARK(capability("mutex")) SharedMutex {
 public:
  void lock() AGENTCORE_LOCK_MARK(acquire_capability()) {
    note_locked(LockRank::leaf);
    before_lock(this);
    mutex_.lock();
  }
  void unlock() AGENTCORE_LOCK_MARK(release_capability()) {
    mutex_.unlock();
    after_unlock(this);
    note_unlocked(LockRank::leaf);
  }
  void lock_shared() AGENTCORE_LOCK_MARK(acquire_shared_capability()) {
    note_locked(LockRank::leaf);
    before_lock(this, true);
    mutex_.lock_shared();
  }
  void unlock_shared() AGENTCORE_LOCK_MARK(release_shared_capability()) {
    mutex_.unlock_shared();
    after_unlock(this, true);
    note_unlocked(LockRank::leaf);
  }

 private:
  std::shared_mutex mutex_;
};

class AGENTCORE_LOCK_MARK(scoped_lockable) WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) AGENTCORE_LOCK_MARK(acquire_capability(mutex, any_mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~WriteLock() AGENTCORE_LOCK_MARK(release_capability()) { mutex_.unlock(); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class AGENTCORE_LOCK_MARK(scoped_lockable) ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) AGENTCORE_LOCK_MARK(acquire_shared_capability(mutex, any_mutex))
      : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReadLock() AGENTCORE_LOCK_MARK(release_capability()) { mutex_.unlock_shared(); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace agentcore::detail::core
