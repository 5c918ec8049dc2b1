// Answers of a real server on a real socket.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"

#include <agentcore/http_llm_client.hpp>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Answers every request with the same bytes.
SocketServer::Script always(std::string bytes) {
  return [bytes](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(bytes);
  };
}

}  // namespace

TEST_CASE("a question is sent and its answer arrives in pieces", "[openai][O1][O2][O7]") {
  std::string request;
  LlmFixture f([&request](Peer& peer) {
    request = peer.read_request();
    peer.write(stream_head);
    for (const char byte :
         delta_event("H\xC3\xBC") + delta_event("\\u00fc!") + finish_event + usage_event + done_event)
      peer.write({&byte, 1});
  });
  f.chat("a", f.heard);
  CHECK(f.llm->has_active_request("a"));
  CHECK(f.llm->open_calls() == 1);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.text() == "H\xC3\xBC\xC3\xBC!");
  CHECK(f.heard.completed());
  CHECK(f.heard.outcomes[0].finish_reason == FinishReason::complete);
  CHECK(f.heard.outcomes[0].usage == Usage{1, 2, 3});
  CHECK_FALSE(f.llm->has_active_request("a"));
  CHECK(f.llm->open_calls() == 0);

  CHECK(request.find("POST /v1/x/chat/completions HTTP/1.1\r\n") == 0);
  CHECK(request.find("\r\nAuthorization: Bearer " + api_key + "\r\n") != std::string::npos);
  CHECK(request.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
  const auto body = nlohmann::json::parse(request.substr(request.find("\r\n\r\n") + 4));
  CHECK(body["model"] == "test-model");
  CHECK(body["messages"][0]["content"] == "hello");
  CHECK(f.runtime->run_until_idle());
}

TEST_CASE("a connection is reused after the DONE event", "[openai]") {
  const std::string events = delta_event("x") + finish_event + done_event;
  LlmFixture f(always(http_answer("200 OK", "text/event-stream", events)));
  for (int i = 0; i < 10; ++i) {
    ChatRecord record;
    f.chat("a", record);
    REQUIRE(f.drive_to_end(record));
    CHECK(record.completed());
  }
  CHECK(f.server.accepted() == 1);
}

TEST_CASE("an answer without streaming is read as a whole", "[openai]") {
  LlmFixture f(always(http_answer("200 OK", "application/json",
                                  R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"length"}]})")));
  ChatRequest request = ask("a");
  request.stream = false;
  f.llm->chat(std::move(request), {}, f.heard.sink());
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.text() == "Hi");
  CHECK(f.heard.outcomes[0].finish_reason == FinishReason::length);
}

TEST_CASE("a truncated stream is a retryable error", "[openai]") {
  LlmFixture f([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write(delta_event("half an ans"));
  });
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.failed_with(Errc::network_error));
  CHECK(f.heard.error().retryable);
  CHECK_FALSE(f.llm->has_active_request("a"));
}

TEST_CASE("an HTML page instead of an answer is quoted in the error", "[openai][O5]") {
  LlmFixture f(always(http_answer("200 OK", "text/html", "<html>log in")));
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.error().message ==
        "Failed to parse API response as JSON. Raw response: <html>log in (the answer came from " +
            f.server.url() + "/chat/completions; check HttpLlmOptions::base_url)");
}

TEST_CASE("the key is in no error and no log even if the server repeats it", "[openai]") {
  const std::string echo = "You sent \\\"Bearer " + api_key + "\\\"";
  for (const std::string& body : {"{\"error\":{\"message\":\"" + echo + "\"}}",
                                  "{\"detail\":\"" + echo + "\"}", echo, std::string(480, '.') + echo}) {
    for (const std::string status : {"200 OK", "401 Unauthorized", "500 Oops"}) {
      LlmFixture f(always(http_answer(status, "application/json", body)));
      f.chat("a", f.heard);
      REQUIRE(f.drive_to_end(f.heard));
      CHECK(f.heard.ended_as(ChatOutcome::Kind::failed));
      for (const std::string& text : {f.heard.error().message, f.log})
        CHECK(text.find(api_key.substr(0, 8)) == std::string::npos);
    }
  }
}

TEST_CASE("a refused connection is a network error", "[openai][X19]") {
  LlmFixture f([](Peer&) {});
  HttpLlmOptions options = f.client_options();
  {
    const SocketServer gone([](Peer&) {});
    options.base_url = gone.url();
  }
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, options);
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.failed_with(Errc::network_error));
  CHECK(f.heard.error().retryable);
}

TEST_CASE("a bad option fails the call at once", "[openai]") {
  LlmFixture f([](Peer&) {});
  HttpLlmOptions options = f.client_options();
  options.base_url = "localhost";
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, options);
  f.chat("a", f.heard);
  CHECK(f.heard.failed_with(Errc::invalid_config));
  CHECK_FALSE(f.llm->has_active_request("a"));
}

TEST_CASE("a second call of an agent over HTTP is refused", "[openai][A1]") {
  LlmFixture f([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  f.chat("a", f.heard);
  f.chat("a", f.other);
  CHECK(f.other.failed_with(Errc::request_in_progress));
  CHECK(f.llm->has_active_request("a"));
  CHECK_FALSE(f.heard.ended());
}
