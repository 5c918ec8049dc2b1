// What is to be done about an attempt that failed.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>

namespace agentcore::llm {

enum class Verdict : unsigned char {
  final,       // it is the call's outcome: another try would end the same, or hide what is wrong
  retry,       // it passes
  next_route,  // it is the model's
};

// X19. What the host did or wants (a stop, a deadline, a callback that threw) is always final.
Verdict verdict_on(const Error& error) noexcept;

// How far a call got.
struct Progress {
  std::uint64_t attempts = 0;  // on all routes
  std::size_t route = 0;       // index of the last one
  std::size_t routes = 1;
};

// The error with the way to it behind its message, where that was more than one attempt on the one route:
// "... (3 attempts; the last on route 2 of 2)".
Error with_progress(Error error, const Progress& progress);

// The error of an attempt after which the endpoint asked for a longer pause than `limit`.
Error with_pause(Error error, Duration pause, Duration limit);

// Errors of the router's own. Durations are what is left of the wait that the call does not make.
Error circuit_open_error(Duration left);
Error left_alone_error(Duration left);     // the endpoint said so
Error left_too_late_error(Duration left);  // the same, where that is longer than the call's deadline allows
Error queue_full_error(std::size_t waiting);
Error deadline_error(const Error& last);  // `last`: of the last attempt, code `none` if there was none

}  // namespace agentcore::llm
