# Sets AGENTCORE_VERSION from include/agentcore/version.hpp, the one place where it is written.

set(version_header "${CMAKE_CURRENT_LIST_DIR}/../include/agentcore/version.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")
file(READ "${version_header}" text)

set(parts "")
foreach(part IN ITEMS MAJOR MINOR PATCH)
  if(NOT text MATCHES "#define AGENTCORE_VERSION_${part} ([0-9]+)")
    message(FATAL_ERROR "no AGENTCORE_VERSION_${part} in ${version_header}")
  endif()
  list(APPEND parts "${CMAKE_MATCH_1}")
endforeach()
list(JOIN parts "." AGENTCORE_VERSION)

if(NOT text MATCHES "version = \"([0-9.]+)\";" OR NOT CMAKE_MATCH_1 STREQUAL AGENTCORE_VERSION)
  message(FATAL_ERROR "${version_header}: version and its parts (${AGENTCORE_VERSION}) differ")
endif()
