# The target re2::re2: by RE2's own CMake package where there is one, else by pkg-config (Debian 12). Installed with
# agentcore's package, for a static library needs it again.

if(NOT TARGET re2::re2)
  find_package(re2 CONFIG QUIET)
endif()
if(NOT TARGET re2::re2)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(AGENTCORE_RE2 QUIET IMPORTED_TARGET re2)
  endif()
  if(TARGET PkgConfig::AGENTCORE_RE2)
    add_library(re2::re2 INTERFACE IMPORTED)
    target_link_libraries(re2::re2 INTERFACE PkgConfig::AGENTCORE_RE2)
  endif()
endif()
