// The routes of the page's files, which are in the program.
#include "console/page_files.hpp"
#include "console/routes/router.hpp"

#include <cstddef>
#include <string>
#include <string_view>

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

// With the name of the cookie that this console sets.
std::optional<Response> show_openapi(RouteCall& call) {
  std::optional<Response> response = show_file(call);
  constexpr std::string_view name = "agentcore_session_8700";
  if (const std::size_t at = response->body.find(name); at != std::string::npos)
    response->body.replace(at, name.size(), call.core.access.cookie_name());
  return response;
}

}  // namespace

std::vector<Route> page_routes() {
  std::vector<Route> routes{{"GET", "/", RouteUse::open, show_file, Waits::never, false, "*"}};
  for (const PageFile& file : page_files())
    routes.push_back({"GET", file.path, RouteUse::open,
                      file.name == "openapi.json" ? show_openapi : show_file, Waits::never, false, "*"});
  return routes;
}

}  // namespace agentcore::detail::console
