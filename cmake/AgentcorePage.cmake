# Writes the files of a folder into a C++ source. Run as a script:
#   cmake -D FOLDER=... -D OUTPUT=... -P AgentcorePage.cmake

function(content_type name result)
  if(name MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(name MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(name MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(name MATCHES "\\.json$")
    set(type "application/json")
  elseif(name MATCHES "\\.svg$")
    set(type "image/svg+xml")
  else()
    message(FATAL_ERROR "${name}: files of the page end with .html, .css, .js, .json or .svg")
  endif()
  set(${result} "${type}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(table "")
set(number 0)
file(GLOB files "${FOLDER}/*")
list(SORT files)
foreach(file IN LISTS files)
  math(EXPR number "${number} + 1")
  cmake_path(GET file FILENAME name)
  content_type("${name}" type)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char file_${number}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", \"/${name}\", \"${type}\", text(file_${number})},\n")
endforeach()

file(WRITE "${OUTPUT}" "// Written by cmake/AgentcorePage.cmake.
#include \"console/page_files.hpp\"

namespace agentcore::detail::console {
namespace {

${arrays}
template <unsigned long Size>
std::string_view text(const unsigned char (&bytes)[Size]) noexcept {
  return {reinterpret_cast<const char*>(bytes), Size};
}

const PageFile files[] = {
${table}};

}  // namespace

std::span<const PageFile> page_files() noexcept {
  return files;
}

}  // namespace agentcore::detail::console
")
