// Declares nlohmann::json, and checks that it is the type with which the library was built.
#pragma once

#include <nlohmann/json_fwd.hpp>

// The functions of the library have the type in their names, and the type has the version of nlohmann-json
// and some of its macros in its name: what differs would fail to link. AGENTCORE_JSON_ABI comes with the
// CMake targets and the pkg-config files: the version with which the library was built (31102: 3.11.2) times
// 100, plus 1 with JSON_DIAGNOSTICS, 2 with JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON, 4 with
// JSON_DIAGNOSTIC_POSITIONS and 8 with NLOHMANN_JSON_NAMESPACE_NO_VERSION.
#if defined(AGENTCORE_JSON_ABI)

#define AGENTCORE_JSON_BUILT_WITH(bit) (AGENTCORE_JSON_ABI % 100 / (bit) % 2 == 1)

#if NLOHMANN_JSON_VERSION_MAJOR * 10000 + NLOHMANN_JSON_VERSION_MINOR * 100 + NLOHMANN_JSON_VERSION_PATCH != \
    AGENTCORE_JSON_ABI / 100
#error \
    "agentcore was built with another version of nlohmann-json (AGENTCORE_JSON_ABI) than the one that is \
included here: include that one, or build agentcore again with yours"
#endif

#if JSON_DIAGNOSTICS && !AGENTCORE_JSON_BUILT_WITH(1)
#error \
    "JSON_DIAGNOSTICS is set here, and agentcore was built without it: do not set it, or build agentcore \
again with CXXFLAGS=-DJSON_DIAGNOSTICS=1"
#elif !JSON_DIAGNOSTICS && AGENTCORE_JSON_BUILT_WITH(1)
#error \
    "agentcore was built with JSON_DIAGNOSTICS=1, which is not set here: set it for all files, or build \
agentcore again without it"
#endif

#if JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON && !AGENTCORE_JSON_BUILT_WITH(2)
#error \
    "JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON is set here, and agentcore was built without it: do not set \
it, or build agentcore again with CXXFLAGS=-DJSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON=1"
#elif !JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON && AGENTCORE_JSON_BUILT_WITH(2)
#error \
    "agentcore was built with JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON=1, which is not set here: set it \
for all files, or build agentcore again without it"
#endif

#if JSON_DIAGNOSTIC_POSITIONS && !AGENTCORE_JSON_BUILT_WITH(4)
#error \
    "JSON_DIAGNOSTIC_POSITIONS is set here, and agentcore was built without it: do not set it, or build \
agentcore again with CXXFLAGS=-DJSON_DIAGNOSTIC_POSITIONS=1"
#elif !JSON_DIAGNOSTIC_POSITIONS && AGENTCORE_JSON_BUILT_WITH(4)
#error \
    "agentcore was built with JSON_DIAGNOSTIC_POSITIONS=1, which is not set here: set it for all files, or \
build agentcore again without it"
#endif

#if NLOHMANN_JSON_NAMESPACE_NO_VERSION && !AGENTCORE_JSON_BUILT_WITH(8)
#error \
    "NLOHMANN_JSON_NAMESPACE_NO_VERSION is set here, and agentcore was built without it: do not set it, or \
build agentcore again with CXXFLAGS=-DNLOHMANN_JSON_NAMESPACE_NO_VERSION=1"
#elif !NLOHMANN_JSON_NAMESPACE_NO_VERSION && AGENTCORE_JSON_BUILT_WITH(8)
#error \
    "agentcore was built with NLOHMANN_JSON_NAMESPACE_NO_VERSION=1, which is not set here: set it for all \
files, or build agentcore again without it"
#endif

#undef AGENTCORE_JSON_BUILT_WITH

#endif
