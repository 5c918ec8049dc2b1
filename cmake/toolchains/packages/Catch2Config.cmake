# For cross builds: see ../headers.cmake. Catch2 2, which is headers alone.
if(NOT EXISTS "${AGENTCORE_CROSS_HEADERS}/catch2/catch.hpp")
  set(Catch2_FOUND FALSE)
  return()
endif()
if(NOT TARGET Catch2::Catch2)
  add_library(Catch2::Catch2 INTERFACE IMPORTED)
  target_include_directories(Catch2::Catch2 INTERFACE "${AGENTCORE_CROSS_HEADERS}")
endif()
