// ForwardingClient: passes each call on to another client, and lets a test read or change it.
#pragma once

#include <agentcore/llm_client.hpp>

#include <functional>
#include <string_view>
#include <utility>

namespace agentcore::test {

class ForwardingClient final : public LlmClient {
 public:
  // Runs before the call is passed on. It may change the request, and replace the sink by one that forwards
  // to it.
  using OnChat = std::function<void(ChatRequest& request, const StopToken& stop, ChatSink& sink)>;

  ForwardingClient(LlmClient& client, OnChat on_chat) : client_(client), on_chat_(std::move(on_chat)) {}

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override {
    on_chat_(request, stop, sink);
    client_.chat(std::move(request), std::move(stop), std::move(sink));
  }
  bool abort(std::string_view agent_id) override { return client_.abort(agent_id); }
  bool has_active_request(std::string_view agent_id) const override {
    return client_.has_active_request(agent_id);
  }

 private:
  LlmClient& client_;
  OnChat on_chat_;
};

}  // namespace agentcore::test
