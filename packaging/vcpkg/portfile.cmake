# An overlay port: it builds the source tree that it stands in. For a release in a registry, replace this line by
#   vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO OWNER/agentcore REF "v${VERSION}" SHA512 ...)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# vcpkg_check_features can only turn an option ON or OFF; AUTO would use what happens to be installed.
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    http AGENTCORE_WITH_HTTP
    store AGENTCORE_WITH_SQLITE
    receipts AGENTCORE_WITH_RECEIPTS
    console AGENTCORE_WITH_CONSOLE
    re2 AGENTCORE_WITH_RE2)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DAGENTCORE_BUILD_TESTS=OFF
    -DAGENTCORE_BUILD_APPS=OFF
    -DAGENTCORE_BUILD_EXAMPLES=OFF
    -DAGENTCORE_INSTALL_DOCS=OFF
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/agentcore)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
