// The description of the API against the routes that there are.
#include "console/page_files.hpp"
#include "console/routes/router.hpp"
#include "support/console/console_life.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore::detail::console;
using nlohmann::json;

namespace {

json document() {
  for (const PageFile& file : page_files())
    if (file.name == "openapi.json") return json::parse(file.bytes);
  return nullptr;
}

std::vector<Route> api_routes() {
  std::vector<Route> all;
  for (const auto& routes : {agent_routes(), verb_routes(), conversation_routes(), question_routes(),
                             task_routes(), overview_routes(), session_routes()})
    all.insert(all.end(), routes.begin(), routes.end());
  return all;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// "post /api/agent/*/stop" and what the document has for it.
std::map<std::string, json> operations(const json& document) {
  std::map<std::string, json> found;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items())
      found[method + " " + std::regex_replace(path, std::regex("\\{[A-Za-z]+\\}"), "*")] = operation;
  return found;
}

std::string name_of(const Route& route) {
  return lower_case(std::string(route.method)) + " " + std::string(route.pattern);
}

template <typename Function>
void for_each_value(const json& value, const Function& function) {
  function(value);
  if (value.is_structured())
    for (const json& member : value) for_each_value(member, function);
}

// What a "$ref" of this document refers to; null: nothing.
json resolved(const json& document, const json& value) {
  if (!value.contains("$ref")) return value;
  const std::string to = value["$ref"];
  const json::json_pointer pointer(to.starts_with("#/") ? to.substr(1) : "/?");
  return document.contains(pointer) ? document[pointer] : json(nullptr);
}

}  // namespace

TEST_CASE("the description of the API has each route, and no other", "[console][openapi]") {
  const json api = document();
  REQUIRE(api.is_object());
  CHECK(api["openapi"] == "3.1.0");
  std::set<std::string> described, routed;
  for (const auto& [name, operation] : operations(api)) described.insert(name);
  for (const Route& route : api_routes()) routed.insert(name_of(route));
  CHECK(described == routed);
}

TEST_CASE("the description of the API is that of the routes", "[console][openapi]") {
  const json api = document();
  auto described = operations(api);
  std::set<std::string> ids;
  for (const Route& route : api_routes()) {
    CAPTURE(route.method, route.pattern);
    const json& operation = described[name_of(route)];
    const json& answers = operation["responses"];
    CHECK(ids.insert(operation["operationId"]).second);
    CHECK(!operation["summary"].get<std::string>().empty());
    CHECK(operation["tags"].size() == 1);
    const bool is_login = route.use == RouteUse::login;
    CHECK(operation.contains("security") == (route.use == RouteUse::open || is_login));
    CHECK(answers.contains("429") == (route.use == RouteUse::write || is_login));
    CHECK(answers.contains("415") == operation.contains("requestBody"));
    for (const char* status : {"400", "403", "408", "413", "431", "500", "503"})
      CHECK(answers.contains(status));
    const json shape = resolved(api, answers["400"])["content"]["application/json"]["schema"]["$ref"];
    CHECK(shape == (route.short_errors ? "#/components/schemas/AnyError" : "#/components/schemas/Error"));
    if (operation.contains("requestBody"))
      CHECK(operation["requestBody"]["content"]["application/json"]["schema"]["additionalProperties"] ==
            false);
  }
}

TEST_CASE("each parameter of a path is described", "[console][openapi]") {
  const json api = document();
  for (const auto& [path, methods] : api["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      CAPTURE(path, method);
      std::set<std::string> in_path, described;
      const std::regex name("\\{([A-Za-z]+)\\}");
      for (std::sregex_iterator next(path.begin(), path.end(), name), end; next != end; ++next)
        in_path.insert((*next)[1]);
      for (const json& parameter : operation.value("parameters", json::array()))
        if (const json found = resolved(api, parameter); found["in"] == "path")
          described.insert(found["name"]);
      CHECK(in_path == described);
    }
}

TEST_CASE("each reference in the description of the API resolves", "[console][openapi]") {
  const json api = document();
  std::size_t references = 0;
  for_each_value(api, [&](const json& value) {
    if (!value.is_object() || !value.contains("$ref")) return;
    ++references;
    CAPTURE(value.dump());
    CHECK(!resolved(api, value).is_null());
  });
  CHECK(references > 100);
}

TEST_CASE("the longest reason in the description of the API is the longest that is taken",
          "[console][openapi][G15]") {
  const json api = document();
  const std::size_t most = api["components"]["schemas"]["Reason"]["maxLength"];
  agentcore::test::ConsoleLife life;
  life.create("a");
  const std::string longest(most, 'x');
  const auto body = [](const std::string& reason) { return json({{"reason", reason}}).dump(); };
  CHECK(life.post("/api/agent/a/stop", body(longest)).status == 200);
  CHECK(life.post("/api/agent/a/stop", body(longest + "x")).status == 400);
  const std::string in_query = "/api/agent/a?reason=" + longest;
  CHECK(life.request("DELETE", in_query + "x").status == 400);
  CHECK(life.request("DELETE", in_query + "x", body("short")).status == 400);
  CHECK(life.request("DELETE", in_query).status == 200);
}

TEST_CASE("the description of the API is served, without a token", "[console][openapi]") {
  agentcore::test::ConsoleLife life({.token = "secret"});
  const agentcore::test::HttpAnswer answer = life.get("/openapi.json");
  CHECK(answer.status == 200);
  CHECK(answer.header("Content-Type").starts_with("application/json"));
  json expected = document();
  json& cookie = expected["components"]["securitySchemes"]["cookie"]["name"];
  cookie = "agentcore_session_" + std::to_string(life.console->port());
  CHECK(answer.json() == expected);
  const std::string set = life.post("/login", R"({"token":"secret"})").header("Set-Cookie");
  CHECK(set.substr(0, set.find('=')) == cookie);
}
