// The proof that the stand-in is there for: when a client went away, and how much had been produced by then.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

namespace {

constexpr std::string_view endless_answer =
    "x-standin-tokens: 0\r\nx-standin-rate: 200\r\nx-standin-first-token-ms: 0\r\nx-agent-id: scout\r\n";

bool all_gone(const standin::Stats& stats) {
  return stats.requests > 0 && stats.open == 0;
}

}  // namespace

TEST_CASE("stand-in: the recorded time of a disconnect lies between two clock readings of the client",
          "[standin][G6]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request(endless_answer)));
  REQUIRE(client.read_until("\"content\":\" said:\""));
  const std::int64_t before = standin::now_ns();
  client.end_sending();
  REQUIRE(server->wait_until(all_gone));
  const std::int64_t after = standin::now_ns();

  const standin::Record record = server->records().at(0);
  CHECK(record.ending == standin::Ending::client_closed);
  CHECK(record.agent == "scout");
  CHECK(before <= record.end_ns);
  CHECK(record.end_ns <= after);
  CHECK(record.tokens >= 2);
  CHECK(record.last_token_ns <= record.end_ns);
}

TEST_CASE("stand-in: a reset is distinguished from an orderly end", "[standin][G6]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request(endless_answer)));
  REQUIRE(client.read_until("data:"));
  const std::int64_t before = standin::now_ns();
  client.reset();
  REQUIRE(server->wait_until(all_gone));
  const standin::Record record = server->records().at(0);
  CHECK(record.ending == standin::Ending::client_reset);
  CHECK(before <= record.end_ns);
}

TEST_CASE("stand-in: a disconnect is noticed even if nothing is written", "[standin][G6]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request("x-standin-fault: hang-before-headers\r\n")));
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.open == 1; }));
  const std::int64_t before = standin::now_ns();
  client.close();
  REQUIRE(server->wait_until(all_gone));
  CHECK(before <= server->records().at(0).end_ns);
  CHECK(server->records().at(0).status == 0);
}

TEST_CASE("stand-in: a request of a disconnected client gets no token", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request("x-standin-rate: 0\r\nx-standin-first-token-ms: 50\r\n")));
  client.end_sending();
  REQUIRE(server->wait_until(all_gone));
  CHECK(server->records().at(0).tokens == 0);
  CHECK(server->records().at(0).ending == standin::Ending::client_closed);
}

TEST_CASE("stand-in: tokens that a client cannot have read are not counted", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(
      chat_request("x-standin-tokens: 100000\r\nx-standin-rate: 0\r\nx-standin-first-token-ms: 0\r\n")));
  const RawAnswer answer = client.read_answer();  // far more than the socket buffers hold
  CHECK(answer.complete);
  CHECK(events_of(answer.body).size() == 1 + 100000 + 1 + 1);
  REQUIRE(server->wait_until(all_gone));
  CHECK(server->records().at(0).tokens == 100000);
}

TEST_CASE("stand-in: exactly those tokens are counted that the client can still read", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(
      chat_request("x-standin-tokens: 0\r\nx-standin-rate: 0\r\nx-standin-first-token-ms: 0\r\n")));
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.tokens > 2000; }));
  client.end_sending();
  REQUIRE(server->wait_until(all_gone));
  const RawAnswer answer = client.read_answer();
  CHECK_FALSE(answer.complete);
  CHECK(events_of(answer.body).size() == 1 + server->records().at(0).tokens);
}

TEST_CASE("stand-in: its stop closes open exchanges and records it", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request(endless_answer)));
  REQUIRE(client.read_until("data:"));
  server.stop();
  CHECK(client.read_to_end().find("[DONE]") == std::string::npos);
  CHECK(server->records().at(0).ending == standin::Ending::server_closed);
}

TEST_CASE("stand-in: open records survive a clear and numbers continue", "[standin]") {
  standin::ServerThread server;
  RawClient first(server->port());
  REQUIRE(first.send(chat_request("x-standin-tokens: 1\r\nx-standin-first-token-ms: 0\r\n")));
  CHECK(first.read_answer().complete);
  REQUIRE(first.send(chat_request("x-standin-fault: hang-after-headers\r\n")));
  REQUIRE(first.read_until("\r\n\r\n"));
  server->clear_records();
  REQUIRE(server->records().size() == 1);
  CHECK(server->records().at(0).number == 2);
  first.close();
  REQUIRE(server->wait_until(all_gone));
  CHECK(server->stats().client_closed == 1);
}

TEST_CASE("stand-in: none of a thousand closed streams produces tokens afterwards", "[standin][load]") {
  standin::ServerThread server;
  std::vector<RawClient> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.emplace_back(server->port());
    REQUIRE(clients.back().send(chat_request("x-agent-id: a" + std::to_string(i) +
                                             "\r\nx-standin-tokens: 0\r\nx-standin-rate: 10\r\n")));
  }
  for (RawClient& client : clients) REQUIRE(client.read_until("\"content\":\" said:\""));
  CHECK(server->stats().open == 1000);
  const std::int64_t before = standin::now_ns();
  for (RawClient& client : clients) client.end_sending();
  REQUIRE(server->wait_until(all_gone));
  CHECK(server->stats().client_closed == 1000);
  CHECK(server->stats().tokens_after_client == 0);
  for (const standin::Record& record : server->records()) {
    REQUIRE(record.agent == "a" + std::to_string(record.number - 1));
    REQUIRE(record.end_ns >= before);
    REQUIRE(record.last_token_ns <= record.end_ns);
  }
  for (RawClient& client : clients) {
    REQUIRE(client.read_to_end().find("[DONE]") == std::string::npos);
  }
}

TEST_CASE("stand-in: a thousand answers at once all arrive whole", "[standin][load]") {
  standin::ServerThread server;
  std::vector<RawClient> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.emplace_back(server->port());
    REQUIRE(clients.back().send(chat_request("x-standin-tokens: 20\r\nx-standin-rate: 500\r\n")));
  }
  for (RawClient& client : clients) {
    const RawAnswer answer = client.read_answer();
    REQUIRE(answer.complete);
    REQUIRE(events_of(answer.body).size() == 1 + 20 + 1 + 1);
  }
  CHECK(server->wait_until([](const standin::Stats& s) { return s.tokens == 20000; }));
}
