# For cross builds: see ../headers.cmake.
if(NOT TARGET fmt::fmt)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
  target_include_directories(fmt::fmt INTERFACE "${AGENTCORE_CROSS_HEADERS}")
endif()
