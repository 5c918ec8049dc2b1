// What the tests of whole turns over HTTP share: an agent with tools, and the stand-in server, which keeps
// what it was asked.
#pragma once

#include "standin/server_thread.hpp"
#include "support/clients/forwarding_client.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/provider.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::test {

// A client that sends the calls of another one without streaming: each answer comes in one piece.
inline ForwardingClient unstreamed(LlmClient& client) {
  return {client, [](ChatRequest& request, const StopToken&, ChatSink&) { request.stream = false; }};
}

// Options for a server without a key.
inline HttpLlmOptions options_for(Dialect dialect) {
  if (dialect != Dialect::anthropic_messages)
    return {.dialect = dialect, .max_tokens_field = "max_completion_tokens", .sends_cache_key = true};
  HttpLlmOptions options = provider_options("anthropic").value();
  options.api_key_env.clear();
  return options;
}

// Destroyed in the order of a careful host.
struct TurnFixture {
  // Answers that no message dictates have `tokens` words; 0: they are endless.
  explicit TurnFixture(std::uint64_t tokens = 5, const std::vector<std::string>& headers = {},
                       HttpLlmOptions client = {})
      : path(detail::llm::wire_format(client.dialect).path()),
        server(options(tokens)),
        llm(runtime, client_options(std::move(client), headers)),
        tree(runtime, {.llm = &llm}) {
    seen.watch(tree);
    ends = tree.on_event([this](const Event& event) {
      if (const auto* ended = event.get<TurnEnded>()) end = *ended;
    });
    ToolSpec add{.name = "add", .description = "Adds two numbers."};
    add.parameters =
        R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})";
    tools->add(make_tool(std::move(add), [](const nlohmann::json& arguments, const ToolContext&) {
      return ToolResult::done(std::to_string(arguments["a"].get<int>() + arguments["b"].get<int>()));
    }));
  }
  ~TurnFixture() {
    CHECK(seen.violations == std::vector<std::string>{});
    for (const standin::Record& record : server->records())
      CHECK(refusal_of("openai", record.request, path) == "");
  }

  static standin::Options options(std::uint64_t tokens) {
    standin::Options options;
    options.pace = {.tokens = tokens, .rate = tokens == 0 ? 500.0 : 0.0, .first_token_ms = 0};
    options.keep_requests = true;
    options.prompt_cache = true;
    return options;
  }
  HttpLlmOptions client_options(HttpLlmOptions options, const std::vector<std::string>& headers = {}) {
    options.base_url = server->base_url();
    options.model = "m";
    options.headers.insert(options.headers.end(), headers.begin(), headers.end());
    options.proxy = "none";
    return options;
  }

  Agent ask(std::string question, AgentSpec spec = {}) {
    spec.id = "a";
    spec.tools = tools;
    const Agent agent = tree.create(std::move(spec)).value();
    REQUIRE(agent.send(std::move(question)).accepted());
    return agent;
  }
  bool drive_until(const std::function<bool()>& done) { return drive(runtime, nullptr, done); }
  bool drive_to_end() {
    return drive_until([this] { return !tree.busy(); });
  }
  // Blocks, the loop stands still meanwhile.
  bool server_saw(const std::function<bool(const standin::Stats&)>& what) { return server->wait_until(what); }

  std::uint64_t requests() { return server->stats().requests; }
  // The body of the request with that number, from 1.
  nlohmann::json request(std::size_t number) {
    return nlohmann::json::parse(server->records().at(number - 1).request);
  }

  std::string path;  // of all requests; a real provider would take each of them
  standin::ServerThread server;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  Runtime runtime;
  HttpLlmClient llm;
  AgentTree tree;
  Recorder seen;
  TurnEnded end;
  Subscription ends;
};

inline bool one_client_gone(const standin::Stats& stats) {
  return stats.client_closed == 1 && stats.open == 0;
}

}  // namespace agentcore::test
