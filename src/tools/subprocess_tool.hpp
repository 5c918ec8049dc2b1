// subprocess_tool: make_subprocess_tool() with a choice of how the end of a program is detected, for tests.
#pragma once

#include "process/process.hpp"

#include <agentcore/subprocess.hpp>

namespace agentcore::detail::tools {

Tool subprocess_tool(ToolSpec spec, SubprocessOptions options, process::ExitWatch watch);

}  // namespace agentcore::detail::tools
