// The version of the library.
#pragma once

/// The version of the library, in three numbers, for the preprocessor.
#define AGENTCORE_VERSION_MAJOR 0
#define AGENTCORE_VERSION_MINOR 1
#define AGENTCORE_VERSION_PATCH 0

namespace agentcore {
/// The version of the library as text: "MAJOR.MINOR.PATCH".
inline constexpr const char* version = "0.1.0";
}  // namespace agentcore
