# Libraries from the distribution. scripts/setup installs them on Debian and Ubuntu.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)  # header only; no consumer needs it
# For `pattern` in the schemas of tools; without it such schemas are refused.
if(NOT AGENTCORE_WITH_RE2 STREQUAL "OFF")
  include(AgentcoreRe2)
  if(NOT TARGET re2::re2 AND NOT AGENTCORE_WITH_RE2 STREQUAL "AUTO")
    message(FATAL_ERROR "RE2 was not found: install it (Debian: libre2-dev), or set AGENTCORE_WITH_RE2=OFF")
  endif()
endif()
if(TARGET re2::re2)
  set(AGENTCORE_HAS_RE2 TRUE)
else()
  set(AGENTCORE_HAS_RE2 FALSE)
  message(STATUS "agentcore is built without RE2: tools whose schemas have a `pattern` are refused")
endif()
if(AGENTCORE_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(OpenSSL REQUIRED)  # TLS servers that misbehave
endif()
