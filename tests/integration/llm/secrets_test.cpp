// A key is nowhere but in the request that it is for.
#include "integration/llm/llm_fixture.hpp"
#include "support/catch.hpp"
#include "support/memory_scan.hpp"
#include "support/recorder_lines.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>

#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string secret = "sk-\"echo/me+9f8e7d6c5b4a";
const std::string as_json = R"(sk-\"echo\/me+9f8e7d6c5b4a)";
const std::string as_url = "sk-%22echo%2Fme%2B9f8e7d6c5b4a";
const std::string as_basic = "dXNlcjpzay0iZWNoby9tZSs5ZjhlN2Q2YzViNGE=";  // "user:" before it

// Everything that anybody could be told of one call.
struct Told {
  std::string error, model, log, recording, events;
};

// One call through a tree, of a server that answers in this way. `from_source`: the key is asked for.
Told tell(const std::vector<std::string>& pieces, bool from_source) {
  Told told;
  SocketServer server([&pieces](Peer& peer) {
    peer.read_request();
    for (const std::string& piece : pieces) {
      peer.write(piece);
      peer.wait_step();
    }
  });
  RecorderLines lines;
  RuntimeOptions quiet;
  quiet.log = [&told](const LogRecord& record) {
    told.log += record.message;
    for (const auto& field : record.fields) told.log.append(field.key).append(field.value);
  };
  Runtime runtime(quiet);
  HttpLlmOptions options;
  options.base_url = server.url() + "?key=" + as_url;
  options.model = "m";
  options.proxy = "none";
  options.recorder = lines.recorder();
  if (from_source)
    options.api_key_source = [] { return secret; };
  else
    options.api_key = secret;
  HttpLlmClient llm(runtime, options);
  AgentTree tree(runtime, {.llm = &llm});
  bool ended = false;
  auto events = tree.on_event([&](const Event& event) {
    if (const auto* delta = event.get<DeltaReceived>()) told.events += delta->text;
    if (const auto* end = event.get<TurnEnded>()) {
      told.error = end->error.message;
      ended = true;
    }
  });
  REQUIRE(tree.create(AgentSpec{}).value().send("hello"));
  for (std::size_t i = 0; i < pieces.size(); ++i) server.step();
  REQUIRE(drive(runtime, &server, [&ended] { return ended; }));
  told.recording = lines.text;
  return told;
}

std::string error_page(const std::string& status, const std::string& type, const std::string& body) {
  return http_answer(status + " " + secret, type + "; boundary=" + secret, body);
}

}  // namespace

TEST_CASE("a server that repeats the key in every place tells nobody", "[llm][secrets][recording]") {
  const bool from_source = GENERATE(false, true);
  const std::string chunk = R"(data: {"error":{"message":"key )" + as_json + " " + as_basic + "\"}}\n\n";
  const auto pieces = GENERATE_COPY(
      std::vector<std::string>{error_page("401 No", "text/html", "<p>Bearer " + secret + " " + as_url)},
      std::vector<std::string>{error_page("400 No", "application/json",
                                          R"({"error":{"message":")" + as_json + " " + as_basic + "\"}}")},
      std::vector<std::string>{error_page("500 No", secret, secret)},
      std::vector<std::string>{"HTTP/1.1 302 " + secret + "\r\nLocation: http://elsewhere.invalid/?k=" +
                               as_url + "\r\nRetry-After: " + secret + "\r\nSet-Cookie: " + secret +
                               "\r\nX-Request-Id: " + secret + "\r\nContent-Length: 0\r\n\r\n"},
      std::vector<std::string>{std::string(stream_head) + chunk},
      std::vector<std::string>{std::string(stream_head) + chunk.substr(0, 40), chunk.substr(40)},
      std::vector<std::string>{std::string(stream_head) + "data: " + secret + "\n\n"},
      std::vector<std::string>{http_answer("200 OK", "application/json", secret)},
      std::vector<std::string>{secret + "\r\n\r\n"},
      std::vector<std::string>{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n"});
  const Told told = tell(pieces, from_source);
  CHECK_FALSE(told.error.empty());
  CHECK_FALSE(told.recording.empty());
  for (const std::string& text : {told.error, told.log, told.recording, told.events})
    for (const std::string& form :
         {secret, as_json, as_url, std::string("9f8e7d6c5b4a"), as_basic.substr(8, 26)}) {
      INFO(text);
      CHECK(text.find(form) == std::string::npos);
    }
}

#ifndef SANITIZED
namespace {

// A key that this process holds nowhere else: it is made from its mask at run time.
std::string unmasked(const Masked& mask) {
  return mask.reveal();
}

void use_client(const Masked& mask, std::string base_url, std::shared_ptr<const HttpReplay> replay,
                bool from_source) {
  Runtime runtime;
  HttpLlmOptions options;
  options.base_url = std::move(base_url);
  options.model = "m";
  options.proxy = "none";
  options.replay = std::move(replay);
  if (from_source)
    options.api_key_source = [&mask] { return unmasked(mask); };
  else
    options.api_key = unmasked(mask);
  options.headers = {"X-Api-Key: " + unmasked(mask)};
  RecorderLines lines;
  options.recorder = lines.recorder();
  ChatRecord heard;
  HttpLlmClient llm(runtime, std::move(options));
  CHECK(count_in_memory(mask) > 0);  // else the scan would prove nothing
  llm.chat(ask("a"), {}, heard.sink());
  REQUIRE(runtime.run_until_idle());
  CHECK(heard.ended());
}

}  // namespace

TEST_CASE("no key is in memory when its client is gone", "[llm][secrets]") {
  const bool from_source = GENERATE(false, true);
  const Masked mask("sk-memory-", 48);
  REQUIRE(count_in_memory(mask) == 0);
  SECTION("after a replay") {
    HttpExchange exchange;
    exchange.url = "http://h/v1/chat/completions";
    exchange.status = 500;
    use_client(mask, "http://h/v1", std::make_shared<HttpReplay>(std::vector{exchange}), from_source);
  }
  SECTION("after a transfer that found no server") {
    std::string url;
    {
      const SocketServer gone([](Peer&) {});
      url = gone.url();
    }
    use_client(mask, url, nullptr, from_source);
  }
  CHECK(count_in_memory(mask) == 0);
}
#endif
