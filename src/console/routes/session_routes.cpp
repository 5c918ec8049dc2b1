// The routes of the login, and of what is known without one.
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"

#include <agentcore/version.hpp>

#include <utility>

namespace agentcore::detail::console {
namespace {

std::optional<Response> show_session(RouteCall& call) {
  const Access& access = call.core.access;
  const std::string_view login = !access.needs_token()                                        ? "none"
                                 : access.is_logged_in(call.request, call.core.engine->now()) ? "done"
                                                                                              : "required";
  return json_response(
      {{"login", login}, {"tree", call.core.tree != nullptr}, {"version", agentcore::version}});
}

std::optional<Response> log_in(RouteCall& call) {
  const Arguments arguments(call.request, {"token"});
  const std::string cookie = call.core.access.log_in(arguments.text("token"), call.core.engine->now());
  if (cookie.empty()) {
    call.core.engine->log(LogLevel::warning, "console: a login was refused",
                          {{"client", call.request.client}});
    throw Refused(401, "unauthorized", "this is not the token of the console");
  }
  Response response = json_response({{"ok", true}});
  response.headers.emplace_back("Set-Cookie", cookie);
  return response;
}

std::optional<Response> log_out(RouteCall& call) {
  const Arguments arguments(call.request, {});
  Response response = json_response({{"ok", true}});
  response.headers.emplace_back("Set-Cookie", call.core.access.log_out(call.request));
  return response;
}

std::optional<Response> show_health(RouteCall& /*call*/) {
  return json_response({{"ok", true}});
}

}  // namespace

std::vector<Route> session_routes() {
  return {{"GET", "/api/session", RouteUse::open, show_session},
          {"POST", "/login", RouteUse::login, log_in},
          {"POST", "/logout", RouteUse::open, log_out},
          {"GET", "/healthz", RouteUse::open, show_health, Waits::never, false, "*"}};
}

}  // namespace agentcore::detail::console
