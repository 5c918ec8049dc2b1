// Router: finds the route of a request, and answers what no route takes.
#pragma once

#include "console/http/reply.hpp"
#include "console/http/request.hpp"
#include "console/http/response.hpp"
#include "console/http/server.hpp"
#include "console/routes/console_core.hpp"
#include "console/routes/stored_reply.hpp"
#include "console/routes/write_limit.hpp"

#include <agentcore/agent.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::console {

// What an answer waits for.
enum class Wait : std::uint8_t {
  nothing,
  store,   // what the request has changed is in the store
  settled  // the stop or delete has settled, and that is in the store
};

// What the query of a request can say of that: `wait`.
enum class Waits : std::uint8_t {
  never,   // the route has no such parameter: it answers at once
  store,   // for the store, unless it says `gate`
  settled  // the same, and it may say `settled`
};

// One request, for the function that answers it.
struct RouteCall {
  ConsoleCore& core;
  const Request& request;
  std::vector<std::string> ids;  // what stands in the places of the pattern
  Reply& reply;
  Wait wait = Wait::nothing;
  std::optional<std::string> stop_of = {};  // of core::when_stored()

  // The tree; throws Refused if none is shown.
  AgentTree& tree() const;
  // The agent that ids[0] names. Throws Refused.
  Agent agent() const;
  // The same, with what the console knows of it.
  AgentEntry& entry() const;
  // For reply_when_stored().
  Storing storing() const;
  // Throws Refused if there are as many streams of events as there may be.
  void check_viewers() const;
};

// What a route allows and needs.
enum class RouteUse : std::uint8_t {
  open,   // needs no token
  login,  // needs no token; has a limit of its own
  read,   // changes nothing
  write,  // counts for the limit of writes
  stop    // ends something: never refused because of a limit
};

// A route: {"POST", "/api/agent/*/stop", ...}. A '*' stands for one segment, which is an id. The function
// returns the answer, or nothing if it has taken `reply` and answers later. It may throw Refused.
struct Route {
  std::string_view method;
  std::string_view pattern;
  RouteUse use;
  std::optional<Response> (*answer)(RouteCall& call);
  Waits waits = Waits::never;
  // Its errors have the shape {"error":"..."}.
  bool short_errors = false;
  // The names of the parameters that its query may have beside `wait`, with a blank between two; "*": any.
  std::string_view query = {};
};

// All routes, by their topics.
std::vector<Route> agent_routes();
std::vector<Route> verb_routes();
std::vector<Route> conversation_routes();
std::vector<Route> question_routes();
std::vector<Route> task_routes();
std::vector<Route> overview_routes();
std::vector<Route> session_routes();
std::vector<Route> page_routes();

// @loop_thread
class Router final : public RequestHandler {
 public:
  explicit Router(ConsoleCore& core);

  void handle(const Request& request, Reply reply) override;
  std::optional<Response> refuse(const Request& head) override;
  Response in_form(const Request& head, Response error) override;

 private:
  struct Entry {
    Route route;
    std::vector<std::string_view> segments;
  };

  void answer(const Entry& entry, const Request& request, Reply reply);
  const Entry* find(const Request& request) const;
  Response refuse_path(const Request& request) const;
  std::optional<Response> refuse_stranger(const Entry& entry, const Request& request) const;
  std::optional<Response> refuse_too_many(const Entry& entry);

  ConsoleCore& core_;
  std::vector<Entry> entries_;
  WriteLimit writes_, logins_;
};

// An answer with a JSON body.
Response json_response(const Json& json, int status = 200);

}  // namespace agentcore::detail::console
