// Misbehaviour on request, and what the records say about it.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace {

std::string faulty(std::string_view fault, std::string_view extra_json = R"(,"stream":true)") {
  return chat_request(
      "x-standin-rate: 0\r\nx-standin-first-token-ms: 0\r\nx-standin-tokens: 20\r\nx-standin-fault: " +
          std::string(fault) + "\r\n",
      extra_json);
}

// Asks for a fault and reads a whole answer.
RawAnswer answer_with(standin::ServerThread& server, std::string_view fault,
                      std::string_view extra_json = R"(,"stream":true)") {
  RawClient client(server->port());
  REQUIRE(client.send(faulty(fault, extra_json)));
  return client.read_answer();
}

}  // namespace

TEST_CASE("stand-in: the three kinds of silence last until the client disconnects", "[standin]") {
  standin::ServerThread server;
  struct Silence {
    std::string fault, last_seen;
    std::uint64_t tokens;
  };
  const auto silence =
      GENERATE(Silence{"hang-before-headers", "", 0}, Silence{"hang-after-headers", "\r\n\r\n", 0},
               Silence{"hang-mid-stream", "\"content\":\" Zoë\\\".\"", 10});
  RawClient client(server->port());
  REQUIRE(client.send(faulty(silence.fault)));
  CHECK(client.read_until(silence.fault == "hang-mid-stream" ? "chatcmpl" : silence.last_seen));
  REQUIRE(
      server->wait_until([&](const standin::Stats& s) { return s.open == 1 && s.tokens == silence.tokens; }));
  client.end_sending();
  const std::string rest = client.read_to_end();
  CHECK(rest.empty() == (silence.fault == "hang-before-headers"));
  CHECK(rest.find("[DONE]") == std::string::npos);
  const standin::Record record = server->records().at(0);
  CHECK(record.ending == standin::Ending::client_closed);
  CHECK(record.tokens == silence.tokens);
  CHECK((record.first_byte_ns == 0) == (silence.fault == "hang-before-headers"));
}

TEST_CASE("stand-in: a stream can be closed in the middle", "[standin]") {
  standin::ServerThread server;
  const RawAnswer answer = answer_with(server, "close-mid-stream");
  CHECK(answer.status == 200);
  CHECK_FALSE(answer.complete);
  CHECK(events_of(answer.body).size() == 1 + 10);
  CHECK(server->wait_until([](const standin::Stats& s) { return s.server_closed == 1; }));
  CHECK_FALSE(answer_with(server, "close-mid-stream", "").complete);
}

TEST_CASE("stand-in: garbage may be sent in the middle of a stream or of a body", "[standin]") {
  standin::ServerThread server;
  const RawAnswer answer = answer_with(server, "garbage");
  CHECK(answer.complete);
  const auto events = events_of(answer.body);
  REQUIRE(events.size() == 1 + 20 + 1 + 1 + 1);
  CHECK_FALSE(nlohmann::json::accept(events[11]));
  CHECK(nlohmann::json::accept(events[12]));
  CHECK(events.back() == "[DONE]");
  const RawAnswer whole = answer_with(server, "garbage", "");
  CHECK(whole.complete);
  CHECK_FALSE(nlohmann::json::accept(whole.body));
}

TEST_CASE("stand-in: configured errors are sent as errors", "[standin]") {
  standin::ServerThread server;
  const RawAnswer broken = answer_with(server, "error-500");
  CHECK(broken.status == 500);
  CHECK(nlohmann::json::parse(broken.body)["error"]["type"] == "server_error");
  const RawAnswer limited = answer_with(server, "error-429");
  CHECK(limited.status == 429);
  CHECK(limited.header("retry-after") == "1");
  const RawAnswer page = answer_with(server, "html");
  CHECK(page.status == 200);
  CHECK(page.header("content-type").starts_with("text/html"));
  CHECK(page.body.starts_with("<!DOCTYPE html>"));
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.completed == 3; }));
  CHECK(server->records().at(1).status == 429);
}

TEST_CASE("stand-in: a stream can end without an end marker", "[standin]") {
  standin::ServerThread server;
  const RawAnswer answer = answer_with(server, "no-done");
  CHECK(answer.complete);
  CHECK(events_of(answer.body).size() == 1 + 20);
  CHECK(answer.body.find("[DONE]") == std::string::npos);
  CHECK(answer.body.find("\"finish_reason\":\"") == std::string::npos);
}
