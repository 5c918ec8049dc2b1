# macOS on arm64 (or AGENTCORE_MACOS_ARCH=x86_64), from Linux: the compiler of ziglang, which brings the headers of macOS.
# The environment variable AGENTCORE_ZIG_PYTHON is a Python with the package ziglang, while CMake configures and while it
# builds. Nothing here can run the result. See docs/platforms.md.

set(AGENTCORE_MACOS_ARCH aarch64 CACHE STRING "aarch64 or x86_64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AGENTCORE_MACOS_ARCH)
set(zig_python "$ENV{AGENTCORE_ZIG_PYTHON}")
if(NOT zig_python)
  set(zig_python "${CMAKE_CURRENT_LIST_DIR}/../../build/zig/bin/python3")
endif()

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR "${AGENTCORE_MACOS_ARCH}")
set(CMAKE_CXX_COMPILER "${zig_python}" -m ziglang c++ -target ${AGENTCORE_MACOS_ARCH}-macos)
set(CMAKE_AR "${CMAKE_CURRENT_LIST_DIR}/zig-ar")
set(CMAKE_RANLIB "${CMAKE_CURRENT_LIST_DIR}/zig-ranlib")

set(CMAKE_FIND_ROOT_PATH "${CMAKE_BINARY_DIR}/headers")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
include("${CMAKE_CURRENT_LIST_DIR}/headers.cmake")
