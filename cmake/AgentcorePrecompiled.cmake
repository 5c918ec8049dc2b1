# Turns precompiled headers off where g++ cannot use them: it writes and reads them at a fixed address, which is not
# free on every machine. The build takes longer then, and is the same otherwise.

if(NOT DEFINED AGENTCORE_PRECOMPILED_WORK AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/agentcore_precompiled")
  file(WRITE "${folder}/check.hpp" "#include <functional>\n#include <map>\n#include <regex>\n#include <vector>\n")
  file(WRITE "${folder}/check.cpp" "int main() { return static_cast<int>(std::map<int, int>().size()); }\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -x c++-header check.hpp -o check.hpp.gch
    WORKING_DIRECTORY "${folder}" RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT failed)
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -Winvalid-pch -Werror -include check.hpp -fsyntax-only check.cpp
      WORKING_DIRECTORY "${folder}" RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  file(REMOVE "${folder}/check.hpp.gch")  # 60 MB
  if(failed)
    message(STATUS "Precompiled headers are off, because the compiler cannot use them here: ${said}")
    set(AGENTCORE_PRECOMPILED_WORK OFF CACHE INTERNAL "The compiler can use precompiled headers")
  else()
    set(AGENTCORE_PRECOMPILED_WORK ON CACHE INTERNAL "The compiler can use precompiled headers")
  endif()
endif()

if(DEFINED AGENTCORE_PRECOMPILED_WORK AND NOT AGENTCORE_PRECOMPILED_WORK)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
