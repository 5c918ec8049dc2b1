// What the router's tests share: two scripted models, one router, and records of requests and results.
#pragma once

#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/observe/chat_record.hpp"
#include "support/observe/host_code.hpp"

#include <agentcore/llm_router.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

using namespace std::chrono_literals;

inline testing::ScriptedReply words(std::vector<std::string> deltas, Usage usage = {}) {
  testing::ScriptedReply reply;
  reply.deltas = std::move(deltas);
  reply.usage = usage;
  return reply;
}
inline testing::ScriptedReply fails(ChatError error, std::vector<std::string> deltas = {}) {
  testing::ScriptedReply reply;
  reply.deltas = std::move(deltas);
  reply.error = std::move(error);
  return reply;
}
inline testing::ScriptedReply silence(std::vector<std::string> deltas = {}, bool deaf = false) {
  testing::ScriptedReply reply;
  reply.deltas = std::move(deltas);
  reply.silent = true;
  reply.deaf = deaf;
  return reply;
}

inline const ChatError cut{.code = Errc::network_error, .message = "cut", .retryable = true};
inline const ChatError bad_key{.code = Errc::api_error, .message = "bad key", .http_status = 401};
inline const ChatError unknown_model{
    .code = Errc::api_error, .message = "no such model", .http_status = 404, .model_specific = true};
inline ChatError busy(std::chrono::milliseconds retry_after, int status = 429) {
  return {.code = Errc::api_error,
          .message = "busy",
          .http_status = status,
          .retryable = true,
          .retry_after = retry_after};
}

struct RouterFixture {
  // A scripted model that records its requests and their times. Without a script it answers with its name.
  struct Model {
    Model(Runtime& runtime, std::string name)
        : client(std::make_unique<testing::ScriptedClient>(
              runtime, [this, name, &runtime](const ChatRequest& request) {
                const HostCode host;
                asked.push_back(request);
                at.push_back(runtime.now());
                if (on_asked) on_asked();
                if (script.empty()) return words({name});
                testing::ScriptedReply reply = script.front();
                script.pop_front();
                return reply;
              })) {}
    std::deque<testing::ScriptedReply> script;
    Checked<ChatRequest> asked;
    Checked<TimePoint> at;
    std::function<void()> on_asked;
    std::unique_ptr<testing::ScriptedClient> client;
  };
  struct Notice {
    std::string agent;
    std::uint32_t attempt;
    std::size_t route, next_route;
    Duration delay;
    Errc error;
    bool operator==(const Notice&) const = default;
  };

  RouterFixture() {
    options.routes = {{.client = first.client.get(), .model = "m1", .endpoint = "one"},
                      {.client = second.client.get(), .model = "m2", .endpoint = "two"}};
    options.limits = {.total = 3, .per_agent = 1};  // few, so that calls wait for each other
    options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(1s); };
    options.on_retry = [this](const RetryNotice& n) {
      const HostCode host;
      notices.push_back({std::string(n.agent_id), n.attempt, n.route, n.next_route, n.delay, n.error.code});
      if (on_notice) on_notice();
    };
  }
  ~RouterFixture() { router.reset(); }
  RouterFixture(const RouterFixture&) = delete;
  RouterFixture& operator=(const RouterFixture&) = delete;

  LlmRouter& make() {
    router = std::make_unique<LlmRouter>(*runtime, options);
    return *router;
  }
  // One route only.
  LlmRouter& make_one() {
    options.routes.resize(1);
    return make();
  }
  void ask(ChatRecord& record, const std::string& agent = "a", StopToken token = {}) {
    router->chat(test::ask(agent), std::move(token), record.sink(in_delta));
  }
  void polls(int count = 4) {
    while (count-- > 0 && runtime) runtime->poll();
  }
  bool idle() { return runtime->run_until_idle(std::chrono::hours(24)).is_idle(); }
  bool all_free() const {
    return router->open_calls() == 0 && router->call_slots().running() == 0 &&
           router->call_slots().waiting() == 0;
  }
  bool logged(std::string_view text) const {
    for (const auto& line : log)
      if (line.find(text) != line.npos) return true;
    return false;
  }
  void note(const LogRecord& record) {
    const HostCode host;
    if (before_log) before_log();
    std::string line = std::string(to_string(record.level)) + " " + std::string(record.message);
    for (const auto& [key, value] : record.fields) line += " " + std::string(key) + "=" + std::string(value);
    log.push_back(line);
    if (on_log) on_log();
  }

  testing::ManualClock clock;
  std::vector<std::string> log;
  std::function<void()> before_log, on_log, on_notice, in_delta;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(
      RuntimeOptions{.clock = &clock, .seed = 1, .log = [this](const LogRecord& record) { note(record); }});
  Model first{*runtime, "first"}, second{*runtime, "second"};
  RouterOptions options;
  std::unique_ptr<LlmRouter> router;
  Checked<Notice> notices;
  ChatRecord heard, other;
  StopSource stop;
};

}  // namespace agentcore::test
