// spawn: starts a program in a process group of its own, with pipes to it.
#pragma once

#include "platform/process_system.hpp"

namespace agentcore::detail::platform {

// ProcessSystem::spawn() and open_exit_descriptor() of the system.
Spawned spawn(const SubprocessCommand& command);
Descriptor open_exit_descriptor(ProcessId pid) noexcept;

}  // namespace agentcore::detail::platform
