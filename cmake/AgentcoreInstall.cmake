# Install rules: library, headers, CMake package, pkg-config file.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/agentcore")
install(TARGETS agentcore EXPORT agentcoreTargets FILE_SET HEADERS)
install(EXPORT agentcoreTargets NAMESPACE agentcore:: DESTINATION "${config_dir}")

# A static library hands its dependencies on to whoever links it.
get_target_property(library_type agentcore TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(AGENTCORE_IS_STATIC TRUE)
  set(pc_requires "Requires: nlohmann_json libcurl simdjson fmt")
else()
  set(AGENTCORE_IS_STATIC FALSE)
  set(pc_requires "Requires: nlohmann_json\nRequires.private: libcurl simdjson fmt")
endif()

configure_package_config_file(cmake/agentcoreConfig.cmake.in
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/agentcoreConfig.cmake" "${PROJECT_BINARY_DIR}/agentcoreConfigVersion.cmake"
  DESTINATION "${config_dir}")

# Found from the file's own place, so that an installation can be moved.
cmake_path(SET pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "/root/${pc_dir}" "/root")
configure_file(cmake/agentcore.pc.in "${PROJECT_BINARY_DIR}/agentcore.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/agentcore.pc" DESTINATION "${pc_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
