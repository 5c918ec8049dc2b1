// spawn: starts a program in a process group of its own, with pipes to it.
#pragma once

#include "platform/descriptor.hpp"
#include "platform/process_group.hpp"

#include <agentcore/subprocess.hpp>

#include <string>

namespace agentcore::detail::platform {

// The host's ends of the pipes do not block.
struct Spawned {
  ProcessId pid = -1;  // -1: it was not started
  std::string error;   // why
  Descriptor input;    // none: the command has no input, and the program reads /dev/null
  Descriptor output;
  Descriptor errors;
};

// Returns when the program runs, or its start has failed. It gets default signal handlers and an empty signal
// mask, whatever the host has, and no descriptor but its three where the system supports that (glibc 2.34).
// On Windows no program is started.
Spawned spawn(const SubprocessCommand& command);

// A descriptor that becomes readable when `pid`, which is not reaped, has ended; none where the system has no
// pidfd.
Descriptor open_exit_descriptor(ProcessId pid) noexcept;

}  // namespace agentcore::detail::platform
