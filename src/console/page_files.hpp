// The files of src/console/page/, which the build puts into the library.
#pragma once

#include <span>
#include <string_view>

namespace agentcore::detail::console {

struct PageFile {
  std::string_view name;          // "app.css"
  std::string_view path;          // "/app.css"
  std::string_view content_type;  // "text/css; charset=utf-8"
  std::string_view bytes;
};

std::span<const PageFile> page_files() noexcept;

}  // namespace agentcore::detail::console
