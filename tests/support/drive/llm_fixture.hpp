// Fixture for the tests of HttpLlmClient: a scripted server, a Runtime, a client, and records of the results.
#pragma once

#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/observe/chat_record.hpp"
#include "support/wire/socket_server.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::test {

inline const std::string api_key = "sk-integration-secret";

inline std::string delta_event(std::string_view text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
inline const std::string finish_event = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline const std::string usage_event =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
inline const std::string done_event = "data: [DONE]\n\n";

inline std::string http_answer(std::string_view status, std::string_view type, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// A server, and a client of it. Destroyed in the correct order for a host.
struct LlmFixture {
  explicit LlmFixture(SocketServer::Script script) : server(std::move(script)) {
    RuntimeOptions options;
    options.log = [this](const LogRecord& record) {
      log += record.message;
      for (const auto& field : record.fields) log.append(field.key).append(field.value);
    };
    runtime = std::make_unique<Runtime>(options);
    llm = std::make_unique<HttpLlmClient>(*runtime, client_options());
  }

  ~LlmFixture() { CHECK(server.refusals() == std::vector<std::string>{}); }

  HttpLlmOptions client_options() const {
    HttpLlmOptions options;
    options.base_url = server.url();
    options.api_key = api_key;
    options.model = "test-model";
    options.proxy = "none";
    return options;
  }
  void chat(std::string agent_id, ChatRecord& record, std::function<void()> then = {}) {
    llm->chat(ask(std::move(agent_id)), stop.get_token(), record.sink(std::move(then)));
  }
  bool drive_until(const std::function<bool()>& done) { return drive(*runtime, &server, done); }
  bool drive_to_end(const ChatRecord& record) {
    return drive_until([&] { return record.ended(); });
  }

  SocketServer server;
  std::string log;
  StopSource stop;
  ChatRecord heard, other;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<HttpLlmClient> llm;
};

}  // namespace agentcore::test
