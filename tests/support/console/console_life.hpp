// ConsoleLife: a tree, its console, and clients with real sockets, all driven by one thread.
#pragma once

#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/console.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// An answer that was received completely.
struct HttpAnswer {
  int status = 0;
  std::string head = {};  // with the status line, lines ended by "\r\n"
  std::string body = {};

  // The value of a header, by its name as it is sent; empty: there is none.
  std::string header(std::string_view name) const;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

// One TCP connection to a console. Does not block.
class ConsoleClient {
 public:
  explicit ConsoleClient(std::uint16_t port);
  ~ConsoleClient();
  ConsoleClient(ConsoleClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        received_(std::move(other.received_)),
        ended_(other.ended_) {}
  ConsoleClient& operator=(ConsoleClient&&) = delete;

  // Sends bytes as they are. What the system does not take is dropped: the tests send little.
  void send(std::string_view bytes);
  // Receives what is there.
  void receive();
  void close();
  int socket() const noexcept { return socket_; }

  // Everything that was received and not taken.
  const std::string& received() const noexcept { return received_; }
  bool ended() const noexcept { return ended_; }  // the server has closed its side
  // Takes one answer, if it is complete: its length is known, or the connection has ended.
  std::optional<HttpAnswer> take_answer();

 private:
  int socket_ = -1;
  std::string received_;
  bool ended_ = false;
};

struct ConsoleLife {
  explicit ConsoleLife(ConsoleOptions options = {}, TreeOptions tree_options = {},
                       RuntimeOptions runtime_options = {});
  ~ConsoleLife();

  // A request with the Host of the console and, with a body, the content type of JSON. `headers`: whole
  // lines.
  HttpAnswer request(std::string_view method, std::string_view target, std::string_view body = {},
                     std::string_view headers = {});
  HttpAnswer get(std::string_view target) { return request("GET", target); }
  HttpAnswer post(std::string_view target, std::string_view body = {}) {
    return request("POST", target, body);
  }
  // Sends bytes on a new connection, and returns what comes until the server closes it.
  std::string exchange(std::string_view bytes);
  // The text of a request.
  std::string text_of(std::string_view method, std::string_view target, std::string_view body = {},
                      std::string_view headers = {}) const;

  // Drives the loop until `condition` holds; fails the test if it does not within half a minute.
  void until(const std::function<bool()>& condition, std::vector<ConsoleClient*> clients = {});
  // Drives the loop until nothing is ready.
  void poll();
  // The events that a stream has received so far.
  static std::vector<nlohmann::json> events_of(const ConsoleClient& stream);
  // Connects, and sends a GET for a stream of events.
  ConsoleClient follow(std::string_view target, std::string_view headers = {});

  Agent create(std::string id, std::string parent = {});
  // The agent waits for its model, which says nothing.
  void let_wait(const Agent& agent, std::string_view text = "go");

  std::vector<std::string> log;  // "message name=value ..."
  Runtime runtime;
  testing::ScriptedClient llm;
  std::unique_ptr<Console> console;
  std::unique_ptr<AgentTree> tree;
  Subscription shown;
};

}  // namespace agentcore::test
