// Scheduler: lets one thread run at a time, and decides at each yield point which one (probabilistic
// concurrency testing).
#pragma once

#include "core/thread_schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::interleaved {

// Before that step of that command the thread falls behind all threads that have not fallen, and behind those
// with a smaller rank; of two with the same rank the later one is behind. A step is a yield point; each
// command counts its own, from 1.
struct Fall {
  std::uint32_t step = 0;
  std::uint32_t rank = 0;
};

// What decides a run, with the functions of the threads.
struct Schedule {
  std::vector<std::uint32_t> order;                   // of the threads: the first one runs while it can
  std::vector<std::vector<std::vector<Fall>>> falls;  // of each thread, of each of its commands, by step
};

// A yield point that was passed. The same number of `object`: the same object.
struct Step {
  std::uint32_t thread = 0;
  std::uint32_t command = 0;  // of the thread, from 0
  std::uint32_t step = 0;     // of the command, from 1
  std::uint32_t object = 0;
  detail::core::Access access = detail::core::Access::load;
  detail::core::Place where;
};

enum class Ending : std::uint8_t {
  ended,     // all functions have returned
  deadlock,  // no thread can go on
  endless,   // there were too many steps
};

struct Outcome {
  Ending end = Ending::ended;
  std::string who;  // of a deadlock: who waits for whom
  std::uint64_t steps = 0;
  std::uint64_t hash = 0;  // of (thread, line, access) of all steps
  std::uint64_t switches = 0;
  std::vector<std::string> trace;  // each switch, if Keeps::trace
  std::vector<Step> taken;         // those of commands on a known object, if Keeps::steps
};

// What an Outcome has besides its end.
struct Keeps {
  bool trace = false;
  bool steps = false;
};

class Scheduler final : public detail::core::ThreadSchedule {
 public:
  // Runs each function on a thread of its own, all under the same scheduler, until all have returned. After
  // another end the threads wait for ever, and so does all that they hold: the functions must own it.
  static Outcome run(Schedule schedule, std::vector<std::function<void(Scheduler&)>> threads,
                     Keeps keeps = {});

  // For the functions, on their threads.
  std::uint32_t thread() const noexcept { return running_; }
  // The next command of this thread begins. `what` is for the trace.
  void begin_command(std::string what);
  // Something that others may see was done, or is about to be.
  void step() noexcept;
  // Waits until wake() was called for this thread since the last sleep(): true; or until no other thread can
  // go on: false.
  bool sleep() noexcept;
  void wake(std::uint32_t thread) noexcept;
  void forget_wake() noexcept;  // of this thread
  // Runs `function` without yield points.
  template <typename Function>
  auto quietly(Function&& function) {
    const detail::core::QuietSection quiet;
    return function();
  }
  void say(const std::string& line);  // in the trace

  void yield(const void* object, detail::core::Access access, detail::core::Place where) noexcept override;
  void lock(const void* mutex, bool shared) noexcept override;
  void unlock(const void* mutex, bool shared) noexcept override;
  void wait(const void* condition, const void* mutex) noexcept override;
  void notify(const void* condition, bool all) noexcept override;
  void begin_quiet() noexcept override;
  void end_quiet() noexcept override;

  ~Scheduler();

 private:
  struct Thread;
  struct Held;

  Scheduler(Schedule schedule, Keeps keeps);
  Thread& me() noexcept;
  void note(const void* object, detail::core::Access access, detail::core::Place where) noexcept;
  void keep_step(const void* object, const Thread& thread) noexcept;
  void fall_if_due(Thread& thread) noexcept;
  void fall(Thread& thread, std::uint32_t rank) noexcept;
  // The thread that goes on; no_thread: none can.
  std::uint32_t choose() noexcept;
  std::uint32_t owner_for_quiet() noexcept;
  void go_on() noexcept;             // with the thread that is chosen; returns when this one is
  void leave(std::uint32_t thread);  // it has returned
  void end(Ending end) noexcept;
  bool is_free(const void* mutex, bool shared) const noexcept;
  void wait_for(const void* mutex, bool shared) noexcept;
  void free(const void* mutex, bool shared) noexcept;
  std::string describe() const;

  const Schedule schedule_;
  const Keeps keeps_;
  std::unordered_map<const void*, std::uint32_t> objects_;  // their numbers, in the order of the first use
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Held> held_;
  std::uint32_t running_ = 0;
  std::uint64_t in_a_row_ = 0;
  std::uint64_t falls_ = 0;
  Outcome outcome_;
  struct Done;
  std::unique_ptr<Done> done_;
};

}  // namespace agentcore::interleaved
