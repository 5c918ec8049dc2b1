// Which connections a console closes when it has too many, or when the process has no descriptor left.
#include "support/console/console_life.hpp"
#include "support/drive/no_descriptors.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

using Clients = std::vector<std::unique_ptr<ConsoleClient>>;

// Connects, and sends a part of a request.
ConsoleClient& begin_request(ConsoleLife& life, Clients& clients) {
  clients.push_back(std::make_unique<ConsoleClient>(life.console->port()));
  clients.back()->send("POST /api/agents HTTP/1.1\r\nHost: ");
  return *clients.back();
}

// The connections that the console has closed.
std::size_t ended(const Clients& clients) {
  return static_cast<std::size_t>(std::count_if(clients.begin(), clients.end(), [](const auto& client) {
    client->receive();
    return client->ended();
  }));
}

// The same, as soon as they are `count`: the system may need a moment to deliver that.
std::size_t ended(const Clients& clients, std::size_t count) {
  const auto give_up = std::chrono::steady_clock::now() + 30s;
  while (ended(clients) < count && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return ended(clients);
}

// The smallest that is free: all below it are in use.
std::size_t first_free_descriptor() {
  const int descriptor = ::dup(0);
  REQUIRE(descriptor >= 0);
  ::close(descriptor);
  return static_cast<std::size_t>(descriptor);
}

// The number of descriptors that the process may have, while this object exists.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t limit) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit lower = before_;
    lower.rlim_cur = limit;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("the request that is incomplete for the longest time makes room", "[console][http][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({.max_connections = 8}, {}, {.clock = &clock});
  ConsoleClient late(life.console->port());  // the oldest connection, but not the oldest request
  life.poll();
  Clients clients;
  for (int i = 0; i < 7; ++i) {
    begin_request(life, clients);
    clock.advance(1ms);
    life.poll();
  }
  late.send("GET /healthz HTTP/1.1\r\n");
  life.poll();
  CHECK(life.get("/healthz").status == 200);
  CHECK(ended(clients, 1) == 1);
  CHECK(clients[0]->ended());
  late.send(life.text_of("GET", "/healthz").substr(std::string("GET /healthz HTTP/1.1\r\n").size()));
  life.until([&] { return late.received().find("200 OK") != std::string::npos; }, {&late});
}

TEST_CASE("an idle connection makes room before a request that is incomplete", "[console][http][G15]") {
  ConsoleLife life({.max_connections = 8});
  Clients clients;
  begin_request(life, clients);
  life.poll();
  ConsoleClient idle(life.console->port());
  life.poll();
  for (int i = 0; i < 6; ++i) begin_request(life, clients);
  life.poll();
  CHECK(life.get("/healthz").status == 200);
  life.until([&] { return idle.ended(); }, {&idle});
  CHECK(ended(clients) == 0);
}

TEST_CASE("no viewer and no request that is complete makes room", "[console][http][G15]") {
  ConsoleLife life({.max_connections = 8});
  const Agent agent = life.create("a");
  life.let_wait(agent);
  const std::string task = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  ConsoleClient viewer = life.follow("/api/events"), waiting(life.console->port());
  waiting.send(life.text_of("GET", "/tasks/" + task + "/result?wait=ended"));
  life.poll();
  Clients clients;
  for (int i = 0; i < 50; ++i) {
    begin_request(life, clients);
    life.poll();
  }
  CHECK(life.post("/api/agent/a/stop").json()["stopped"] == true);
  CHECK(ended(clients, 45) == 45);
  life.until([&] { return waiting.take_answer().has_value(); }, {&waiting, &viewer});
  CHECK_FALSE(viewer.ended());
}

TEST_CASE("a client that was answered, and does not close, makes room", "[console][http][G15]") {
  ConsoleLife life({.max_connections = 4});
  Clients clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<ConsoleClient>(life.console->port()));
    clients.back()->send(life.text_of("GET", "/healthz", {}, "Connection: close\r\n"));
    life.poll();
  }
  CHECK(life.get("/healthz").status == 200);
  for (const auto& client : clients)
    life.until([&] { return client->received().find("HTTP/1.1 200 ") == 0; }, {client.get()});
}

TEST_CASE("a request that has arrived with its connection is read before the connection may be closed",
          "[console][http][G15]") {
  ConsoleLife life({.max_connections = 8});
  Clients before, after;
  for (int i = 0; i < 8; ++i) begin_request(life, before);
  life.poll();
  ConsoleClient client(life.console->port());
  client.send(life.text_of("GET", "/healthz"));
  for (int i = 0; i < 4; ++i) begin_request(life, after);
  life.until([&] { return client.ended() || !client.received().empty(); }, {&client});
  CHECK(client.received().find("HTTP/1.1 200 ") == 0);
}

TEST_CASE("where no descriptor is left, a connection is closed for the new one", "[console][http][G15]") {
  ConsoleLife life;
  Clients clients;
  for (int i = 0; i < 20; ++i) begin_request(life, clients);
  life.poll();
  ConsoleClient client(life.console->port());
  client.send(life.text_of("GET", "/healthz"));
  const NoDescriptors none;
  life.until([&] { return !client.received().empty(); }, {&client});
  CHECK(client.received().find("HTTP/1.1 200 ") == 0);
  CHECK(ended(clients, 1) >= 1);
  for (const std::string& line : life.log) CHECK(line.find("accepts no connection") == std::string::npos);
}

TEST_CASE("where no descriptor is left and nothing may be closed, the console accepts later",
          "[console][http][G15]") {
  testing::ManualClock clock;
  ConsoleLife life({}, {}, {.clock = &clock});
  ConsoleClient viewer = life.follow("/api/events");
  ConsoleClient client(life.console->port());
  client.send(life.text_of("GET", "/healthz"));
  {
    const NoDescriptors none;
    life.poll();
    CHECK(std::count(life.log.begin(), life.log.end(),
                     "the console accepts no connection: no descriptor is left") == 1);
  }
  clock.advance(1s);
  life.until([&] { return client.take_answer().has_value(); }, {&client, &viewer});
  CHECK_FALSE(viewer.ended());
}

TEST_CASE("connections leave an eighth of the descriptors to the host", "[console][http][G15]") {
  ConsoleLife life;
  const std::size_t limit = 256, before = first_free_descriptor();
  const DescriptorLimit few(limit);
  Clients clients;
  for (int i = 0; i < 120; ++i) {
    begin_request(life, clients);
    life.poll();
  }
  // Each has a descriptor at both ends.
  REQUIRE(before < 100);
  const std::size_t most = (limit - limit / 8 - before) / 2 + 1;
  const std::size_t open = clients.size() - ended(clients, clients.size() - most);
  CHECK(open <= most);
  CHECK(open + 4 >= most);
  CHECK(life.get("/healthz").status == 200);
}
