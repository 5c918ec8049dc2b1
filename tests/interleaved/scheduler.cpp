#include "interleaved/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace agentcore::interleaved {

using detail::core::Access;
using detail::core::Place;

namespace {

constexpr std::uint32_t no_thread = ~0U;
constexpr std::uint64_t most_steps = 3'000'000;
// A thread that turns in a loop until another one has done something falls behind it.
constexpr std::uint64_t most_in_a_row = 20'000;
constexpr std::chrono::seconds longest_step{60};

std::string_view name(Access access) noexcept {
  switch (access) {
    case Access::load:
      return "load";
    case Access::store:
      return "store";
    case Access::change:
      return "change";
    case Access::lock:
      return "lock";
    case Access::unlock:
      return "unlock";
    case Access::wait:
      return "wait";
    case Access::notify:
      return "notify";
  }
  return "";
}

std::string_view file_name(const char* path) {
  const std::string_view all(path);
  return all.substr(all.find_last_of('/') + 1);
}

// A std::binary_semaphore that does not yield the processor before it waits: on a busy machine that takes
// long.
class Baton {
 public:
  void release() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    changed_.notify_one();
  }
  void acquire() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return std::exchange(given_, false); });
  }
  bool try_acquire_for(std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return std::exchange(given_, false); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

}  // namespace

struct Scheduler::Thread {
  enum class State : std::uint8_t { runnable, locks, waits, sleeps, ended };

  std::uint32_t number = 0;
  State state = State::runnable;
  const void* object = nullptr;  // the mutex or the condition that it waits for
  bool shared = false;
  bool woken = false;  // since the last sleep()
  std::uint32_t quiet = 0;
  std::uint64_t command = 0;  // from 1
  std::uint32_t step = 0;     // in the command
  std::size_t next_fall = 0;
  // Those that have not fallen: (0, place in the order). The others: (1 + rank, number of the fall).
  std::pair<std::uint64_t, std::uint64_t> behind;
  std::string what;
  Access access = Access::load;
  Place where;
  Baton turn;
};

struct Scheduler::Held {
  const void* mutex;
  std::uint32_t thread;
  bool shared;
};

struct Scheduler::Done {
  Baton ended;
};

Scheduler::Scheduler(Schedule schedule, Keeps keeps)
    : schedule_(std::move(schedule)), keeps_(keeps), done_(std::make_unique<Done>()) {
}
Scheduler::~Scheduler() = default;

Outcome Scheduler::run(Schedule schedule, std::vector<std::function<void(Scheduler&)>> functions,
                       Keeps keeps) {
  // Threads that wait for ever keep it.
  const std::shared_ptr<Scheduler> self(new Scheduler(std::move(schedule), keeps));
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    auto thread = std::make_unique<Thread>();
    thread->number = i;
    const auto place = std::ranges::find(self->schedule_.order, i);
    thread->behind = {0, static_cast<std::uint64_t>(place - self->schedule_.order.begin())};
    self->threads_.push_back(std::move(thread));
  }
  std::vector<std::thread> threads;
  threads.reserve(functions.size());
  for (std::uint32_t i = 0; i < functions.size(); ++i)
    threads.emplace_back([self, i, function = std::move(functions[i])]() mutable {
      self->threads_[i]->turn.acquire();
      detail::core::thread_schedule = self.get();
      function(*self);
      function = nullptr;
      detail::core::thread_schedule = nullptr;
      self->leave(i);
    });
  // The first thread begins, whatever the order: up to its first step it may prepare what all of them use.
  self->threads_[self->running_]->turn.release();
  if (!self->done_->ended.try_acquire_for(longest_step)) {
    std::fprintf(stderr, "a thread waits for something that the scheduler does not see\n%s\n",
                 self->describe().c_str());
    for (const std::string& line : self->outcome_.trace) std::fprintf(stderr, "%s\n", line.c_str());
    std::abort();
  }
  const bool ended = self->outcome_.end == Ending::ended;
  for (std::thread& thread : threads) {
    if (ended)
      thread.join();
    else
      thread.detach();
  }
  return self->outcome_;
}

Scheduler::Thread& Scheduler::me() noexcept {
  return *threads_[running_];
}

void Scheduler::begin_command(std::string what) {
  Thread& thread = me();
  ++thread.command;
  thread.step = 0;
  thread.next_fall = 0;
  thread.what = std::move(what);
  say("> " + thread.what);
}

void Scheduler::say(const std::string& line) {
  if (keeps_.trace) outcome_.trace.push_back(std::to_string(running_) + "  " + line);
}

void Scheduler::step() noexcept {
  yield(nullptr, Access::change, Place::current());
}

void Scheduler::fall(Thread& thread, std::uint32_t rank) noexcept {
  thread.behind = {std::uint64_t{1} + rank, ++falls_};
}

void Scheduler::fall_if_due(Thread& thread) noexcept {
  if (thread.command == 0 || thread.number >= schedule_.falls.size()) return;
  const auto& commands = schedule_.falls[thread.number];
  if (thread.command > commands.size()) return;
  const auto& falls = commands[thread.command - 1];
  while (thread.next_fall < falls.size() && falls[thread.next_fall].step <= thread.step)
    fall(thread, falls[thread.next_fall++].rank);
}

void Scheduler::keep_step(const void* object, const Thread& thread) noexcept {
  const auto number = objects_.try_emplace(object, static_cast<std::uint32_t>(objects_.size())).first->second;
  outcome_.taken.push_back({thread.number, static_cast<std::uint32_t>(thread.command - 1), thread.step,
                            number, thread.access, thread.where});
}

void Scheduler::note(const void* object, Access access, Place where) noexcept {
  Thread& thread = me();
  ++thread.step;
  thread.access = access;
  thread.where = where;
  if (keeps_.steps && object && thread.command != 0) keep_step(object, thread);
  ++outcome_.steps;
  for (const std::uint64_t value :
       {std::uint64_t{running_}, std::uint64_t{where.line}, static_cast<std::uint64_t>(access)})
    outcome_.hash = (outcome_.hash ^ value) * 0x0000'0100'0000'01b3U;
  if (++in_a_row_ > most_in_a_row) {
    in_a_row_ = 0;
    fall(thread, 1'000);
  }
  fall_if_due(thread);
}

void Scheduler::yield(const void* object, Access access, Place where) noexcept {
  if (me().quiet != 0) return;
  note(object, access, where);
  if (outcome_.steps > most_steps) return end(Ending::endless);
  go_on();
}

// A thread in a quiet section that waits for a mutex: until it has it, the holder of the mutex runs alone.
std::uint32_t Scheduler::owner_for_quiet() noexcept {
  for (const auto& quiet : threads_) {
    if (quiet->quiet == 0) continue;
    if (quiet->state == Thread::State::runnable) return quiet->number;
    const Thread* thread = quiet.get();
    for (std::size_t links = 0; links <= threads_.size(); ++links) {
      if (thread->state == Thread::State::runnable) return thread->number;
      if (thread->state != Thread::State::locks) break;
      const auto held = std::ranges::find(held_, thread->object, &Held::mutex);
      if (held == held_.end()) return thread->number;
      thread = threads_[held->thread].get();
    }
  }
  return no_thread;
}

std::uint32_t Scheduler::choose() noexcept {
  if (const std::uint32_t owner = owner_for_quiet(); owner != no_thread) return owner;
  const Thread* best = nullptr;
  for (const auto& thread : threads_)
    if (thread->state == Thread::State::runnable && (!best || thread->behind < best->behind))
      best = thread.get();
  if (best) return best->number;
  for (const auto& thread : threads_) {
    if (thread->state != Thread::State::sleeps) continue;
    thread->state = Thread::State::runnable;
    return thread->number;
  }
  return no_thread;
}

void Scheduler::go_on() noexcept {
  const std::uint32_t self = running_;
  const std::uint32_t next = choose();
  if (next == self) return;
  if (next == no_thread) return end(Ending::deadlock);
  in_a_row_ = 0;
  ++outcome_.switches;
  if (keeps_.trace) {
    const Thread& thread = me();
    say("before " + std::string(file_name(thread.where.file)) + ":" + std::to_string(thread.where.line) +
        " (" + std::string(name(thread.access)) + ", step " + std::to_string(thread.step) + "): thread " +
        std::to_string(next) + " goes on");
  }
  running_ = next;
  threads_[next]->turn.release();
  threads_[self]->turn.acquire();
}

void Scheduler::leave(std::uint32_t thread) {
  threads_[thread]->state = Thread::State::ended;
  if (std::ranges::all_of(threads_, [](const auto& one) { return one->state == Thread::State::ended; })) {
    done_->ended.release();
    return;
  }
  const std::uint32_t next = choose();
  if (next == no_thread) {
    outcome_.end = Ending::deadlock;
    outcome_.who = describe();
    done_->ended.release();
    return;
  }
  in_a_row_ = 0;
  running_ = next;
  threads_[next]->turn.release();
}

// This thread waits for ever.
void Scheduler::end(Ending how) noexcept {
  outcome_.end = how;
  outcome_.who = describe();
  Thread& thread = me();
  done_->ended.release();
  for (;;) thread.turn.acquire();
}

std::string Scheduler::describe() const {
  std::string text;
  for (const auto& thread : threads_) {
    if (thread->state == Thread::State::ended) continue;
    text += (text.empty() ? "" : "; ") + std::string("thread ") + std::to_string(thread->number) + " in `" +
            thread->what + "` ";
    switch (thread->state) {
      case Thread::State::locks: {
        text += "waits for a mutex";
        for (const Held& held : held_)
          if (held.mutex == thread->object) text += " that thread " + std::to_string(held.thread) + " holds";
        break;
      }
      case Thread::State::waits:
        text += "waits for a condition";
        break;
      case Thread::State::sleeps:
        text += "sleeps";
        break;
      default:
        text += "can run, before " + std::string(file_name(thread->where.file)) + ":" +
                std::to_string(thread->where.line);
    }
  }
  return text;
}

bool Scheduler::is_free(const void* mutex, bool shared) const noexcept {
  return std::ranges::none_of(
      held_, [&](const Held& held) { return held.mutex == mutex && !(shared && held.shared); });
}

void Scheduler::wait_for(const void* mutex, bool shared) noexcept {
  Thread& thread = me();
  while (!is_free(mutex, shared)) {
    thread.state = Thread::State::locks;
    thread.object = mutex;
    thread.shared = shared;
    go_on();
  }
  held_.push_back({mutex, thread.number, shared});
}

void Scheduler::lock(const void* mutex, bool shared) noexcept {
  yield(mutex, Access::lock, Place());
  wait_for(mutex, shared);
}

void Scheduler::free(const void* mutex, bool shared) noexcept {
  const auto held = std::ranges::find_if(held_, [&](const Held& one) {
    return one.mutex == mutex && one.thread == running_ && one.shared == shared;
  });
  if (held != held_.end()) held_.erase(held);
  for (const auto& thread : threads_)
    if (thread->state == Thread::State::locks && thread->object == mutex)
      thread->state = Thread::State::runnable;
}

void Scheduler::unlock(const void* mutex, bool shared) noexcept {
  free(mutex, shared);
  if (me().quiet != 0) return;
  yield(mutex, Access::unlock, Place());
}

void Scheduler::wait(const void* condition, const void* mutex) noexcept {
  free(mutex, false);
  Thread& thread = me();
  note(nullptr, Access::wait, Place());
  thread.state = Thread::State::waits;
  thread.object = condition;
  go_on();
  wait_for(mutex, false);
}

void Scheduler::notify(const void* condition, bool all) noexcept {
  for (const auto& thread : threads_) {
    if (thread->state != Thread::State::waits || thread->object != condition) continue;
    thread->state = Thread::State::runnable;
    if (!all) break;
  }
  yield(condition, Access::notify, Place());
}

bool Scheduler::sleep() noexcept {
  Thread& thread = me();
  if (!thread.woken) {
    note(nullptr, Access::wait, Place());
    thread.state = Thread::State::sleeps;
    go_on();
  }
  return std::exchange(thread.woken, false);
}

void Scheduler::wake(std::uint32_t number) noexcept {
  Thread& thread = *threads_[number];
  thread.woken = true;
  if (thread.state == Thread::State::sleeps) thread.state = Thread::State::runnable;
}

void Scheduler::forget_wake() noexcept {
  me().woken = false;
}

void Scheduler::begin_quiet() noexcept {
  ++me().quiet;
}
void Scheduler::end_quiet() noexcept {
  --me().quiet;
}

}  // namespace agentcore::interleaved
