// What a request may not have, the form of every error, and requests without a tree.
#include "console/routes/router.hpp"
#include "support/console/console_life.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace agentcore::detail::console;
using nlohmann::json;

namespace {

std::vector<Route> api_routes() {
  std::vector<Route> all;
  for (const auto& routes : {agent_routes(), verb_routes(), conversation_routes(), question_routes(),
                             task_routes(), overview_routes(), session_routes()})
    all.insert(all.end(), routes.begin(), routes.end());
  return all;
}

// A target that matches the pattern: the id is "a".
std::string target_of(const Route& route) {
  std::string target(route.pattern);
  for (std::size_t at = 0; (at = target.find('*', at)) != std::string::npos;) target.replace(at, 1, "a");
  return target;
}

bool is_write(const Route& route) {
  return route.method != "GET";
}

}  // namespace

TEST_CASE("no route ignores a member of a body that it does not know", "[console]") {
  ConsoleLife life({.max_writes_per_second = 1'000'000});
  life.create("a");
  int logins = 0;
  for (const Route& route : api_routes()) {
    if (!is_write(route) || (route.use == RouteUse::login && logins++ > 0)) continue;
    CAPTURE(route.method, route.pattern);
    const HttpAnswer answer = life.request(route.method, target_of(route), R"({"drop_queue":true})");
    CHECK(answer.status == 400);
    CHECK(answer.json()["error"] == "unknown_field");
  }
  CHECK(life.tree->find("a")->state().value() == AgentState::idle);
}

TEST_CASE("no route ignores a parameter that it does not know", "[console]") {
  ConsoleLife life({.max_writes_per_second = 1'000'000});
  life.create("a");
  for (const Route& route : api_routes()) {
    if (route.pattern == "/healthz") continue;
    CAPTURE(route.method, route.pattern);
    const HttpAnswer answer = life.request(route.method, target_of(route) + "?wiat=settled");
    CHECK(answer.status == 400);
    CHECK(answer.json()["error"] == "unknown_field");
  }
  CHECK(life.get("/healthz?probe=1").status == 200);
  CHECK(life.get("/?from=mail").status == 200);
}

TEST_CASE("an abort drops what waits if it is asked to", "[console][X3][X49]") {
  for (const bool clears : {false, true}) {
    CAPTURE(clears);
    ConsoleLife life;
    const Agent agent = life.create("a");
    life.let_wait(agent);
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    REQUIRE(agent.send("second"));
    REQUIRE(agent.send("third"));
    const HttpAnswer answer =
        life.post("/api/agent/a/abort", clears ? R"({"clearQueue":true,"reason":"enough"})" : "");
    CHECK(answer.json() == json{{"ok", true}, {"agentId", "a"}, {"aborted", true}});
    life.poll();
    CHECK(agent.queue_length().value() == (clears ? 0 : 1));  // the second one has begun its turn
  }
  ConsoleLife life;
  CHECK(life.post("/api/agent/a/abort", R"({"clearQueue":1})").json() == json{{"error", "invalid_request"}});
}

TEST_CASE("a delete names what it deletes, or why it deletes nothing", "[console][D9][API12]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  life.let_wait(agent);
  CHECK(life.request("DELETE", "/api/agent/a", R"({"when":"after_turn"})").json() ==
        json{{"ok", true}, {"agentId", "a"}, {"terminated", true}, {"terminatedAgentId", "a"}});
  CHECK(life.request("DELETE", "/api/agent/a", R"({"when":"after_turn"})").json() ==
        json{{"ok", true},
             {"agentId", "a"},
             {"terminated", false},
             {"reason", "stop_pending"},
             {"error", "stop_pending"}});
  CHECK(life.request("DELETE", "/api/agent/a?wait=settled").json()["terminatedAgentId"] == "a");
}

TEST_CASE("an error before a route has the form of the errors of the route", "[console][X26]") {
  ConsoleLife life({.token = "secret"});
  const auto answer_of = [&](const std::string& request) {
    const std::string answer = life.exchange(request + "Connection: close\r\n\r\n");
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  const std::string host = "Host: 127.0.0.1:" + std::to_string(life.console->port()) + "\r\n";
  const std::string key = "Authorization: Bearer secret\r\n";
  const std::string start = "POST /api/agent/a/stop HTTP/1.1\r\n";
  CHECK(answer_of(start + host) == R"({"error":"unauthorized"})");
  CHECK(answer_of(start + "Host: elsewhere\r\n") == R"({"error":"forbidden_host"})");
  CHECK(answer_of(start + host + key + "Origin: http://elsewhere\r\n") == R"({"error":"forbidden_origin"})");
  CHECK(answer_of(start + host + key + "Transfer-Encoding: gzip\r\n") == R"({"error":"invalid_request"})");
  CHECK(answer_of(start + host + "Content-Length: 9000\r\n") == R"({"error":"unauthorized"})");
  CHECK(answer_of(start + host + key + "Content-Length: 99999999\r\n") == R"({"error":"body_too_large"})");
  CHECK(answer_of("DELETE /api/agent/a HTTP/1.1\r\n" + host) == R"({"error":"unauthorized"})");
  const auto long_form = [&](const std::string& request) {
    const json body = json::parse(answer_of(request));
    return body.size() == 3 && body["ok"] == false && body["message"].is_string();
  };
  CHECK(long_form("POST /api/agent/a/pause HTTP/1.1\r\n" + host));
  CHECK(long_form("PUT /api/agent/a/stop HTTP/1.1\r\n" + host));
  CHECK(long_form("POST /tasks/m1/terminate HTTP/1.1\r\n" + host));
}

TEST_CASE("what needs a tree says that there is none", "[console][API5]") {
  ConsoleLife life;
  life.shown.reset();
  for (const Route& route : api_routes()) {
    const bool is_of_console =
        route.use == RouteUse::open || route.use == RouteUse::login || route.pattern == "/api/receipts";
    if (is_of_console) continue;
    CAPTURE(route.method, route.pattern);
    // With the members that are required.
    const bool answers = route.pattern.ends_with("/answer"), interacts = route.pattern.ends_with("/interact");
    const std::string body = answers     ? R"({"text":"x"})"
                             : interacts ? R"({"response":"x"})"
                             : route.pattern.ends_with("/send") || route.pattern.ends_with("/steer")
                                 ? R"({"text":"x"})"
                             : route.pattern == "/tasks" && is_write(route) ? R"({"prompt":"x"})"
                                                                            : "";
    const HttpAnswer answer = life.request(route.method, target_of(route), body);
    CHECK(answer.status == 500);
    CHECK(answer.json()["error"] == "society_not_initialized");
  }
}
