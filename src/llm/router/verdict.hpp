// The decision about an attempt that failed.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agentcore::detail::llm {

enum class Verdict : unsigned char {
  final,       // it is the call's outcome: another attempt would fail the same way, or hide the fault
  retry,       // the same request may succeed later
  next_route,  // the same request may succeed with another model
};

// X19. A failure that the host caused (a stop, a deadline, a callback that threw) is always final.
Verdict verdict_on(const ChatError& error) noexcept;

// The progress of a call.
struct Progress {
  std::uint64_t attempts = 0;  // on all routes
  std::size_t route = 0;       // index of the last one
  std::size_t routes = 1;
};

// The error with the progress appended to its message, if that was more than one attempt on the only route:
// "... (3 attempts; the last on route 2 of 2)".
ChatError with_progress(ChatError error, const Progress& progress);

// The error of an attempt after which the endpoint asked for a longer pause than `limit`.
ChatError with_pause(ChatError error, Duration pause, Duration limit);

// Errors of the router itself. Durations: the rest of the wait that the call does not make.

// `endpoint`: its name; empty: it is named by its route, counted from 0.
ChatError circuit_open_error(std::string_view endpoint, std::size_t route, Duration left);
ChatError pause_too_long_error(Duration left);       // the endpoint asked for a pause longer than allowed
ChatError pause_past_deadline_error(Duration left);  // for one longer than the call's deadline allows
ChatError queue_full_error(std::size_t waiting);
ChatError deadline_error(const ChatError& last);  // of the last attempt; code `none`: there was none

}  // namespace agentcore::detail::llm
