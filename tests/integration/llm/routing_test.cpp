// A router over real connections: what it tries again, and what a stop ends in each phase.
#include "core/message_items.hpp"
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"

#include <agentcore/history.hpp>
#include <agentcore/llm_router.hpp>

#include <mutex>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

const std::string busy =
    http_answer("503 Service Unavailable", "application/json", R"({"error":{"message":"busy"}})");
const std::string limited =
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Type: application/json\r\n"
    "Content-Length: 36\r\n\r\n{\"error\":{\"message\":\"slow down !!\"}}";
const std::string good = http_answer("200 OK", "text/event-stream",
                                     delta_event("hello") + finish_event + usage_event + done_event);

// Gives these answers, one after the other, and keeps what was asked.
class Answers {
 public:
  explicit Answers(std::vector<std::string> answers) : answers_(std::move(answers)) {}
  SocketServer::Script script() {
    return [this](Peer& peer) {
      for (std::string request; !(request = peer.read_request()).empty();) peer.write(next(request));
    };
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  const std::string& next(const std::string& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request);
    return answers_.at(asked_.size() - 1);
  }

  mutable std::mutex mutex_;
  const std::vector<std::string> answers_;
  std::vector<std::string> asked_;
};

// A router whose first route is the server.
struct Routed : LlmFixture {
  explicit Routed(SocketServer::Script script, RouterOptions options = {}) : LlmFixture(std::move(script)) {
    options.routes.insert(options.routes.begin(), Route{.client = llm.get(), .endpoint = "first"});
    if (!options.retry.backoff) options.retry.first_delay = 1ms;
    options.on_retry = [this](const RetryNotice& notice) { delays.push_back(notice.delay); };
    router = std::make_unique<LlmRouter>(*runtime, std::move(options));
  }
  void route(std::string agent_id, ChatRecord& record) {
    router->chat(ask(std::move(agent_id)), stop.get_token(), record.sink());
  }
  void check_stopped() {
    CHECK(heard.cancelled());
    CHECK(router->open_calls() == 0);
    CHECK(router->call_slots().running() == 0);
    CHECK(router->call_slots().waiting() == 0);
    CHECK(llm->open_calls() == 0);
  }

  std::vector<Duration> delays;
  std::unique_ptr<LlmRouter> router;
};

}  // namespace

TEST_CASE("a call to a busy server is retried and its answer counts", "[llm][router][X19][X20]") {
  int asked = 0;
  Routed f([&](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(++asked < 3 ? busy : good);
  });
  f.route("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.completed());
  CHECK(f.heard.text() == "hello");
  CHECK(f.delays.size() == 2);
  CHECK(f.server.requests() == 3);
  CHECK(f.router->call_slots().running() == 0);
}

TEST_CASE("a server that asks for an hour of pause gets no call and the next route answers",
          "[llm][router][X19]") {
  SocketServer second([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(good);
  });
  Routed f([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(limited);
  });
  HttpLlmOptions options = f.client_options();
  options.base_url = second.url();
  HttpLlmClient other(*f.runtime, options);
  LlmRouter router(*f.runtime, {.routes = {{.client = f.llm.get()}, {.client = &other}}});
  router.chat(ask("a"), f.stop.get_token(), f.heard.sink());
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.completed());
  CHECK(f.server.requests() == 1);
  CHECK(second.requests() == 1);
}

TEST_CASE("an answer that was cut after its first delta is not retried", "[llm][router][X19]") {
  Routed f([](Peer& peer) {
    peer.read_request();
    peer.write(std::string(stream_head) + delta_event("hel"));
  });
  f.route("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.failed_with(Errc::network_error));
  CHECK(f.heard.text() == "hel");
  CHECK(f.server.requests() == 1);
}

TEST_CASE("a stop in an attempt closes its connection and frees its slot", "[llm][router][A9][G5][G6][O8]") {
  Routed f([](Peer& peer) {
    peer.read_request();
    peer.write(std::string(stream_head) + delta_event("x"));
    peer.wait_close();
  });
  f.route("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.heard.text() == "x"; }));
  CHECK(f.router->call_slots().running() == 1);
  // From another thread, while the loop is not polled: the stopping thread itself cuts the wire.
  std::jthread([&] {
    CHECK(f.router->abort("a"));
    CHECK_FALSE(f.router->has_active_request("a"));
  }).join();
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  REQUIRE(f.drive_to_end(f.heard));
  f.check_stopped();
  CHECK(f.server.requests() == 1);
}

TEST_CASE("a stop in a back-off ends it at once and nothing is retried", "[llm][router][A9][G5]") {
  RouterOptions options;
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return std::chrono::hours(1); };
  Routed f(
      [](Peer& peer) {
        while (!peer.read_request().empty()) peer.write(busy);
      },
      options);
  f.route("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.delays.size() == 1; }));
  CHECK(f.router->call_slots().running() == 0);  // a back-off holds no slot
  std::jthread([&] { f.stop.request_stop(); }).join();
  REQUIRE(f.drive_to_end(f.heard));
  f.check_stopped();
  CHECK(f.server.requests() == 1);
}

TEST_CASE("a stop in the queue for a slot makes no connection", "[llm][router][Y5][G5]") {
  RouterOptions options;
  options.limits = {.total = 1, .per_agent = 1};
  Routed f(
      [](Peer& peer) {
        peer.read_request();
        peer.write(std::string(stream_head) + delta_event("x"));
        peer.wait_close();
      },
      options);
  f.router->chat(ask("first"), StopToken(), f.other.sink());
  f.route("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.other.text() == "x"; }));
  CHECK(f.router->call_slots().waiting() == 1);
  std::jthread([&] { f.stop.request_stop(); }).join();
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.cancelled());
  CHECK(f.router->call_slots().waiting() == 0);
  CHECK(f.router->call_slots().running() == 1);
  CHECK(f.server.accepted() == 1);
  CHECK(f.router->abort("first"));
  REQUIRE(f.drive_to_end(f.other));
  f.check_stopped();
}

TEST_CASE("after a fallback reasoning is sent back only to its own server", "[llm][router][reasoning]") {
  const std::string thoughtful = http_answer(
      "200 OK", "text/event-stream",
      R"(data: {"choices":[{"delta":{"reasoning_content":"Hm","tool_calls":[{"index":0,"id":"c",)"
      R"("extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"look","arguments":"{}"}}]}}]})"
      "\n\n" +
          finish_event + done_event);
  Answers first({thoughtful, busy, good}), second({good});
  Routed f(first.script());
  SocketServer other_server(second.script());
  HttpLlmOptions options = f.client_options();
  options.base_url = other_server.url();
  HttpLlmClient other(*f.runtime, options);
  LlmRouter router(*f.runtime,
                   {.routes = {{.client = f.llm.get()}, {.client = &other}}, .retry = {.max_attempts = 1}});
  std::vector<ChatMessage> history = ask("a").messages;
  const auto answered = [&] {
    ChatRecord heard;
    ChatRequest request = ask("a");
    request.messages = history_from_json(history_to_json(history)).value();
    router.chat(std::move(request), f.stop.get_token(), heard.sink());
    REQUIRE(f.drive_to_end(heard));
    REQUIRE(heard.completed());
    return heard.outcomes[0];
  };
  const ChatOutcome outcome = answered();
  history.push_back(
      ChatMessage::assistant(detail::core::items_of({}, outcome.reasoning, outcome.tool_calls, {})));
  history.push_back(ChatMessage::tool_result("c", "seen"));
  answered();  // the first is busy
  answered();
  const std::string with_thoughts = R"("reasoning_content":"Hm")", with_signature = "thought_signature";
  REQUIRE(second.asked().size() == 1);
  CHECK(second.asked()[0].find(R"("id":"c")") != std::string::npos);
  CHECK(second.asked()[0].find(with_thoughts) == std::string::npos);
  CHECK(second.asked()[0].find(with_signature) == std::string::npos);
  REQUIRE(first.asked().size() == 3);
  for (const std::size_t place : {1U, 2U}) {
    CHECK(first.asked()[place].find(with_thoughts) != std::string::npos);
    CHECK(first.asked()[place].find(with_signature) != std::string::npos);
  }
}

TEST_CASE("an unreachable route adds nothing to the cost of the next route's answer", "[llm][router][X19]") {
  std::string nobody;
  {
    const SocketServer gone([](Peer&) {});
    nobody = gone.url();
  }
  LlmFixture f([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(good);
  });
  HttpLlmOptions options = f.client_options();
  options.base_url = nobody;
  HttpLlmClient unreachable(*f.runtime, options);
  LlmRouter router(*f.runtime, {.routes = {{.client = &unreachable}, {.client = f.llm.get()}},
                                .retry = {.max_attempts = 1}});
  router.chat(ask("a"), f.stop.get_token(), f.heard.sink());
  REQUIRE(f.drive_to_end(f.heard));
  REQUIRE(f.heard.completed());
  CHECK(f.heard.outcomes[0].usage == Usage{1, 2, 3});
}
