// What the tests of HttpCall share: one call, fed by hand as a transport would.
#pragma once

#include "llm/http/http_call.hpp"
#include "unit/llm/chat_record.hpp"

#include <agentcore/runtime.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::test {

using llm::ActiveRequests;
using llm::HttpCall;
using llm::HttpShared;
using llm::OpenCall;
using llm::Redactor;

inline const std::string api_key_in_test = "sk-very-secret";
inline const std::string all_events = "text/event-stream", json_type = "application/json";

class FakeOpenCall final : public OpenCall {
 public:
  using OpenCall::OpenCall;
  void cut() noexcept override { ++cuts; }
  int cuts = 0;
};

inline std::string piece(std::string_view text) {
  return R"(data: {"choices":[{"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
inline const std::string finish_chunk = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline const std::string usage_chunk =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
inline const std::string done_chunk = "data: [DONE]\n\n";

struct CallFixture {
  explicit CallFixture(bool stream = true, std::size_t max_line = 1 << 20, std::size_t max_response = 1 << 20,
                       const llm::WireFormat& format = llm::openai_chat()) {
    Redactor redactor;
    redactor.hide(api_key_in_test, "api key");
    shared = std::make_shared<HttpShared>(runtime->engine(), format, redactor, max_line, max_response);
    open = std::make_shared<FakeOpenCall>("a", requests);
    requests->add(open);
    ChatRequest request;
    request.stream = stream;
    call = std::make_unique<HttpCall>(shared, open, request, stop.get_token(), heard.sink([this] {
      if (in_delta) in_delta();
    }));
  }

  // A whole answer, in one piece.
  const ChatRecord& answer(int status, std::string_view type, std::string_view body, Errc code = Errc::none) {
    call->on_head({.status = status, .content_type = std::string(type)});
    if (!body.empty()) call->on_body(body);
    return end(code);
  }
  const ChatRecord& end(Errc code = Errc::none) {
    call->on_end({code, code == Errc::none ? "" : "what the transport says", 0});
    call.reset();
    return heard;
  }

  ManualClock clock;
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(RuntimeOptions{.clock = &clock, .seed = 1});
  StopSource stop;
  ChatRecord heard;
  std::function<void()> in_delta;
  std::shared_ptr<ActiveRequests> requests = std::make_shared<ActiveRequests>();
  std::shared_ptr<HttpShared> shared;
  std::shared_ptr<FakeOpenCall> open;
  std::unique_ptr<HttpCall> call;
};

inline const Usage k123{1, 2, 3};

}  // namespace agentcore::test
