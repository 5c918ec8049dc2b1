// What the rest of the library uses of the poller: events of descriptors, and who gets them.
#pragma once

#include "platform/poller.hpp"

namespace agentcore::detail::loop {

using platform::has;
using platform::IoEvents;
using platform::IoHandler;

}  // namespace agentcore::detail::loop
