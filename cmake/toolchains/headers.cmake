# The libraries that agentcore::core needs are headers alone, so a cross build uses those of this machine. Each has a link
# in a folder of the build tree: /usr/include itself must not be searched, as it has the headers of this system.

set(AGENTCORE_HEADERS_FROM /usr/include CACHE PATH "Where fmt, nlohmann, valijson and catch2 are")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AGENTCORE_HEADERS_FROM)
set(AGENTCORE_CROSS_HEADERS "${CMAKE_BINARY_DIR}/headers")
foreach(library IN ITEMS fmt nlohmann valijson catch2)
  if(EXISTS "${AGENTCORE_HEADERS_FROM}/${library}" AND NOT EXISTS "${AGENTCORE_CROSS_HEADERS}/${library}")
    file(MAKE_DIRECTORY "${AGENTCORE_CROSS_HEADERS}")
    file(CREATE_LINK "${AGENTCORE_HEADERS_FROM}/${library}" "${AGENTCORE_CROSS_HEADERS}/${library}" SYMBOLIC)
  endif()
endforeach()

set(fmt_DIR "${CMAKE_CURRENT_LIST_DIR}/packages")
set(nlohmann_json_DIR "${CMAKE_CURRENT_LIST_DIR}/packages")
set(Catch2_DIR "${CMAKE_CURRENT_LIST_DIR}/packages")
set(AGENTCORE_VALIJSON_INCLUDE_DIR "${AGENTCORE_CROSS_HEADERS}" CACHE PATH "")
