// Each dialect over HTTP: its path and its header of the key, its golden answers, a stop in its stream.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/wire/golden.hpp"

#include <agentcore/provider.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct Case {
  const char* provider;
  const char* golden;
  const char* path;
  const char* auth;
  std::uint64_t cached, written;  // tokens of the prompt, in the golden answer
};

const Case cases[] = {
    {"openai", "openai_chat", "/chat/completions HTTP/1.1", "Authorization: Bearer sk-integration-secret", 64,
     0},
    {"openai-responses", "openai_responses", "/responses HTTP/1.1",
     "Authorization: Bearer sk-integration-secret", 256, 0},
    {"anthropic", "anthropic_messages", "/messages HTTP/1.1", "x-api-key: sk-integration-secret", 64, 40}};

HttpLlmOptions options_of(const Case& one, const SocketServer& server) {
  HttpLlmOptions options = provider_options(one.provider).value();
  options.base_url = server.url();
  options.api_key_env.clear();
  options.api_key = api_key;
  options.model = "test-model";
  options.proxy = "none";
  return options;
}

}  // namespace

TEST_CASE("every dialect works over HTTP with and without streaming", "[llm][O1][O2]") {
  for (const Case& one : cases) {
    std::string asked;
    LlmFixture f([&](Peer& peer) {
      for (;;) {
        asked = peer.read_request();
        if (asked.empty()) return;
        const bool stream = asked.find("\"stream\":true") != std::string::npos;
        const std::string body =
            read_golden(one.golden + std::string(stream ? "/answer.sse" : "/answer.json"));
        peer.write(http_answer("200 OK", stream ? "text/event-stream" : "application/json", body));
      }
    });
    f.llm = std::make_unique<HttpLlmClient>(*f.runtime, options_of(one, f.server));
    INFO(one.provider);
    f.chat("a", f.heard);
    REQUIRE(f.drive_to_end(f.heard));
    CHECK(asked.substr(0, asked.find("\r\n")).find(one.path) != std::string::npos);
    CHECK(asked.find(one.auth) != std::string::npos);
    REQUIRE(f.heard.completed());
    const ChatOutcome& streamed = f.heard.outcomes[0];
    CHECK(streamed.usage.total_tokens > 0);
    CHECK(streamed.usage.complete);
    CHECK(streamed.usage.cached_tokens == one.cached);
    CHECK(streamed.usage.cache_write_tokens == one.written);
    CHECK_FALSE(f.heard.text().empty());
    CHECK_FALSE(streamed.tool_calls.empty());

    ChatRequest whole = ask("a");
    whole.stream = false;
    f.llm->chat(whole, f.stop.get_token(), f.other.sink());
    REQUIRE(f.drive_to_end(f.other));
    REQUIRE(f.other.completed());
    CHECK(f.other.text() == f.heard.text());
    CHECK(f.other.outcomes[0].usage == streamed.usage);
    CHECK(f.other.outcomes[0].tool_calls == streamed.tool_calls);
    CHECK(f.other.outcomes[0].finish_reason == streamed.finish_reason);
    CHECK(f.other.outcomes[0].reasoning.size() == streamed.reasoning.size());
    CHECK(f.server.accepted() == 1);  // an answer that is complete leaves its connection for the next call
  }
}

TEST_CASE("a stop in the stream of any dialect closes the connection", "[llm][G5][G6][G7][A7]") {
  for (const Case& one : cases) {
    LlmFixture f([&](Peer& peer) {
      peer.read_request();
      const std::string body = read_golden(one.golden + std::string("/answer.sse"));
      peer.write(std::string(stream_head) + body.substr(0, body.size() / 2));
      peer.wait_close();
    });
    f.llm = std::make_unique<HttpLlmClient>(*f.runtime, options_of(one, f.server));
    INFO(one.provider);
    f.chat("a", f.heard);
    REQUIRE(f.drive_until([&] { return !f.heard.text().empty() || !f.heard.reasoning.empty(); }));
    std::jthread([&] { f.stop.request_stop(); }).join();
    CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
    const std::string before = f.heard.text();
    REQUIRE(f.drive_to_end(f.heard));
    CHECK(f.heard.cancelled());
    CHECK(f.heard.text() == before);
    CHECK_FALSE(f.heard.outcomes[0].usage.complete);
  }
}
