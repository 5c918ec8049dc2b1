// HttpLlmClient: chat completions over HTTP, as OpenAI and everyone compatible with it speak them.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace agentcore {

struct HttpLlmOptions {
  std::string base_url = {};  // e.g. "https://api.openai.com/v1"; "/chat/completions" is added. Required.
  std::string api_key =
      {};  // sent as "Authorization: Bearer ..."; empty: not sent. In no log and no error text.
  std::string model = {};  // used when a request names none

  Duration connect_timeout = std::chrono::seconds(10);  // name, TCP and TLS together; > 0
  Duration first_byte_timeout =
      std::chrono::seconds(60);  // from the start of the request to the first body byte; > 0
  Duration stall_timeout = std::chrono::seconds(30);  // longest silence inside an answer; > 0

  std::size_t max_response_bytes = std::size_t{16} << 20;  // of the whole answer
  std::size_t max_line_bytes = std::size_t{1} << 20;       // of one line of a stream

  std::vector<std::string> headers = {};  // further request headers, "Name: value"
  std::string ca_file = {};               // PEM bundle to verify servers with; empty: the system's
  std::string proxy = {};                 // empty: as the environment says; "none": no proxy at all
};

// An LlmClient over HTTP/1.1 and TLS (always verified). Connections are kept and reused; a stop closes the
// connection of its call at once, from the stopping thread, without waiting for the loop (G5, G6).
//
// All functions are @loop_thread but abort() and has_active_request(). Destroying it cancels what is open:
// each open call gets its `cancelled` outcome from the destructor. A bad option makes every call fail with
// `invalid_config`, whose message says what to change.
class HttpLlmClient final : public LlmClient {
 public:
  HttpLlmClient(Runtime& runtime, HttpLlmOptions options);
  ~HttpLlmClient() override;
  HttpLlmClient(const HttpLlmClient&) = delete;
  HttpLlmClient& operator=(const HttpLlmClient&) = delete;

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  // Calls open now, in whatever phase. @loop_thread
  std::size_t open_calls() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
