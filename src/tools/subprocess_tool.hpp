// subprocess_tool: make_subprocess_tool() with a choice of how the end of a program is noticed, for tests.
#pragma once

#include "tools/process.hpp"

#include <agentcore/subprocess.hpp>

namespace agentcore::tools {

Tool subprocess_tool(ToolSpec spec, SubprocessOptions options, ExitWatch watch);

}  // namespace agentcore::tools
