// HttpCall: one model call over HTTP: delivers the transfer's answer to the call's sink.
#pragma once

#include "core/stoppable.hpp"
#include "llm/active_calls.hpp"
#include "llm/dialects/tool_names.hpp"
#include "llm/http/answer_builder.hpp"
#include "llm/http/answer_context.hpp"
#include "llm/http/answer_listener.hpp"
#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/transport.hpp"

#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::llm {

class HttpCall;

// The state that the calls of one client share. Lives as long as the last of them: a receiver may destroy the
// client.
struct HttpShared : AnswerContext {
  HttpShared(std::shared_ptr<loop::Engine> loop, const WireFormat& wire, Redactor redact,
             std::size_t max_line, std::size_t max_response, std::string place = {})
      : AnswerContext(wire, std::move(redact), max_line, max_response, std::move(place)),
        engine(std::move(loop)) {}

  const std::shared_ptr<loop::Engine> engine;
  std::vector<HttpCall*> open;  // without an outcome yet
};

// What any thread stops a call by.
struct HttpAttempt {
  std::shared_ptr<net::CallHandle> handle;
  Registration registration = {};
  std::vector<SentName> names = {};  // see HttpCallParts
};

// The data of one call besides its request.
struct HttpCallParts {
  std::shared_ptr<net::CallHandle> handle;
  Registration registration = {};
  std::shared_ptr<const void> hidden_key = {};  // the redactor hides the call's key as long as this exists
  Binding binding = {};                         // of the reasoning of the answer
  // Makes the call once more, without the reasoning in its request, if the server refuses that: it takes over
  // the handle and the registration of this attempt. Empty: the request has none.
  std::function<void(HttpAttempt, ChatSink)> again = {};
  PauseToken pause = {};             // ChatRequest::pause
  std::vector<SentName> names = {};  // of the tools that the request offers under another name
};

// Owned by the transport. @loop_thread
//
// Invariants:
// 1. The call is open (in shared_->open, registered, with a callback on its stop token) from its construction
//    until leave(), which comes before its outcome.
// 2. The sink is false once the outcome was delivered.
class HttpCall final : public net::HttpHandler, private AnswerListener {
 public:
  HttpCall(std::shared_ptr<HttpShared> shared, HttpCallParts parts, const ChatRequest& request,
           StopToken stop, ChatSink sink);
  ~HttpCall() override;
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  void on_head(const net::HttpHead& head) override;
  bool on_body(std::string_view bytes) override;
  void on_end(net::HttpEnd end) override;

  // Stops the call and delivers its `cancelled` outcome now.
  void cancel() noexcept;

 private:
  bool on_text(std::string_view text) override;
  bool on_reasoning_text(std::string_view text) override;
  bool is_wanted() const noexcept;
  void start_end_timer();
  void follow_end(const net::HttpEnd& end);
  void leave() noexcept;
  bool may_try_again(ChatOutcome& outcome) const noexcept;

  const std::shared_ptr<HttpShared> shared_;
  HttpCallParts parts_;
  ChatSink sink_;
  AnswerBuilder answer_;
  std::uint64_t end_timer_ = 0;
  std::size_t place_;  // in shared_->open
  bool is_open_ = true;
  std::optional<core::StopCallback> on_stop_;  // destroyed first: it may wait for a stop that is running
};

}  // namespace agentcore::detail::llm
