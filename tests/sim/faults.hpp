// Faults: which calls of a run fail, by their numbers: allocations of the library, calls of the store, jobs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agentcore::sim {

enum class FailedCall : std::uint8_t {
  allocation,      // an allocation of the library
  commit_refused,  // a commit of the store; nothing is written
  commit_unknown,  // the same; all is written
  read,            // a read of the store
  job_refused,     // a job for the executor, which throws
  job_dropped,     // the same; it destroys the job, and does not run it
  disk,            // a call of the disk below a store in a file (Knob::store)
  process,         // a call of the system for a program, its pipes or its end (Knob::programs)
  socket,          // a call of the system for the sockets of a console: also to watch one (Knob::console)
  transfer,        // a step of a request to a model over HTTP: it has no socket, or that is not watched
};
constexpr std::array fault_names = {std::string_view("allocation"),     std::string_view("commit_refused"),
                                    std::string_view("commit_unknown"), std::string_view("read"),
                                    std::string_view("job_refused"),    std::string_view("job_dropped"),
                                    std::string_view("disk"),           std::string_view("process"),
                                    std::string_view("socket"),         std::string_view("transfer")};
constexpr std::size_t fault_count = fault_names.size();
static_assert(fault_count == static_cast<std::size_t>(FailedCall::transfer) + 1);

// Of one kind of fault: the `first`-th call fails (from 1; 0: none does), and the `then`-th after that.
struct Failures {
  std::size_t first = 0;
  std::size_t then = 0;

  friend bool operator==(const Failures&, const Failures&) = default;
};

// What a run is to suffer until World::finish().
struct Faults {
  std::array<Failures, fault_count> of{};

  Failures& operator[](FailedCall fault) noexcept { return of[static_cast<std::size_t>(fault)]; }
  const Failures& operator[](FailedCall fault) const noexcept { return of[static_cast<std::size_t>(fault)]; }
  friend bool operator==(const Faults&, const Faults&) = default;
};

// Counts the calls of one kind.
class Failing {
 public:
  explicit Failing(Failures which = {}) noexcept : which_(which) {}

  // Once for each call. True: it is to fail.
  bool next() noexcept {
    ++seen_;
    const bool fails = which_.first != 0 &&
                       (seen_ == which_.first || (which_.then != 0 && seen_ == which_.first + which_.then));
    failed_ = failed_ || fails;
    return fails;
  }
  void end() noexcept { which_ = {}; }
  std::size_t seen() const noexcept { return seen_; }
  bool failed() const noexcept { return failed_; }

 private:
  Failures which_;
  std::size_t seen_ = 0;
  bool failed_ = false;
};

// What was asked in a run: the numbers that can fail.
using FaultCounts = std::array<std::size_t, fault_count>;

}  // namespace agentcore::sim
