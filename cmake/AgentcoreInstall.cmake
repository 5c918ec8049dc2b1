# Install rules: library, headers, CMake package, pkg-config file, documents and examples.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/agentcore")
install(TARGETS agentcore EXPORT agentcoreTargets FILE_SET HEADERS)
if(AGENTCORE_HAS_STORE)
  install(TARGETS agentcore_store EXPORT agentcoreStoreTargets)
  # A file of its own, for the component "store".
  install(EXPORT agentcoreStoreTargets NAMESPACE agentcore:: DESTINATION "${config_dir}")
endif()
if(AGENTCORE_HAS_CONSOLE)
  install(TARGETS agentcore_console EXPORT agentcoreConsoleTargets)
  install(EXPORT agentcoreConsoleTargets NAMESPACE agentcore:: DESTINATION "${config_dir}")
endif()
install(EXPORT agentcoreTargets NAMESPACE agentcore:: DESTINATION "${config_dir}")

# A static library passes its dependencies on to its consumers.
get_target_property(library_type agentcore TYPE)
set(pc_store_private "sqlite3 >= ${AGENTCORE_SQLITE_VERSION} libcrypto >= ${AGENTCORE_OPENSSL_VERSION}")
set(pc_private "libcurl simdjson fmt")
if(AGENTCORE_HAS_RE2)
  string(APPEND pc_private " re2")
endif()
if(library_type STREQUAL "STATIC_LIBRARY")
  set(AGENTCORE_IS_STATIC TRUE)
  set(pc_requires "Requires: nlohmann_json ${pc_private}")
  set(pc_store_requires "Requires: agentcore = ${PROJECT_VERSION} ${pc_store_private}")
else()
  set(AGENTCORE_IS_STATIC FALSE)
  set(pc_requires "Requires: nlohmann_json\nRequires.private: ${pc_private}")
  set(pc_store_requires "Requires: agentcore = ${PROJECT_VERSION}\nRequires.private: ${pc_store_private}")
endif()

configure_package_config_file(cmake/agentcoreConfig.cmake.in
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" "${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  DESTINATION "${config_dir}")
if(AGENTCORE_IS_STATIC AND AGENTCORE_HAS_RE2)
  install(FILES cmake/AgentcoreRe2.cmake DESTINATION "${config_dir}")
endif()

# Found relative to the file itself, so that an installation can be moved.
cmake_path(SET pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "/root/${pc_dir}" "/root")
configure_file(cmake/agentcore.pc.in "${PROJECT_BINARY_DIR}/agentcore.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/agentcore.pc" DESTINATION "${pc_dir}")
if(AGENTCORE_HAS_STORE)
  configure_file(cmake/agentcore-store.pc.in "${PROJECT_BINARY_DIR}/agentcore-store.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/agentcore-store.pc" DESTINATION "${pc_dir}")
endif()
if(AGENTCORE_HAS_CONSOLE)
  configure_file(cmake/agentcore-console.pc.in "${PROJECT_BINARY_DIR}/agentcore-console.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/agentcore-console.pc" DESTINATION "${pc_dir}")
endif()

# Placed as in the source tree, so that the links from README to the documents and examples are valid.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}")
