// The version of the library.
#pragma once

#define AGENTCORE_VERSION_MAJOR 0
#define AGENTCORE_VERSION_MINOR 1
#define AGENTCORE_VERSION_PATCH 0

namespace agentcore {
inline constexpr const char* version = "0.1.0";
}
