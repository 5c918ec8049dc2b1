// RecordingHandler: records an exchange, and passes it on to the handler of the answer.
#pragma once

#include "llm/http/redactor.hpp"
#include "loop/engine.hpp"
#include "net/transport.hpp"

#include <agentcore/http_recording.hpp>

#include <memory>
#include <string_view>

namespace agentcore::detail::llm {

// The beginning of an exchange: the request, without its secrets.
HttpExchange begin_exchange(const net::HttpRequest& request, const Redactor& redact);

// Removes the secrets from the answer. A secret that spans several pieces of the body is removed in the first
// one.
void remove_secrets(HttpExchange& exchange, const Redactor& redact);

// Passes the exchange to the recorder before the handler receives the end, or when the Runtime is destroyed
// before. @loop_thread
class RecordingHandler final : public net::HttpHandler {
 public:
  RecordingHandler(std::shared_ptr<loop::Engine> engine, std::shared_ptr<const HttpRecorder> recorder,
                   Redactor redact, HttpExchange begun, std::unique_ptr<net::HttpHandler> inner);
  ~RecordingHandler() override;
  RecordingHandler(const RecordingHandler&) = delete;
  RecordingHandler& operator=(const RecordingHandler&) = delete;

  void on_head(const net::HttpHead& head) override;
  bool on_body(std::string_view bytes) override;
  void on_end(net::HttpEnd end) override;

 private:
  void write(Errc code, std::string_view message);

  const std::shared_ptr<loop::Engine> engine_;
  const std::shared_ptr<const HttpRecorder> recorder_;
  const Redactor redact_;
  const std::unique_ptr<net::HttpHandler> inner_;
  const TimePoint begin_;
  HttpExchange exchange_;
  bool written_ = false;
};

}  // namespace agentcore::detail::llm
