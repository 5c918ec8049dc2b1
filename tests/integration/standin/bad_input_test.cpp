// Nothing that a client sends ends the server, hangs it, or makes it hold more than its limits.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

int status_of(standin::ServerThread& server, const std::string& bytes) {
  RawClient client(server->port());
  client.send(bytes);
  return client.read_answer().status;
}

bool is_alive(standin::ServerThread& server) {
  return status_of(server, request("GET", "/health")) == 200;
}

int chat_status(standin::ServerThread& server, const std::string& body) {
  return status_of(server, request("POST", "/v1/chat/completions", {}, body));
}

}  // namespace

TEST_CASE("stand-in: a bad request gets 400 and a reason and the connection stays open", "[standin]") {
  const std::string path = GENERATE("/v1/chat/completions", "/v1/messages");
  INFO(path);
  standin::Options options;
  options.prompt_cache = true;
  standin::ServerThread server(options);
  const std::vector<std::string> bodies = {
      "",
      "{",
      "[]",
      "null",
      "{}",
      R"({"messages":[]})",
      R"({"messages":"hello"})",
      R"({"messages":[1]})",
      R"({"messages":[{"content":"x"}]})",
      R"({"messages":[{"role":7}]})",
      R"({"messages":[{"role":"user","content":"x"}],"stream":"yes"})",
      R"({"messages":[{"role":"user","content":"x"}],"model":7})",
      R"({"messages":[{"role":"user","content":"x"}],"max_tokens":-1})",
      R"({"messages":[{"role":"user","content":"x"}],"stream_options":[]})",
      R"({"messages":[{"role":"user","content":"x"}],"user":{}})",
      "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
      R"({"model":")" + std::string(100'000, 'm') + R"(","messages":[{"role":"user","content":"x"}]})",
  };
  RawClient client(server->port());
  for (const std::string& body : bodies) {
    INFO(body.substr(0, 100));
    REQUIRE(client.send(request("POST", path, "anthropic-version: 2023-06-01\r\n", body)));
    const RawAnswer answer = client.read_answer();
    CHECK(answer.status == 400);
    CHECK(nlohmann::json::parse(answer.body)["error"]["type"] == "invalid_request_error");
  }
  for (const char* header :
       {"x-standin-tokens: many", "x-standin-tokens: -1", "x-standin-rate: nan", "x-standin-rate: -1",
        "x-standin-first-token-ms: 1e9", "x-standin-fault: naughty"}) {
    INFO(header);
    REQUIRE(client.send(chat_request(std::string(header) + "\r\n")));
    CHECK(client.read_answer().status == 400);
  }
}

TEST_CASE("stand-in: deep or huge JSON is refused and unusual valid JSON is not", "[standin]") {
  standin::ServerThread server;
  CHECK(chat_status(server, std::string(2'000'000, '[')) == 400);
  CHECK(chat_status(server, std::string(500'000, '[') + std::string(500'000, ']')) == 400);
  const auto with_content = [&](const std::string& content) {
    const nlohmann::json body = {{"messages", {{{"role", "user"}, {"content", content}}}}, {"max_tokens", 1}};
    return chat_status(server, body.dump());
  };
  CHECK(with_content("") == 200);
  CHECK(with_content(std::string(300'000, 'x')) == 200);
  CHECK(with_content("\"\\ \x01\x02\n \xf0\x9f\x8f\x96") == 200);
  CHECK(with_content(std::string(30, 'a') + "ä" + std::string(30, 'b')) == 200);
}

TEST_CASE("stand-in: input that is not HTTP gets a status and is closed", "[standin]") {
  standin::ServerThread server;
  const std::vector<std::pair<std::string, int>> cases = {
      {"hello\r\n\r\n", 400},
      {"GET /health\r\n\r\n", 400},
      {"GET  HTTP/1.1\r\n\r\n", 400},
      {"GET /health HTTP/2.0\r\n\r\n", 505},
      {"GET /a b HTTP/1.1\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nbad name: x\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\n: x\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nx: a\r\n b\r\n\r\n", 400},
      {std::string("GET /health HTTP/1.1\r\nx: a\0b\r\n\r\n", 33), 400},
      {"POST /health HTTP/1.1\r\ncontent-length: ten\r\n\r\n", 400},
      {"POST /health HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400},
      {"POST /health HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", 400},
      {"POST /health HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n", 413},
      {"POST /health HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400},
      {"POST /health HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", 400},
      {"POST /health HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501},
      {"POST /health HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"POST /health HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n", 400},
      {"POST /health HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n", 413},
      {"POST /health HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + std::string(5000, '1'), 400},
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"GET /health HTTP/1.1\r\nx: " + std::string(100'000, 'a'), 431},
  };
  for (const auto& [bytes, status] : cases) {
    INFO(bytes.substr(0, 100));
    RawClient client(server->port());
    client.send(bytes);
    CHECK(client.read_answer().status == status);
    CHECK(client.read_to_end().empty());  // closed
  }
  std::string many = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) many += "a: b\r\n";
  CHECK(status_of(server, many + "\r\n") == 431);
  CHECK(is_alive(server));
}

TEST_CASE("stand-in: a short body is waited for and extra bytes are the next request", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 50\r\n\r\n{\"messages\""));
  CHECK(is_alive(server));
  client.end_sending();
  CHECK(client.read_to_end().empty());
  RawClient second(server->port());
  REQUIRE(second.send("GET /health HTTP/1.1\r\ncontent-length: 2\r\n\r\nxxyy\r\n\r\n"));
  CHECK(second.read_answer().status == 200);
  CHECK(second.read_answer().status == 400);
  CHECK(server->stats().requests == 0);
}

TEST_CASE("stand-in: random bytes and damaged requests never end it", "[standin]") {
  standin::ServerThread server;
  std::mt19937 random(20240607);
  const auto draw = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 400; ++round) {
    std::string bytes =
        chat_request("x-standin-tokens: 3\r\nx-standin-rate: 0\r\nx-standin-first-token-ms: 0\r\n");
    if (round % 4 == 0) bytes.assign(1 + draw(2000), '\0');
    const std::size_t damage = round % 4 == 0 ? bytes.size() : 1 + draw(8);
    for (std::size_t i = 0; i < damage; ++i) bytes[draw(bytes.size())] = static_cast<char>(draw(256));
    if (round % 4 == 1) bytes.resize(draw(bytes.size()));
    RawClient client(server->port());
    client.send(bytes);
    if (round % 2 == 0) client.end_sending();
    if (round % 8 == 0) client.read_to_end();
  }
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.open == 0; }));
  CHECK(is_alive(server));
}

TEST_CASE("stand-in: a client that floods with requests and reads nothing is held back", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request("x-standin-fault: hang-after-headers\r\n")));
  REQUIRE(client.read_until("\r\n\r\n"));
  std::string flood;
  for (int i = 0; i < 4000; ++i) flood += request("GET", "/health");
  REQUIRE(client.send(flood.substr(0, 200'000)));
  CHECK(is_alive(server));
  client.end_sending();  // noticed after all those unread bytes
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.client_closed == 1; }));
}
