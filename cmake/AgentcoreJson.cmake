# Sets AGENTCORE_JSON_ABI: which nlohmann-json the library is compiled with, for include/agentcore/json_fwd.hpp. Empty where
# that is not known: where nlohmann-json is built by the project around, too, all of it has the same one.

# What try_compile() does not know of this directory. Generator expressions are left out.
get_directory_property(json_definitions COMPILE_DEFINITIONS)
get_directory_property(json_includes INCLUDE_DIRECTORIES)
list(FILTER json_definitions EXCLUDE REGEX "\\$<")
list(FILTER json_includes EXCLUDE REGEX "\\$<")
get_target_property(json_is_installed nlohmann_json::nlohmann_json IMPORTED)

set(json_key "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS} ${json_definitions} ${json_includes} ${nlohmann_json_DIR}")
if(NOT json_is_installed)
  set(AGENTCORE_JSON_ABI "")
elseif(NOT "${AGENTCORE_JSON_ABI_OF}" STREQUAL json_key)
  list(TRANSFORM json_definitions PREPEND -D)
  set(json_program "${PROJECT_BINARY_DIR}/CMakeFiles/agentcore_json_abi")
  try_compile(AGENTCORE_JSON_IS_KNOWN "${json_program}.dir" SOURCES "${CMAKE_CURRENT_LIST_DIR}/json_abi.cpp"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${json_includes}" COMPILE_DEFINITIONS ${json_definitions}
    LINK_LIBRARIES nlohmann_json::nlohmann_json CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    OUTPUT_VARIABLE json_output COPY_FILE "${json_program}")
  set(json_text "")
  if(AGENTCORE_JSON_IS_KNOWN)
    file(STRINGS "${json_program}" json_text REGEX "agentcore_json_abi:[0-9]+" LIMIT_COUNT 1)
  endif()
  unset(AGENTCORE_JSON_IS_KNOWN CACHE)
  if(NOT json_text MATCHES "agentcore_json_abi:0*([0-9]+)")
    message(FATAL_ERROR "the version of nlohmann-json was not found:\n${json_output}")
  endif()
  set(AGENTCORE_JSON_ABI "${CMAKE_MATCH_1}" CACHE INTERNAL "")
  set(AGENTCORE_JSON_ABI_OF "${json_key}" CACHE INTERNAL "")
endif()
