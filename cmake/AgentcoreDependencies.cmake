# Libraries from the distribution. scripts/setup installs them on Debian and Ubuntu.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)  # header only; no consumer needs it
if(AGENTCORE_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(OpenSSL REQUIRED)  # TLS servers that misbehave
endif()
