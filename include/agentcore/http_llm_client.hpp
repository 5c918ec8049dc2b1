// HttpLlmClient: a model behind HTTP, in any of the dialects that providers speak.
#pragma once

#include <agentcore/budget.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

// The wire formats.
enum class Dialect : unsigned char {
  openai_chat,         // POST {base_url}/chat/completions: OpenAI and everybody who is compatible with it
  openai_responses,    // POST {base_url}/responses
  anthropic_messages,  // POST {base_url}/messages
};
std::string_view to_string(Dialect dialect) noexcept;

// What a million tokens cost, by model. A model that is not in it has the prices of the longest name that it
// begins with: "gpt-4o" serves "gpt-4o-2024-08-06".
using PriceTable = std::map<std::string, Prices, std::less<>>;

// provider_options() fills this in for the providers that it knows.
struct HttpLlmOptions {
  std::string base_url = {};  // e.g. "https://api.openai.com/v1"; the dialect's path is added. Required.

  // The key, from one of three places; none: no key is sent. What this library says of itself does not show
  // it: no log record, error, model name, notice or recording, and no event but for an answer's own words. An
  // answer (its words, thoughts and tool calls) is delivered as the server sent it, and one that repeats the
  // key there shows it. A key of less than 8 characters is a dummy, as servers without keys are given one
  // ("none", "EMPTY"): it is not looked for, since texts are full of such words.
  //
  // The client's own copies are overwritten when it goes, those in the options handed in included. The
  // environment stays as it is. What libcurl, its TLS library and the system copy while a request is sent is
  // freed as they do it.
  std::string api_key = {};
  std::string api_key_env = {};  // the environment variable that holds it; read once, by the constructor
  // Asked before every call, on the loop thread; may do anything. A key of its is kept until that call ends.
  std::function<std::string()> api_key_source = {};

  std::string model = {};  // used when a request names none
  Dialect dialect = Dialect::openai_chat;

  // How the key is sent: this header, with this before the key.
  std::string auth_header = "Authorization";
  std::string auth_prefix = "Bearer ";
  std::vector<std::string> headers = {};  // further request headers, "Name: value"
  // The name of a further request header for ChatRequest::agent_id, for servers that distinguish agents, e.g.
  // "x-agent-id" for the stand-in. '%' and bytes that are not visible ASCII are sent as %XX. Empty: the id is
  // not sent.
  std::string agent_header = {};
  std::uint32_t max_tokens = 0;                 // used when a request says none; 0: the provider's own limit
  std::string max_tokens_field = "max_tokens";  // as the provider calls it, in the OpenAI chat dialect
  // Where a provider wants the ids of tool calls to be so many letters and digits, in the same dialect;
  // others in a history are replaced, one for one. 0: any will do. At most 10.
  std::uint32_t tool_call_id_length = 0;
  // Two user messages in a row (after a turn that was stopped or has failed) are sent as one, because the
  // strict chat templates of many models refuse two: the texts with an empty line between them, or content
  // parts. What was sent before remains a prefix of the new request, so that caches still match. False: the
  // messages are sent as they are. The history is not changed.
  bool join_user_messages = true;
  std::string extra_body = {};  // the text of a JSON object, for what the rest has no name for: a merge
                                // patch (RFC 7396) of every request's body, so null removes a member

  // Time-outs; each ends a call with an error of its own name. All are retryable, and > 0. A model may think
  // for minutes without a word, and an answer that is given up is paid for; so these only end what is dead,
  // which TCP's own keep-alive, as a rule, notices before. Who has less patience stops the call.
  Duration connect_timeout = std::chrono::seconds(10);    // name, TCP and TLS together
  Duration first_byte_timeout = std::chrono::minutes(5);  // from the request to the first byte of the body
  Duration stall_timeout = std::chrono::minutes(5);       // longest silence inside an answer
  Duration total_timeout = std::chrono::minutes(30);      // the whole call

  std::size_t max_response_bytes = std::size_t{16} << 20;  // of the whole answer, decompressed
  std::size_t max_line_bytes = std::size_t{1} << 20;       // of one line of a stream
  std::uint32_t max_redirects = 3;  // 307 and 308, followed within one origin only; any other is an error

  std::string ca_file = {};  // PEM bundle to verify servers with; empty: the system's
  std::string proxy = {};    // empty: as the environment says; "none": no proxy at all

  PriceTable prices = {};                         // for ChatOutcome::cost
  std::shared_ptr<HttpRecorder> recorder = {};    // hears every exchange
  std::shared_ptr<const HttpReplay> replay = {};  // answers instead of the network
};

// An LlmClient over HTTP and TLS (always verified). Connections are kept and reused; a stop closes the
// connection of its call at once, from the stopping thread, without waiting for the loop (G5, G6). With a
// libcurl of 8.15 or later that speaks HTTP/2 a stop resets its stream from the loop, and the connection is
// kept; with an older one HTTP/1.1 is spoken, because there a reset comes late or never.
//
// One call is one attempt: for retries, fallbacks and limits put an LlmRouter before it. What a model thought
// goes back only to the server that it came from (see ReasoningBlock), so clients of several servers can take
// turns in one conversation.
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
  std::shared_ptr<Impl> impl_;  // a call that is being started holds it too
};

}  // namespace agentcore
