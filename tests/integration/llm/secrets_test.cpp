// A key is nowhere but in the request that it is for: however it came to the client and however a call ends,
// nothing that a run says shows it.
#include "llm/http/base64.hpp"
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/observe/transcript.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

const std::string secret = "sk-\"echo/me+9f8e7d6c5b4a";
const std::string as_json = R"(sk-\"echo\/me+9f8e7d6c5b4a)";
const std::string as_url = "sk-%22echo%2Fme%2B9f8e7d6c5b4a";
const std::string as_html = "sk-&quot;echo/me+9f8e7d6c5b4a";
const std::string as_basic = detail::llm::to_base64("user:" + secret);  // as it is sent to proxies
const char* const variable = "AGENTCORE_SECRETS_TEST_KEY";

// What must not be found of it. All forms but base64 end alike; base64 has three, by where the key begins.
std::vector<std::string> traces() {
  std::vector<std::string> all{secret, as_json, as_url, as_html, "9f8e7d6c5b4a"};
  for (const char* before : {"", "u", "us"})
    all.push_back(detail::llm::to_base64(before + secret).substr(4, 24));
  return all;
}

enum class From : unsigned char { host, callback, environment };

// A run of an agent with one tool, whose client has the key from there, and all that is said meanwhile.
struct Run {
  explicit Run(From source, SocketServer::Script script)
      : from(source), server(std::move(script)), runtime(with_log()) {
    ::setenv(variable, secret.c_str(), 1);
  }
  ~Run() { ::unsetenv(variable); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RuntimeOptions with_log() {
    RuntimeOptions options;
    options.log = [this](const LogRecord& record) { transcript.add(record); };
    return options;
  }
  HttpLlmOptions client_options(const SocketServer& at) {
    HttpLlmOptions options;
    options.base_url = at.url() + "?user=" + as_url;
    options.model = "m";
    options.proxy = "none";
    options.recorder = lines.recorder();
    if (from == From::host) options.api_key = secret;
    if (from == From::callback) options.api_key_source = [] { return secret; };
    if (from == From::environment) options.api_key_env = variable;
    return options;
  }
  // One question, until its turn has ended.
  void ask(LlmClient& client, const std::function<void(const Agent&)>& on_delta = {}) {
    TranscribedClient transcribed(client, transcript);
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(make_tool({.name = "look"}, [](const nlohmann::json&, const ToolContext&) {
      return ToolResult::done("the sea");
    }));
    AgentTree tree(runtime, {.llm = &transcribed.client()});
    auto events = tree.on_event([&](const Event& event) {
      transcript.add(event);
      if (const auto* turn = event.get<TurnEnded>()) end = turn->result->outcome;
      if (on_delta && event.get<DeltaReceived>() != nullptr) on_delta(event.agent());
    });
    const Agent agent = tree.create({.tools = tools}).value();
    REQUIRE(agent.send("hello"));
    REQUIRE(drive(runtime, &server, [&] { return end.has_value(); }));
    REQUIRE(drive(runtime, &server, [&] { return agent.state().value() != AgentState::stopping; }));
    transcript.add(history_to_json(agent.conversation().value()));
    transcript.add(lines);
  }
  bool says(std::string_view words) const { return transcript.text.find(words) != std::string::npos; }
  void check_silent() const {
    for (const std::string& trace : traces()) {
      INFO(trace << " is in " << transcript.text);
      CHECK_FALSE(says(trace));
    }
  }

  const From from;
  Transcript transcript;
  RecorderLines lines;
  SocketServer server;
  Runtime runtime;
  std::optional<TurnOutcome> end;
};

From any_source() {
  return GENERATE(From::host, From::callback, From::environment);
}

// Whatever the request, it had the key.
bool had_key(const std::string& request) {
  return request.find("Authorization: Bearer " + secret + "\r\n") != std::string::npos;
}

std::string error_page(const std::string& status, const std::string& type, const std::string& body) {
  return http_answer(status + " " + secret, type + "; boundary=" + secret, body);
}

// The beginning of a stream, with the key wherever a head and a comment can hold it.
const std::string echoing_head =
    "HTTP/1.1 200 " + secret + "\r\nContent-Type: text/event-stream; boundary=" + secret +
    "\r\nX-Request-Id: " + secret + "\r\nSet-Cookie: k=" + secret +
    "\r\nX-RateLimit-Limit-Requests: " + secret + "\r\nRetry-After: " + as_url + "\r\n\r\n: " + secret +
    "\n\nevent: " + secret + "\nid: " + as_basic + "\n\n";

// A chunk that says the key in every member but the answer's own words.
std::string echoing_chunk(const std::string& delta, const std::string& finish) {
  return R"(data: {"id":")" + as_json + R"(","model":"m )" + as_json + R"(","system_fingerprint":")" +
         as_basic + R"(","choices":[{"index":0,"delta":{)" + delta + R"(},"logprobs":")" + as_html +
         R"(","finish_reason":)" + finish + R"(}],"usage":{"prompt_tokens":1,"completion_tokens":2,"key":")" +
         as_url + "\"}}\n\n";
}

const std::string asks_for_tool =
    R"("tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":"{}"}}])";

}  // namespace

TEST_CASE("a failed call shows the key nowhere even if the server repeats it", "[llm][secrets][recording]") {
  const From from = any_source();
  const std::string chunk = R"(data: {"error":{"message":"key )" + as_json + " " + as_basic + "\"}}\n\n";
  const auto pieces = GENERATE_COPY(
      std::vector<std::string>{error_page("401 No", "text/html", "<p>Bearer " + as_html + " " + as_url)},
      std::vector<std::string>{error_page("400 No", "application/json",
                                          R"({"error":{"message":")" + as_json + " " + as_basic + "\"}}")},
      std::vector<std::string>{error_page("500 No", secret, secret)},
      std::vector<std::string>{"HTTP/1.1 302 " + secret + "\r\nLocation: http://elsewhere.invalid/?k=" +
                               as_url + "\r\nRetry-After: " + secret + "\r\nSet-Cookie: " + secret +
                               "\r\nX-Request-Id: " + secret + "\r\nContent-Length: 0\r\n\r\n"},
      std::vector<std::string>{std::string(stream_head) + chunk},
      std::vector<std::string>{std::string(stream_head) + chunk.substr(0, 40), chunk.substr(40)},
      std::vector<std::string>{std::string(stream_head) + "data: " + secret + "\n\n"},
      std::vector<std::string>{echoing_head + echoing_chunk("", "\"error\"")},
      std::vector<std::string>{http_answer("200 OK", "application/json", secret)},
      std::vector<std::string>{secret + "\r\n\r\n"},
      std::vector<std::string>{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n"});
  std::atomic<bool> asked_with_key{false};
  Run run(from, [&](Peer& peer) {
    asked_with_key = had_key(peer.read_request());
    for (const std::string& piece : pieces) {
      peer.write(piece);
      peer.wait_step();
    }
  });
  for (std::size_t i = 0; i < pieces.size(); ++i) run.server.step();
  HttpLlmClient llm(run.runtime, run.client_options(run.server));
  run.ask(llm);
  CHECK(run.end == TurnOutcome::failed);
  CHECK(asked_with_key);
  run.check_silent();
}

TEST_CASE("a completed answer shows the key only in its own text", "[llm][secrets][recording]") {
  std::atomic<int> asked_with_key{0};
  Run run(any_source(), [&](Peer& peer) {
    for (const std::string& answer :
         {echoing_chunk("\"reasoning_content\":\"hm \"", "null") +
              echoing_chunk(asks_for_tool, "\"tool_calls\""),
          echoing_chunk("\"content\":\"I see it. \"", "null") + echoing_chunk("", "\"" + as_json + "\"")}) {
      asked_with_key += had_key(peer.read_request());
      const std::string all = answer + done_event;
      peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: " + secret +
                 "\r\nContent-Length: " + std::to_string(all.size()) + "\r\n\r\n" + all);
    }
  });
  HttpLlmClient llm(run.runtime, run.client_options(run.server));
  run.ask(llm);
  CHECK(run.end == TurnOutcome::completed);
  CHECK(asked_with_key == 2);
  for (const char* words : {"hm ", "look", "the sea", "I see it. ", "m [api key]"}) {
    INFO(words);
    CHECK(run.says(words));
  }
  run.check_silent();
}

TEST_CASE("a stopped call shows the key nowhere", "[llm][secrets][recording]") {
  const bool whole_agent = GENERATE(true, false);
  std::atomic<bool> asked_with_key{false};
  Run run(any_source(), [&](Peer& peer) {
    asked_with_key = had_key(peer.read_request());
    peer.write(echoing_head + echoing_chunk("\"content\":\"I begin \"", "null"));
    peer.wait_close();
  });
  HttpLlmClient llm(run.runtime, run.client_options(run.server));
  run.ask(llm, [&](const Agent& agent) {
    if (whole_agent) {
      CHECK(agent.stop().took_effect());
    } else {
      CHECK(agent.abort().took_effect());
    }
  });
  CHECK(run.end == (whole_agent ? TurnOutcome::stopped : TurnOutcome::aborted));
  CHECK(asked_with_key);
  CHECK(run.says("I begin "));
  CHECK(run.says("cancelled"));  // in the recording
  run.check_silent();
}

TEST_CASE("a routed call shows the keys of its routes nowhere", "[llm][router][secrets][recording]") {
  const bool all_fail = GENERATE(true, false);
  std::atomic<int> asked_with_key{0};
  const std::string refusal = error_page("503 No", "application/json",
                                         R"({"error":{"message":"busy )" + as_json + " " + as_basic + "\"}}");
  const auto refuse = [&](Peer& peer) {
    for (std::string request; !(request = peer.read_request()).empty(); peer.write(refusal))
      asked_with_key += had_key(request);
  };
  SocketServer second([&](Peer& peer) {
    if (all_fail) return refuse(peer);
    asked_with_key += had_key(peer.read_request());
    peer.write(echoing_head + echoing_chunk("\"content\":\"I am here. \"", "\"stop\"") + done_event);
  });
  Run run(any_source(), refuse);
  HttpLlmClient first_client(run.runtime, run.client_options(run.server));
  HttpLlmClient second_client(run.runtime, run.client_options(second));
  RouterOptions options;
  options.routes = {{.client = &first_client}, {.client = &second_client}};
  options.retry.max_attempts = 2;
  options.retry.backoff = [&](std::uint32_t, const ChatError& error) {
    run.transcript.add(error);
    return Duration(0);
  };
  options.breaker.failures = 2;
  int notices = 0;
  options.on_retry = [&](const RetryNotice& notice) {
    run.transcript.add(notice);
    ++notices;
  };
  LlmRouter router(run.runtime, std::move(options));
  run.ask(router);
  CHECK(run.end == (all_fail ? TurnOutcome::failed : TurnOutcome::completed));
  CHECK(notices == (all_fail ? 3 : 2));
  CHECK(asked_with_key == (all_fail ? 4 : 3));
  CHECK(run.says("busy [api key]"));
  CHECK(run.says("a model call goes on with another route"));  // in the log
  CHECK(run.says("an endpoint's circuit opened"));
  CHECK(run.says("I am here. ") != all_fail);
  run.check_silent();
}

TEST_CASE("a key that cannot be sent is not shown either", "[llm][secrets]") {
  Run run(From::host, [](Peer& peer) { peer.read_request(); });
  const std::string broken = secret + "\n";
  HttpLlmOptions options = run.client_options(run.server);
  options.api_key.clear();
  SECTION("of the host") {
    options.api_key = broken;
  }
  SECTION("of a callback") {
    options.api_key_source = [&] { return broken; };
  }
  SECTION("of a callback that throws it") {
    options.api_key_source = [&]() -> std::string { throw std::runtime_error(broken); };
  }
  SECTION("of the environment") {
    ::setenv(variable, broken.c_str(), 1);
    options.api_key_env = variable;
  }
  SECTION("in the place of its variable's name") {
    options.api_key_env = secret;
  }
  HttpLlmClient llm(run.runtime, options);
  run.ask(llm);
  CHECK(run.end == TurnOutcome::failed);
  CHECK(run.server.requests() == 0);
  run.check_silent();
}

// What a model says is delivered as it is, also when it says the key. The rest still does not show it.
TEST_CASE("an answer with the key in its text is delivered and recorded without the key",
          "[llm][secrets][recording]") {
  Run run(any_source(), [&](Peer& peer) {
    peer.read_request();
    peer.write(std::string(stream_head) + delta_event("it is " + as_json) + finish_event + done_event);
  });
  HttpLlmClient llm(run.runtime, run.client_options(run.server));
  run.ask(llm);
  CHECK(run.end == TurnOutcome::completed);
  CHECK(run.says("it is " + secret));
  Transcript recorded;
  recorded.add(run.lines);
  CHECK(recorded.text.find("it is [api key]") != std::string::npos);
  for (const std::string& trace : traces()) CHECK(recorded.text.find(trace) == std::string::npos);
}
