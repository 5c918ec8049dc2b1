# Install rules: libraries, headers, CMake package, pkg-config files, documents and examples.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/agentcore")
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
# Relative to the file itself, so that an installation can be moved; folders that are given as absolute paths stay there.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH pc_prefix "/root/${pc_dir}" "/root")
  set(pc_prefix "\${pcfiledir}/${pc_prefix}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# A static library passes its dependencies on to its consumers.
get_target_property(library_type agentcore_core TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(AGENTCORE_IS_STATIC TRUE)
else()
  set(AGENTCORE_IS_STATIC FALSE)
endif()

# agentcore_install_pc(NAME DESCRIPTION text [REQUIRES ...] [PRIVATE ...] [LIBS ...] [CFLAGS ...]): writes NAME.pc and
# installs it. PRIVATE: what the library uses and its consumers do not. With shared libraries it is left out: pkg-config
# demands the .pc files even of Requires.private, and the static libraries that it is for are not installed. With static
# ones it becomes Libs, as pkg-config gives them now: in Requires, `pkg-config --static` would add what a static libcurl
# needs, and Debian installs none of that.
function(agentcore_install_pc pc_name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "REQUIRES;PRIVATE;LIBS;CFLAGS")
  set(pc_description "${arg_DESCRIPTION}")
  if(AGENTCORE_IS_STATIC AND arg_PRIVATE)
    find_package(PkgConfig QUIET)
    set(unknown TRUE)
    if(PKG_CONFIG_EXECUTABLE)
      list(JOIN arg_PRIVATE ", " private)
      execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --libs "${private}"
        RESULT_VARIABLE unknown OUTPUT_VARIABLE private_libs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    if(unknown)
      list(APPEND arg_REQUIRES ${arg_PRIVATE})
    else()
      list(APPEND arg_LIBS ${private_libs})
    endif()
  endif()
  set(pc_fields "")
  foreach(field IN ITEMS Requires=REQUIRES Libs=LIBS Cflags=CFLAGS)
    string(REPLACE "=" ";" field "${field}")
    list(POP_BACK field argument)
    if(arg_${argument})
      list(JOIN arg_${argument} " " value)
      list(APPEND pc_fields "${field}: ${value}")
    endif()
  endforeach()
  list(JOIN pc_fields "\n" pc_fields)
  configure_file(cmake/agentcore-component.pc.in "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${pc_dir}")
endfunction()

# agentcore_install_component(NAME DESCRIPTION text [REQUIRES ...] [PRIVATE ...] [CFLAGS ...]): the library or headers, its export set,
# and agentcore-NAME.pc.
function(agentcore_install_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "REQUIRES;PRIVATE;CFLAGS")
  install(TARGETS agentcore_${name} EXPORT agentcore_${name} FILE_SET HEADERS)
  install(EXPORT agentcore_${name} NAMESPACE agentcore:: DESTINATION "${config_dir}"
    FILE agentcore-${name}-targets.cmake)
  get_target_property(type agentcore_${name} TYPE)
  set(libs "")
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    set(libs LIBS "-L\${libdir}" -lagentcore_${name} -pthread)
    if(WIN32)
      list(APPEND libs -lws2_32)
    endif()
  endif()
  agentcore_install_pc(agentcore-${name} DESCRIPTION "${arg_DESCRIPTION}"
    REQUIRES ${arg_REQUIRES} PRIVATE ${arg_PRIVATE} ${libs} CFLAGS "-I\${includedir}" -pthread ${arg_CFLAGS})
endfunction()

set(same_core "agentcore-core = ${PROJECT_VERSION}")
# The types of nlohmann-json in functions have its version in their names.
set(same_json "")
if(nlohmann_json_VERSION)
  set(same_json " = ${nlohmann_json_VERSION}")
endif()
set(json_abi "")
if(AGENTCORE_JSON_ABI)
  set(json_abi -DAGENTCORE_JSON_ABI=${AGENTCORE_JSON_ABI})
endif()
set(pattern_library "")
if(AGENTCORE_HAS_RE2)
  set(pattern_library re2)
endif()
agentcore_install_component(core DESCRIPTION "Agents, turns and tools of agentcore, without HTTP"
  REQUIRES "nlohmann_json${same_json}" PRIVATE ${pattern_library} CFLAGS ${json_abi})
agentcore_install_component(testing DESCRIPTION "For tests of programs that use agentcore"
  REQUIRES "${same_core}")
set(whole "${same_core}")
if(AGENTCORE_HAS_HTTP)
  agentcore_install_component(http DESCRIPTION "Clients of models over HTTP, for agentcore"
    REQUIRES "${same_core}" PRIVATE "libcurl >= ${AGENTCORE_CURL_VERSION}" simdjson fmt)
  list(APPEND whole "agentcore-http = ${PROJECT_VERSION}")
endif()
if(AGENTCORE_HAS_STORE)
  agentcore_install_component(store DESCRIPTION "Keeps agents of agentcore in SQLite files"
    REQUIRES "${same_core}" PRIVATE "sqlite3 >= ${AGENTCORE_SQLITE_VERSION}")
endif()
if(AGENTCORE_HAS_RECEIPTS)
  agentcore_install_component(receipts DESCRIPTION "Writes receipts of stops of agents of agentcore, and verifies them"
    REQUIRES "${same_core}" PRIVATE "libcrypto >= ${AGENTCORE_OPENSSL_VERSION}")
endif()
if(AGENTCORE_HAS_CONSOLE)
  agentcore_install_component(console
    DESCRIPTION "Shows agents of agentcore on a web page and over HTTP, and stops any of them" REQUIRES "${same_core}")
endif()
agentcore_install_pc(agentcore DESCRIPTION "${PROJECT_DESCRIPTION}" REQUIRES ${whole})

configure_package_config_file(cmake/agentcoreConfig.cmake.in
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" "${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  cmake/json_check.cpp DESTINATION "${config_dir}")
if(AGENTCORE_IS_STATIC AND AGENTCORE_HAS_RE2)
  install(FILES cmake/AgentcoreRe2.cmake DESTINATION "${config_dir}")
endif()

# Placed as in the source tree, so that the links from README to the documents and examples are valid.
if(AGENTCORE_INSTALL_DOCS)
  install(FILES README.md CHANGELOG.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
