// await_readable: a wait outside of the loop, for an operation that must end before a destructor returns.
#pragma once

#include <agentcore/clock.hpp>

namespace agentcore::detail::platform {

// Blocks until `descriptor` is readable, for `at_most` of real time (rounded up to a millisecond). A signal
// may end it early. Without a descriptor (-1) nothing ends it early: use a short `at_most` then.
void await_readable(int descriptor, Duration at_most) noexcept;

}  // namespace agentcore::detail::platform
