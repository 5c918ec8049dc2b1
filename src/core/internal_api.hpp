// AGENTCORE_INTERNAL_API: marks what the library core exports for the other libraries of agentcore and for
// its programs. Hosts must not use it: it changes from version to version.
#pragma once

#include <agentcore/export.hpp>

#define AGENTCORE_INTERNAL_API AGENTCORE_API
