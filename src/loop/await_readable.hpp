// await_readable: the one wait that is not the loop's, for what has to be over before a destructor returns.
#pragma once

#include <agentcore/clock.hpp>

namespace agentcore::loop {

// Blocks until `descriptor` is readable, for `at_most` of real time (rounded up to a millisecond). A signal
// may end it early. Without a descriptor (-1) nothing wakes it, so ask for little then.
void await_readable(int descriptor, Duration at_most) noexcept;

}  // namespace agentcore::loop
