// spawn: starts a program in a process group of its own, with pipes to it.
#pragma once

#include "tools/descriptor.hpp"

#include <agentcore/subprocess.hpp>

#include <string>

#include <sys/types.h>

namespace agentcore::tools {

// Our ends of the pipes do not block.
struct Spawned {
  pid_t pid = -1;     // -1: it was not started
  std::string error;  // why
  Descriptor input;   // none: the command has no input, and the program reads /dev/null
  Descriptor output;
  Descriptor errors;
};

// Returns when the program runs, or is known not to. It gets default signal handlers and an empty signal mask
// whatever the host has, and no descriptor but its three where the system can do that (glibc 2.34).
Spawned spawn(const SubprocessCommand& command);

// A descriptor that is readable when `pid`, which is not reaped, has ended; none where the system cannot.
Descriptor open_exit_descriptor(pid_t pid) noexcept;

}  // namespace agentcore::tools
