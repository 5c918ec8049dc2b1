// The routes of the page's files, which are in the program.
#include "console/page_files.hpp"
#include "console/routes/router.hpp"

#include <string>

namespace agentcore::detail::console {
namespace {

Response file_response(const PageFile& file) {
  return {.content_type = file.content_type, .body = std::string(file.bytes)};
}

std::optional<Response> show_file(RouteCall& call) {
  const std::string& name = call.request.path.front();
  for (const PageFile& file : page_files())
    if (file.name == (name.empty() ? "index.html" : name)) return file_response(file);
  return std::nullopt;
}

}  // namespace

std::vector<Route> page_routes() {
  std::vector<Route> routes{{"GET", "/", RouteUse::open, show_file}};
  for (const PageFile& file : page_files()) routes.push_back({"GET", file.path, RouteUse::open, show_file});
  return routes;
}

}  // namespace agentcore::detail::console
