# For projects that contain agentcore: nothing of the parent's may change.

enable_testing()
add_test(NAME parents COMMAND "${CMAKE_COMMAND}" -E true)
install(FILES CMakeLists.txt DESTINATION .)
set(CMAKE_MODULE_PATH "${CMAKE_CURRENT_SOURCE_DIR}")
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -DPARENT")
set(BUILD_SHARED_LIBS OFF)
add_compile_options(-DPARENTS_OPTION)

set(parent_properties COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES INCLUDE_DIRECTORIES LINK_DIRECTORIES
  LINK_LIBRARIES LINK_OPTIONS TESTS BUILDSYSTEM_TARGETS)

# parent_remember(): remembers all variables, those of the cache too, and the properties of the folder.
macro(parent_remember)
  get_directory_property(parent_variables VARIABLES)
  list(FILTER parent_variables EXCLUDE REGEX
    "^(parent_|FETCHCONTENT_|CMAKE_CURRENT_|CMAKE_FILES_DIRECTORY|CMAKE_PARENT_|prefix_result$)")  # the last is of CMake's FindPkgConfig
  foreach(parent_variable IN LISTS parent_variables)
    set(parent_old_${parent_variable} "${${parent_variable}}")
  endforeach()
  foreach(parent_property IN LISTS parent_properties)
    get_directory_property(parent_old_property_${parent_property} ${parent_property})
  endforeach()
  get_cmake_property(parent_cached CACHE_VARIABLES)
endmacro()

# parent_expect_unchanged(): fails if one of them has another value now, or a variable that changes builds is new, or one of
# the cache that is neither of agentcore nor of a package that CMake has found for it.
macro(parent_expect_unchanged)
  foreach(parent_variable IN LISTS parent_variables)
    if(NOT "${${parent_variable}}" STREQUAL "${parent_old_${parent_variable}}")
      message(SEND_ERROR "the parent's ${parent_variable} was '${parent_old_${parent_variable}}', and is '${${parent_variable}}'")
    endif()
  endforeach()
  foreach(parent_property IN LISTS parent_properties)
    get_directory_property(parent_new ${parent_property})
    if(NOT "${parent_new}" STREQUAL "${parent_old_property_${parent_property}}")
      message(SEND_ERROR "the parent's ${parent_property} was '${parent_old_property_${parent_property}}', and is '${parent_new}'")
    endif()
  endforeach()
  get_directory_property(parent_now VARIABLES)
  list(FILTER parent_now INCLUDE REGEX "^(CMAKE_(CXX|BUILD|EXPORT|INTER|POSITION|MODULE|PREFIX|.*LINKER|UNITY)|BUILD_)")
  list(REMOVE_ITEM parent_now ${parent_variables})
  if(parent_now)
    message(SEND_ERROR "the parent has new variables: ${parent_now}")
  endif()
  get_cmake_property(parent_now CACHE_VARIABLES)
  list(FILTER parent_now EXCLUDE REGEX
    "^(AGENTCORE_|agentcore_|FETCHCONTENT_|FIND_PACKAGE_MESSAGE_|CMAKE_HAVE_|CMAKE_PROJECT_VERSION|PKG_CONFIG_|__pkg_config_|prefix_result$|GIT_EXECUTABLE$|boost_headers_DIR$|pkgcfg_lib_|_?(PC_)?(Boost|CURL|CLI11|OPENSSL|OpenSSL|SQLite3|fmt|nlohmann_json|re2|RE2|simdjson)_)")
  list(REMOVE_ITEM parent_now ${parent_cached} CMAKE_INSTALL_DEFAULT_COMPONENT_NAME)
  if(parent_now)
    message(SEND_ERROR "the parent's cache has new variables: ${parent_now}")
  endif()
endmacro()
