// What the stand-in answers when all goes well.
#include "raw_client.hpp"
#include "standin/server_thread.hpp"
#include "support/catch.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace {

constexpr std::string_view fast_pace =
    "x-standin-rate: 0\r\nx-standin-first-token-ms: 0\r\nx-standin-tokens: 30\r\n";

standin::Options fast(std::uint64_t tokens) {
  standin::Options options;
  options.pace = {.tokens = tokens, .rate = 0, .first_token_ms = 0};
  return options;
}

}  // namespace

TEST_CASE("stand-in: a stream has a role and a delta per token and a finish reason and usage and an end",
          "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(chat_request(fast_pace, R"(,"stream":true,"stream_options":{"include_usage":true})")));
  const RawAnswer answer = client.read_answer();

  CHECK(answer.status == 200);
  CHECK(answer.complete);
  CHECK(answer.header("content-type") == "text/event-stream; charset=utf-8");
  CHECK(answer.header("x-request-id") == "standin-1");
  const auto events = events_of(answer.body);
  REQUIRE(events.size() == 1 + 30 + 1 + 1 + 1);
  CHECK(nlohmann::json::parse(events[0])["choices"][0]["delta"]["role"] == "assistant");
  const auto token = nlohmann::json::parse(events[1]);
  CHECK(token["object"] == "chat.completion.chunk");
  CHECK(token["model"] == "m");
  CHECK(token["choices"][0]["delta"]["content"] == "You");
  CHECK(token["choices"][0]["finish_reason"].is_null());
  CHECK(nlohmann::json::parse(events[31])["choices"][0]["finish_reason"] == "stop");
  const auto usage = nlohmann::json::parse(events[32]);
  CHECK(usage["choices"].empty());
  CHECK(usage["usage"]["completion_tokens"] == 30);
  CHECK(usage["usage"]["prompt_tokens"] == 4);
  CHECK(events[33] == "[DONE]");
  CHECK(content_of(answer.body).starts_with("You said: \"Say \"hi\" to Zoë\". "));
}

TEST_CASE("stand-in: without stream the same text comes in one body", "[standin]") {
  standin::ServerThread server(fast(30));
  RawClient client(server->port());
  REQUIRE(client.send(chat_request({}, "")));
  const RawAnswer whole = client.read_answer();
  REQUIRE(client.send(chat_request()));
  const RawAnswer stream = client.read_answer();

  CHECK(whole.status == 200);
  const auto json = nlohmann::json::parse(whole.body);
  CHECK(json["object"] == "chat.completion");
  CHECK(json["choices"][0]["finish_reason"] == "stop");
  CHECK(json["usage"]["total_tokens"] == 34);
  CHECK(json["choices"][0]["message"]["content"] == content_of(stream.body));
}

TEST_CASE("stand-in: requests follow each other on one connection with or without pipelining", "[standin]") {
  standin::ServerThread server(fast(5));
  RawClient client(server->port());
  for (int i = 0; i < 2; ++i) {
    REQUIRE(client.send(chat_request()));
    CHECK(client.read_answer().complete);
  }
  REQUIRE(client.send(chat_request() + request("GET", "/health") + chat_request({}, "")));
  CHECK(client.read_answer().header("x-request-id") == "standin-3");
  CHECK(client.read_answer().body == "{\"status\":\"ok\"}\n");
  CHECK(client.read_answer().header("x-request-id") == "standin-4");
  CHECK(server->wait_until([](const standin::Stats& s) { return s.completed == 4; }));
}

TEST_CASE("stand-in: max_tokens limits an answer and the finish reason says so", "[standin]") {
  standin::ServerThread server(fast(0));
  RawClient client(server->port());
  REQUIRE(client.send(chat_request({}, R"(,"stream":true,"max_tokens":7)")));
  const auto events = events_of(client.read_answer().body);
  REQUIRE(events.size() == 1 + 7 + 1 + 1);
  CHECK(nlohmann::json::parse(events[8])["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("stand-in: tokens are never sent ahead of the pace", "[standin]") {
  standin::ServerThread server;
  RawClient client(server->port());
  REQUIRE(client.send(
      chat_request("x-standin-tokens: 6\r\nx-standin-rate: 100\r\nx-standin-first-token-ms: 20\r\n")));
  CHECK(client.read_answer().complete);
  REQUIRE(server->wait_until([](const standin::Stats& s) { return s.completed == 1; }));
  const standin::Record record = server->records().at(0);
  CHECK(record.first_token_ns - record.start_ns >= 20'000'000);
  CHECK(record.last_token_ns - record.start_ns >= 70'000'000);
  CHECK(record.first_byte_ns < record.first_token_ns);
}

TEST_CASE("stand-in: content parts and chunked bodies and HTTP/1.0 are understood", "[standin]") {
  standin::ServerThread server(fast(9));
  const std::string body =
      R"({"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"two"},{"type":"text","text":"parts"}]}]})";
  RawClient client(server->port());
  REQUIRE(client.send(
      "POST /chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n"));
  REQUIRE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  REQUIRE(client.send("5;x=y\r\n" + body.substr(0, 5) + "\r\n"));
  REQUIRE(client.send("6f\r\n" + body.substr(5) + "\r\n0\r\nsome: trailer\r\n\r\n"));
  CHECK(body.size() == 5 + 0x6f);
  REQUIRE(client.read_until("[DONE]"));

  RawClient old(server->port());
  const std::string length = std::to_string(body.size());
  REQUIRE(old.send("POST /chat/completions HTTP/1.0\r\ncontent-length: " + length + "\r\n\r\n" + body));
  const RawAnswer answer = old.read_answer();
  CHECK(answer.header("transfer-encoding").empty());
  CHECK(content_of(answer.body).starts_with("You said: \"two parts\". "));
}

TEST_CASE("stand-in: a key is required if one was set", "[standin]") {
  standin::Options options = fast(3);
  options.api_key = "sesame";
  standin::ServerThread server(options);
  RawClient client(server->port());
  REQUIRE(client.send(chat_request()));
  const RawAnswer refused = client.read_answer();
  CHECK(refused.status == 401);
  CHECK(nlohmann::json::parse(refused.body)["error"]["code"] == "invalid_api_key");
  REQUIRE(client.send(chat_request("Authorization: Bearer sesame\r\n")));
  CHECK(client.read_answer().status == 200);
  REQUIRE(client.send(request("GET", "/v1/models")));
  CHECK(client.read_answer().status == 401);
  CHECK(server->records().at(0).status == 401);
}

TEST_CASE("stand-in: models and records and stats are served and anything else is not found", "[standin]") {
  standin::ServerThread server(fast(3));
  RawClient client(server->port());
  const auto get = [&](std::string_view method, std::string_view path) {
    REQUIRE(client.send(request(method, path)));
    return client.read_answer();
  };
  REQUIRE(client.send(chat_request("x-agent-id: scout\r\n")));
  CHECK(client.read_answer().complete);
  CHECK(nlohmann::json::parse(get("GET", "/v1/models").body)["data"][0]["id"] == "standin");
  const auto record = nlohmann::json::parse(get("GET", "/standin/records").body)["records"][0];
  CHECK(record["agent"] == "scout");
  CHECK(record["tokens"] == 3);
  CHECK(record["ended"] == "completed");
  CHECK(nlohmann::json::parse(get("GET", "/standin/records?since=1").body)["records"].empty());
  CHECK(get("GET", "/standin/records?since=x").status == 400);
  CHECK(nlohmann::json::parse(get("GET", "/standin/stats").body)["tokens"] == 3);
  CHECK(get("DELETE", "/standin/records").status == 200);
  CHECK(nlohmann::json::parse(get("GET", "/standin/stats").body)["requests"] == 0);
  CHECK(get("GET", "/nowhere").status == 404);
  CHECK(get("GET", "/v1/chat/completions").status == 405);
}
