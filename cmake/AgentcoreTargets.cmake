# Helpers that every target of this project uses.

# Language level and warnings. PRIVATE: a consumer keeps its own.
function(agentcore_set_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  if(PROJECT_IS_TOP_LEVEL)
    # g++ 12 reports these wrongly where it inlines std::string (its bugs 105329, 105651, 105593).
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized;-Wno-array-bounds>"
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-stringop-overread>"
      $<$<BOOL:${AGENTCORE_WERROR}>:-Werror>)
  endif()
endfunction()

# An executable or library inside the project: can use components of agentcore, JSON and text formatting.
function(agentcore_link_internal target)
  agentcore_set_options(${target})
  target_link_libraries(${target} PRIVATE ${ARGN} nlohmann_json::nlohmann_json fmt::fmt)
endfunction()

# simdjson turns its development checks on where nothing is optimized, and its classes are larger then. They
# are off everywhere, so that the library and the tests that use its internal headers have the same classes
# whatever their flags are.
set(AGENTCORE_SIMDJSON_DEFINITIONS SIMDJSON_DEVELOPMENT_CHECKS=0)

# Only tests, benchmarks and apps/store may include src/ and its dependencies.
function(agentcore_open_internals target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE ${AGENTCORE_SIMDJSON_DEFINITIONS})
  target_link_libraries(${target} PRIVATE CURL::libcurl simdjson::simdjson)
endfunction()
