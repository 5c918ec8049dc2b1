# Settings for agentcore as the main project, not as a part of another one.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(AGENTCORE_CCACHE ccache)
  if(AGENTCORE_CCACHE)
    # Otherwise ccache does not cache files that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${AGENTCORE_CCACHE}")
  endif()
endif()

# Sanitizers must see the tests too, so they apply to the whole build tree. The check of vptrs is left out: it opens a
# pipe to read the memory of an object, so it reports an error in a process that has no descriptor left.
if(AGENTCORE_SANITIZE)
  add_compile_options(-fsanitize=${AGENTCORE_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${AGENTCORE_SANITIZE})
endif()

# A linker that is several times faster than the default one, which alone can do the link-time optimization of g++.
if(NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  find_program(AGENTCORE_LLD ld.lld)
  if(AGENTCORE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
