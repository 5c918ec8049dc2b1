// Fixture for the tests of HttpCall: one call, with the test as its transport.
#pragma once

#include "llm/http/http_call.hpp"
#include "loop/engine.hpp"
#include "net/stop_queue.hpp"
#include "support/observe/chat_record.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::test {

using detail::llm::ActiveCalls;
using detail::llm::HttpCall;
using detail::llm::HttpShared;
using detail::llm::Redactor;

inline const std::string api_key_in_test = "sk-very-secret";
inline const std::string all_events = "text/event-stream", json_type = "application/json";

inline std::string piece(std::string_view text) {
  return R"(data: {"choices":[{"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
inline const std::string finish_chunk = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline const std::string usage_chunk =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\n";
inline const std::string done_chunk = "data: [DONE]\n\n";

struct CallFixture {
  explicit CallFixture(bool stream = true, std::size_t max_line = 1 << 20, std::size_t max_response = 1 << 20,
                       const detail::llm::WireFormat& format = detail::llm::openai_chat()) {
    Redactor redactor;
    redactor.hide(api_key_in_test, "api key");
    shared = std::make_shared<HttpShared>(detail::loop::engine_of(*runtime), format, redactor, max_line,
                                          max_response);
    ChatRequest request;
    request.stream = stream;
    call = std::make_unique<HttpCall>(shared, parts("a"), request, this->stop.get_token(), heard.sink([this] {
      if (in_delta) in_delta();
    }));
  }

  // As a transport does at its end: a handle in the queue keeps itself, and the queue, alive.
  ~CallFixture() { stops->close(); }
  CallFixture(const CallFixture&) = delete;
  CallFixture& operator=(const CallFixture&) = delete;

  // The handle and the registration of a call of that agent; none of an anonymous one.
  detail::llm::HttpCallParts parts(std::string_view agent_id) {
    handle = detail::net::CallHandle::make(stops);
    auto registration = requests->add({agent_id, 0}, handle);
    return {handle, std::move(registration.value())};
  }

  // How many calls were cut since the last time.
  int cuts() {
    int count = 0;
    while (stops->pop() != nullptr) ++count;
    return count;
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

  testing::ManualClock clock;
  std::function<void(std::string_view)> in_log;  // called with the message of each record
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>(
      RuntimeOptions{.clock = &clock, .seed = 1, .log = [this](const LogRecord& record) {
                       if (in_log) in_log(record.message);
                     }});
  StopSource stop;
  ChatRecord heard;
  std::function<void()> in_delta;
  std::shared_ptr<ActiveCalls> requests = std::make_shared<ActiveCalls>();
  std::shared_ptr<detail::net::StopQueue> stops =
      std::make_shared<detail::net::StopQueue>(detail::loop::engine_of(*runtime)->waker());
  std::shared_ptr<HttpShared> shared;
  std::shared_ptr<detail::net::CallHandle> handle;
  std::unique_ptr<HttpCall> call;
};

inline const Usage k123{1, 2, 3};

}  // namespace agentcore::test
