// What the tests against peers share: an agent that talks to one, and what was heard.
#pragma once

#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {

// Options for the peer whose URL is in that environment variable.
inline HttpLlmOptions peer_options(const char* variable, std::vector<std::string> headers = {}) {
  const char* url = std::getenv(variable);
  INFO(variable << " must name a running peer; scripts/check-peers does that");
  REQUIRE(url != nullptr);
  return {.base_url = url, .api_key = "test-key", .model = "gpt-4o-mini", .headers = std::move(headers)};
}
inline HttpLlmOptions aimock(std::vector<std::string> headers = {}) {
  return peer_options("AGENTCORE_AIMOCK_URL", std::move(headers));
}

struct Talk {
  explicit Talk(HttpLlmOptions options) : llm(runtime, std::move(options)), tree(runtime, {.llm = &llm}) {
    events = tree.on_event([this](const Event& event) {
      if (const auto* delta = event.get<DeltaReceived>()) {
        text += delta->text;
        ++deltas;
        if (on_delta) on_delta(delta->agent);
      } else if (const auto* ended = event.get<TurnEnded>()) {
        end = *ended;
        answer = ended->result->text;
      }
    });
  }

  const TurnEnded& ask(const std::string& question, AgentSpec spec = {}) {
    agent = tree.create(std::move(spec)).value();
    REQUIRE(agent.send(question).accepted());
    REQUIRE(runtime.run_until_idle(std::chrono::seconds(20)));
    return end;
  }

  Runtime runtime;
  HttpLlmClient llm;
  AgentTree tree;
  Subscription events;
  Agent agent;
  std::function<void(const Agent&)> on_delta;
  std::string text;
  std::string answer;
  std::size_t deltas = 0;
  TurnEnded end;
};

}  // namespace agentcore::test
