// Connections to a console: what they cost, what ends them, and what they cannot do.
#include "support/console/console_life.hpp"
#include "support/drive/unhurried.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("a connection serves one request after the other", "[console][http]") {
  ConsoleLife life;
  life.create("a");
  ConsoleClient client(life.console->port());
  // All at once: answered in their order.
  client.send(life.text_of("GET", "/healthz") + life.text_of("GET", "/api/agent/a") +
              life.text_of("GET", "/nowhere"));
  std::vector<HttpAnswer> answers;
  life.until(
      [&] {
        while (auto answer = client.take_answer()) answers.push_back(*answer);
        return answers.size() == 3;
      },
      {&client});
  CHECK(answers[0].json()["ok"] == true);
  CHECK(answers[1].json()["agent"]["id"] == "a");
  CHECK(answers[2].status == 404);
  CHECK_FALSE(client.ended());
}

TEST_CASE("a connection ends where the client asks for it", "[console][http]") {
  ConsoleLife life;
  CHECK(life.exchange(life.text_of("GET", "/healthz", {}, "Connection: close\r\n")).find("{\"ok\":true}") !=
        std::string::npos);
  CHECK(life.exchange("GET /healthz HTTP/1.0\r\nHost: localhost:" + std::to_string(life.console->port()) +
                      "\r\n\r\n")
            .find("200 OK") != std::string::npos);
}

TEST_CASE("HEAD is answered as GET without a body, and other methods say what is allowed",
          "[console][http]") {
  ConsoleLife life;
  const HttpAnswer head = life.request("HEAD", "/healthz");
  CHECK(head.status == 200);
  CHECK(head.header("Content-Length") == "11");
  CHECK(head.head.find("{\"ok\"") == std::string::npos);
  const HttpAnswer put = life.request("PUT", "/api/agents");
  CHECK(put.status == 405);
  CHECK(put.header("Allow") == "GET, HEAD, POST");
  CHECK(life.request("PUT", "/api/agent/a/stop").header("Allow") == "POST");
  ConsoleClient stream(life.console->port());
  stream.send(life.text_of("HEAD", "/api/events") + life.text_of("GET", "/healthz"));
  life.until([&] { return stream.received().find("{\"ok\"") != std::string::npos; }, {&stream});
  const std::string head_of_stream = stream.received().substr(0, stream.received().find("\r\n\r\n"));
  CHECK(head_of_stream.find("HTTP/1.1 200 ") == 0);
  CHECK(head_of_stream.find("text/event-stream") != std::string::npos);
  CHECK(head_of_stream.find("Content-Length") == std::string::npos);
}

TEST_CASE("all requests are answered of a client that has closed its side", "[console][http]") {
  ConsoleLife life;
  const std::string one = life.text_of("GET", "/healthz");
  for (const std::string rest : {"", "GET /unfinished"}) {
    ConsoleClient client(life.console->port());
    client.send(one + one + one + rest);
    ::shutdown(client.socket(), SHUT_WR);
    life.until([&] { return client.ended(); }, {&client});
    int answers = 0;
    while (const auto answer = client.take_answer()) answers += answer->status == 200;
    CHECK(answers == 3);
  }
}

TEST_CASE("requests are answered that a client sent before it closed its side, also while one waits",
          "[console][http]") {
  ConsoleLife life;
  life.let_wait(life.create("a"));
  const std::string task = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  const std::string rest = life.text_of("GET", "/healthz") + life.text_of("GET", "/healthz");
  ConsoleClient client(life.console->port());
  client.send(life.text_of("GET", "/tasks/" + task + "/result?wait=ended"));
  life.poll();
  client.send(rest);
  life.poll();
  ::shutdown(client.socket(), SHUT_WR);
  life.poll();
  life.post("/tasks/" + task + "/terminate");
  life.until([&] { return client.ended(); }, {&client});
  std::vector<int> statuses;
  while (const auto answer = client.take_answer()) statuses.push_back(answer->status);
  CHECK(statuses == std::vector<int>{409, 200, 200});
}

TEST_CASE("the body of a client without access is not read", "[console][access][G15]") {
  ConsoleLife life({.token = "secret", .max_body_bytes = 1 << 20});
  const std::string length = "Content-Length: 1000000\r\n";
  const auto refused = [&](std::string request) {
    ConsoleClient client(life.console->port());
    client.send(request);  // the body never comes
    life.until([&] { return client.ended(); }, {&client});
    return client.received().substr(0, 12);
  };
  CHECK(refused(life.text_of("POST", "/api/agents", {}, length)) == "HTTP/1.1 401");
  for (const std::string path : {"/login", "/logout"})
    CHECK(refused(life.text_of("POST", path, {}, length)) == "HTTP/1.1 413");
  CHECK(refused(life.text_of("POST", "/login", {}, "Transfer-Encoding: chunked\r\n")) == "HTTP/1.1 413");
  CHECK(refused(life.text_of("GET", "/healthz", {}, length)) == "HTTP/1.1 413");
  CHECK(refused(life.text_of("POST", "/nowhere", {}, length)) == "HTTP/1.1 404");
  CHECK(refused(life.text_of("PUT", "/healthz", {}, length)) == "HTTP/1.1 405");
  CHECK(refused("POST /api/agents HTTP/1.1\r\nHost: evil.example\r\n" + length + "\r\n") == "HTTP/1.1 403");
  CHECK(refused("POST /api/agents HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\n" + length +
                "\r\n") == "HTTP/1.1 403");
  const std::string head = life.exchange(life.text_of("HEAD", "/api/agents", {}, length));
  CHECK(head.find("HTTP/1.1 401 ") == 0);
  CHECK(head.size() == head.find("\r\n\r\n") + 4);
  CHECK(life.request("POST", "/login", R"({"token":"secret"})").status == 200);
}

TEST_CASE("a request that is malformed gets an error in JSON, and ends its connection",
          "[console][http][G15]") {
  ConsoleLife life;
  for (const std::string text : {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\nA: 1\nB: 2\r\n\r\n"}) {
    const std::string answer = life.exchange(text);
    CHECK(answer.find("HTTP/1.1 400 ") == 0);
    CHECK(answer.find("{\"ok\":false,\"error\":\"invalid_request\"") != std::string::npos);
  }
  CHECK(life.exchange("GET /" + std::string(20'000, 'x')).find("HTTP/1.1 431 ") == 0);
}

TEST_CASE("a client that sends slowly or nothing is closed in time", "[console][http][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  ConsoleClient slow(life.console->port()), silent(life.console->port()), viewer = life.follow("/api/events");
  slow.send("GET /healthz HTTP/1.1\r\n");
  life.poll();
  for (int second = 0; second < 12; ++second) {
    slow.send("X");  // one byte in a second does not help
    clock.advance(1s);
    life.poll();
  }
  life.until([&] { return slow.ended(); }, {&slow});
  CHECK(slow.received().find("HTTP/1.1 408 ") == 0);
  for (int second = 0; second < 60; ++second) {
    clock.advance(1s);
    life.poll();
  }
  life.until([&] { return silent.ended(); }, {&silent, &viewer});
  CHECK_FALSE(viewer.ended());
}

TEST_CASE("a loop that comes late answers the requests that have arrived", "[console][http]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  ConsoleClient client(life.console->port());
  for (int i = 0; i < 3; ++i) client.send(life.text_of("GET", "/healthz"));
  int answers = 0;
  while (answers < 3) {
    life.runtime.poll();
    client.receive();
    while (client.take_answer()) ++answers;
    REQUIRE_FALSE(client.ended());
    if (answers != 0) clock.advance(2min);
  }
}

TEST_CASE("a request that waits is forgotten when its client is gone", "[console][http][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({.max_connections = 10}, {}, {.clock = &clock});
  const Agent agent = life.create("a");
  life.let_wait(agent);
  const std::string task = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  for (int i = 0; i < 30; ++i) {
    ConsoleClient client(life.console->port());
    client.send(life.text_of("GET", "/tasks/" + task + "/result?wait=ended"));
    life.poll();
  }
  CHECK(life.get("/healthz").status == 200);
  // One that is still there is answered when its tree is not shown any more.
  ConsoleClient waiting(life.console->port());
  waiting.send(life.text_of("GET", "/tasks/" + task + "/result?wait=ended"));
  life.poll();
  life.shown.reset();
  life.until([&] { return waiting.received().find("HTTP/1.1 ") == 0; }, {&waiting});
}

TEST_CASE("half-open connections make room for others", "[console][http][G15]") {
  ConsoleLife life({.max_connections = 20});
  std::vector<std::unique_ptr<ConsoleClient>> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(std::make_unique<ConsoleClient>(life.console->port()));
    if (i % 10 == 0) life.poll();
  }
  CHECK(life.get("/healthz").status == 200);
  ConsoleClient viewer = life.follow("/api/events");
  idle.clear();
  // Connections that are at work are not closed for new ones.
  const Agent agent = life.create("a");
  std::vector<std::unique_ptr<ConsoleClient>> viewers;
  for (int i = 0; i < 19; ++i) viewers.push_back(std::make_unique<ConsoleClient>(life.follow("/api/events")));
  ConsoleClient refused(life.console->port());
  refused.send(life.text_of("GET", "/healthz"));
  life.until([&] { return refused.ended(); }, {&refused});
  CHECK(refused.received().find("HTTP/1.1 503 ") == 0);
}

TEST_CASE("a request for another host, or from a page of another site, is refused", "[console][access]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  CHECK(life.request("POST", "/api/agent/a/stop", {}, "Host: evil.example\r\n").json()["error"] ==
        "forbidden_host");
  CHECK(life.request("POST", "/api/agent/a/stop", {}, "Origin: http://evil.example\r\n").json()["error"] ==
        "forbidden_origin");
  CHECK(life.request("GET", "/", {}, "Host: evil.example\r\n").status == 403);
  CHECK(agent.state().value() == AgentState::idle);
  const std::string own = "Origin: http://127.0.0.1:" + std::to_string(life.console->port()) + "\r\n";
  CHECK(life.request("POST", "/api/agent/a/stop", {}, own).status == 200);
}

TEST_CASE("with a token every route but the page and the login needs it", "[console][access]") {
  ConsoleLife life({.token = "open sesame"});
  life.create("a");
  CHECK(life.get("/api/session").json()["login"] == "required");
  CHECK(life.get("/").status == 200);
  for (const std::string path : {"/api/agents", "/api/events", "/tasks", "/openapi.json"})
    CHECK(life.get(path).status == (path == "/openapi.json" ? 200 : 401));
  CHECK(life.post("/api/agent/a/stop").status == 401);
  CHECK(life.request("GET", "/api/agents", {}, "Authorization: Bearer open sesame\r\n").status == 200);
  CHECK(life.post("/login", R"({"token":"wrong"})").status == 401);
  const std::string cookie = life.post("/login", R"({"token":"open sesame"})").header("Set-Cookie");
  const std::string header = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
  CHECK(life.request("GET", "/api/agents", {}, header).status == 200);
  CHECK(life.request("GET", "/api/session", {}, header).json()["login"] == "done");
  for (const std::string& line : life.log) CHECK(line.find("sesame") == std::string::npos);
}

TEST_CASE("writes are limited, and a stop never is", "[console][access][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({.max_writes_per_second = 5}, {}, {.clock = &clock});
  const Agent agent = life.create("a");
  int refused = 0;
  for (int i = 0; i < 15; ++i)
    refused += life.post("/api/agent/a/send", R"({"text":"x"})").status == 429 ? 1 : 0;
  CHECK(refused == 5);
  CHECK(life.post("/api/agent/a/stop").json()["stopped"] == true);
  CHECK(life.get("/api/agents").status == 200);
}

TEST_CASE("every answer forbids foreign scripts and frames", "[console][access][H16]") {
  ConsoleLife life;
  for (const std::string path : {"/", "/api/agents", "/nowhere"}) {
    const HttpAnswer answer = life.get(path);
    CHECK(answer.header("Content-Security-Policy").find("default-src 'none'; script-src 'self'") == 0);
    CHECK(answer.header("X-Content-Type-Options") == "nosniff");
  }
}

TEST_CASE("a console is opened and shown on the loop thread alone", "[console][threads][wrong_thread]") {
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm{runtime};
  AgentTree tree{runtime, {.llm = &llm}};
  auto console = Console::open(runtime).value();
  Errc opened = Errc::none;
  bool shown = true;
  std::thread([&] {
    opened = Console::open(runtime).error().code;
    shown = static_cast<bool>(console->show(tree));
  }).join();
  CHECK(opened == Errc::wrong_thread);
  CHECK_FALSE(shown);
  Subscription here = console->show(tree);
  std::thread([&] { here.reset(); }).join();
  CHECK(here);
}

TEST_CASE("options of a console that are out of range are refused", "[console]") {
  Runtime runtime{test::unhurried()};
  const auto error = [&](ConsoleOptions options) {
    auto console = Console::open(runtime, std::move(options));
    return console ? Error{} : console.error();
  };
  CHECK(error({.address = "0.0.0.0"}).code == Errc::invalid_config);
  CHECK(error({.address = "0.0.0.0"}).message.find("token") != std::string::npos);
  CHECK(error({.address = "0.0.0.0", .token = "t"}).code == Errc::none);
  CHECK(error({.address = "localhost", .token = "t"}).code == Errc::invalid_config);
  CHECK(error({.max_connections = 0}).code == Errc::invalid_config);
  CHECK(error({.max_body_bytes = 1}).message.find("max_body_bytes") != std::string::npos);
  auto first = Console::open(runtime).value();
  CHECK(error({.port = first->port()}).code == Errc::network_error);
}

TEST_CASE("a console may end in a callback, and before or after its tree", "[console][Q3]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  ConsoleClient viewer = life.follow("/api/events");
  SECTION("in a callback of a verb that it has called") {
    auto states = agent.on<StateChanged>([&](const StateChanged&) { life.console.reset(); });
    ConsoleClient client(life.console->port());
    client.send(life.text_of("POST", "/api/agent/a/stop?wait=settled"));
    life.until([&] { return client.ended() && viewer.ended(); }, {&client, &viewer});
    CHECK(is_stopped(agent.state().value()));
  }
  SECTION("in a callback of an agent that it creates") {
    auto created = life.tree->on<AgentCreated>([&](const AgentCreated&) { life.console.reset(); });
    ConsoleClient client(life.console->port());
    client.send(life.text_of("POST", "/api/agents", R"({"id":"b"})"));
    life.until([&] { return client.ended() && viewer.ended(); }, {&client, &viewer});
    CHECK(life.tree->find("b"));
  }
  SECTION("after its Runtime") {
    auto runtime = std::make_unique<Runtime>();
    auto console = Console::open(*runtime).value();
    AgentTree tree(*runtime, {.audit = console->receipts()});
    Subscription shown = console->show(tree);
    ConsoleClient client(console->port());
    client.send("GET /api/events HTTP/1.1\r\nHost: localhost:" + std::to_string(console->port()) +
                "\r\n\r\n");
    while (runtime->poll()) {
    }
    runtime.reset();
    console.reset();
  }
  SECTION("before its tree") {
    const std::string task = life.post("/tasks", R"({"agentId":"a","prompt":"x"})").json()["taskId"];
    life.console.reset();
    life.until([&] { return viewer.ended(); }, {&viewer});
    life.runtime.run_until_idle();
  }
  SECTION("after its tree") {
    life.shown.reset();
    life.tree.reset();
    CHECK(life.get("/api/agents").status == 500);
    CHECK(life.get("/healthz").status == 200);
  }
}

TEST_CASE("a hundred clients that stop, delete and send at once", "[console][C12][C23]") {
  ConsoleLife life;
  const Agent root = life.create("root");
  for (int i = 0; i < 20; ++i) life.create("child" + std::to_string(i), "root");
  life.let_wait(life.tree->find("child0").value());
  std::size_t stops = 0;
  auto states =
      root.on<StateChanged>([&](const StateChanged& change) { stops += change.to == AgentState::stopping; });
  std::vector<std::unique_ptr<ConsoleClient>> clients;
  std::vector<ConsoleClient*> all;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<ConsoleClient>(life.console->port()));
    all.push_back(clients.back().get());
    const std::string child = "/api/agent/child" + std::to_string(i % 20);
    clients.back()->send(i % 3 == 0   ? life.text_of("POST", "/api/agent/root/stop")
                         : i % 3 == 1 ? life.text_of("DELETE", child)
                                      : life.text_of("POST", child + "/send", R"({"text":"hello"})"));
  }
  std::vector<HttpAnswer> answers(clients.size());
  life.until(
      [&] {
        std::size_t done = 0;
        for (std::size_t i = 0; i < clients.size(); ++i) {
          if (auto answer = clients[i]->take_answer()) answers[i] = *answer;
          done += answers[i].status != 0;
        }
        return done == clients.size();
      },
      all);
  std::size_t stopped = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const json body = answers[i].json();
    if (i % 3 == 0) {
      CHECK(answers[i].status == 200);
      stopped += body["stopped"] == true;
    } else {
      CHECK((answers[i].status == 200 || answers[i].status == 404 || answers[i].status == 409));
    }
  }
  CHECK(stopped == 1);
  life.runtime.run_until_idle();
  CHECK(stops == 1);
  CHECK(root.state().value() == AgentState::stopped);
  CHECK(life.get("/api/agent/root").json()["agent"]["computeStatus"] == "stopped");
}
