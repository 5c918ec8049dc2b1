#include "console/routes/router.hpp"

#include "console/routes/refused.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace agentcore::detail::console {
namespace {

// Of all clients, so that no token is found by trying.
constexpr std::uint32_t logins_per_second = 5;

std::vector<std::string_view> split(std::string_view pattern) {
  std::vector<std::string_view> segments;
  pattern.remove_prefix(1);
  while (true) {
    const std::size_t slash = pattern.find('/');
    segments.push_back(pattern.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    pattern.remove_prefix(slash + 1);
  }
}

bool matches(const std::vector<std::string_view>& segments, const std::vector<std::string>& path) {
  return segments.size() == path.size() && std::equal(segments.begin(), segments.end(), path.begin(),
                                                      [](std::string_view segment, const std::string& part) {
                                                        return segment == "*" || segment == part;
                                                      });
}

// An error of this route.
Response in_form_of(const Route& route, Response error) {
  if (route.short_errors && !error.code.empty()) error.body = to_line({{"error", error.code}});
  return error;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); !word.empty() && at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

// Throws Refused: a parameter that is not known would be ignored in silence.
void check_query(const Route& route, const Request& request) {
  if (route.query == "*") return;
  for (const auto& [name, value] : request.query)
    if (!(name == "wait" && route.waits != Waits::never) && !has_word(route.query, name))
      throw Refused(400, "unknown_field", "the query has an unknown parameter: " + name);
}

Response refused_by(Errc code) {
  const Refused refused(code);
  return Response::error(refused.status, refused.code, refused.message);
}

// The body of a login, for example.
bool has_short_body(const Request& head) {
  const std::string* const length = head.header("content-length");
  std::size_t bytes = 0;
  return length != nullptr &&
         std::from_chars(length->data(), length->data() + length->size(), bytes).ec == std::errc() &&
         bytes <= 4096;
}

// Throws Refused.
Wait wait_of(const Route& route, const Request& request) {
  if (route.waits == Waits::never) return Wait::nothing;
  const std::string* const wait = request.parameter("wait");
  if (wait == nullptr) return Wait::store;
  if (*wait == "gate") return Wait::nothing;
  if (*wait == "settled" && route.waits == Waits::settled) return Wait::settled;
  throw Refused(400, "invalid_request",
                route.waits == Waits::settled ? "wait must be gate or settled" : "wait must be gate");
}

// A HEAD is answered as a GET, without the body.
std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
}

}  // namespace

Response json_response(const Json& json, int status) {
  return {.status = status, .body = to_line(json)};
}

AgentTree& RouteCall::tree() const {
  if (core.tree == nullptr)
    throw Refused(500, "society_not_initialized", "the console shows no tree of agents");
  return *core.tree;
}

Agent RouteCall::agent() const {
  const Result<Agent> found = tree().find(ids.front());
  if (!found) throw Refused(found.error().code);
  return *found;
}

AgentEntry& RouteCall::entry() const {
  AgentEntry* const entry = core.feed.directory().enter(agent(), core.engine->clock().wall_time());
  if (entry == nullptr) throw Refused(Errc::agent_not_found);
  return *entry;
}

Storing RouteCall::storing() const {
  return {core.engine, core.options.durable_answers ? core.tree : nullptr, stop_of};
}

void RouteCall::check_viewers() const {
  if (core.server->streams() >= core.server->options().max_streams)
    throw Refused(503, "too_many_connections", "the console has as many viewers as it may have");
}

Router::Router(ConsoleCore& core)
    : core_(core), writes_(core.options.max_writes_per_second), logins_(logins_per_second) {
  for (const auto& routes : {agent_routes(), verb_routes(), conversation_routes(), question_routes(),
                             task_routes(), overview_routes(), session_routes(), page_routes()})
    for (const Route& route : routes) entries_.push_back({route, split(route.pattern)});
}

void Router::handle(const Request& request, Reply reply) {
  const auto keep = core_.owner.lock();
  if (auto refused = core_.access.refuse_origin(request))
    return reply.send(in_form(request, std::move(*refused)));
  if (const Entry* const entry = find(request)) return answer(*entry, request, std::move(reply));
  reply.send(refuse_path(request));
}

Response Router::in_form(const Request& head, Response error) {
  const Entry* const entry = find(head);
  return entry != nullptr ? in_form_of(entry->route, std::move(error)) : std::move(error);
}

// What no route takes.
Response Router::refuse_path(const Request& request) const {
  if (request.path.empty())
    return Response::error(400, "invalid_request", "the target of the request is not a valid path");
  std::string allowed;
  for (const Entry& entry : entries_) {
    if (!matches(entry.segments, request.path)) continue;
    allowed.append(allowed.empty() ? "" : ", ").append(entry.route.method);
    if (entry.route.method == "GET") allowed.append(", HEAD");
  }
  if (allowed.empty()) return Response::error(404, "not_found", "there is no such path");
  Response response = Response::error(405, "method_not_allowed", "this path takes: " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// Null: no route takes its path with its method.
const Router::Entry* Router::find(const Request& request) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return matches(entry.segments, request.path) && entry.route.method == method_of(request);
  });
  return found != entries_.end() ? &*found : nullptr;
}

// A body is read where a route takes it, and of a client without access only a short one.
std::optional<Response> Router::refuse(const Request& head) {
  if (auto refused = core_.access.refuse_origin(head)) return in_form(head, *std::move(refused));
  const Entry* const entry = find(head);
  if (entry == nullptr) return refuse_path(head);
  if (auto refused = refuse_stranger(*entry, head)) return refused;
  if (has_short_body(head) || core_.access.is_logged_in(head, core_.engine->now())) return std::nullopt;
  return in_form_of(
      entry->route,
      Response::error(413, "body_too_large", "without a login, a body has at most 4096 bytes and a length"));
}

std::optional<Response> Router::refuse_stranger(const Entry& entry, const Request& request) const {
  const RouteUse use = entry.route.use;
  if (use == RouteUse::open || use == RouteUse::login ||
      core_.access.is_logged_in(request, core_.engine->now()))
    return std::nullopt;
  Response response =
      Response::error(401, "unauthorized", "this needs a login, or the header Authorization: Bearer");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return in_form_of(entry.route, std::move(response));
}

std::optional<Response> Router::refuse_too_many(const Entry& entry) {
  const TimePoint now = core_.engine->now();
  const RouteUse use = entry.route.use;
  if ((use != RouteUse::write || writes_.take(now)) && (use != RouteUse::login || logins_.take(now)))
    return std::nullopt;
  Response response =
      Response::error(429, "too_many_writes", "too many changes in a second; try again later");
  response.headers.emplace_back("Retry-After", "1");
  return in_form_of(entry.route, std::move(response));
}

void Router::answer(const Entry& entry, const Request& request, Reply reply) {
  if (auto refused = refuse_stranger(entry, request)) return reply.send(std::move(*refused));
  if (auto refused = refuse_too_many(entry)) return reply.send(std::move(*refused));
  RouteCall call{.core = core_, .request = request, .ids = {}, .reply = reply};
  for (std::size_t i = 0; i < entry.segments.size(); ++i)
    if (entry.segments[i] == "*") call.ids.push_back(request.path[i]);
  try {
    check_query(entry.route, request);
    call.wait = wait_of(entry.route, request);
    auto response = entry.route.answer(call);
    if (!response) return;
    const bool waits = call.wait == Wait::store && response->status < 300;
    reply_when_stored(waits ? call.storing() : Storing{}, std::move(reply), *std::move(response));
  } catch (const Refused& refused) {
    reply.send(in_form_of(entry.route, Response::error(refused.status, refused.code, refused.message)));
  } catch (const std::bad_alloc&) {
    // Whether a verb took effect is not known here; a request that only reads changes nothing.
    if (entry.route.use != RouteUse::read) throw;
    reply.send(in_form_of(entry.route, refused_by(Errc::out_of_memory)));
  }
}

}  // namespace agentcore::detail::console
