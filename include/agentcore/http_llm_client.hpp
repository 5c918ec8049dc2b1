// HttpLlmClient: model calls over HTTP, in several dialects.
#pragma once

#include <agentcore/budget.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/shared_or_borrowed.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// A form of request and answer.
enum class Dialect : unsigned char {
  openai_chat,         ///< POST {base_url}/chat/completions: OpenAI and compatible servers.
  openai_responses,    ///< POST {base_url}/responses: OpenAI.
  anthropic_messages,  ///< POST {base_url}/messages: Anthropic.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(Dialect dialect) noexcept;

/// When consecutive user messages are sent as one.
enum class JoinUserMessages : unsigned char {
  never,  ///< Messages are sent as they are.
  /// Unless one of them was sent before as the end of a request: then they stay apart, so that the bytes of
  /// that request, which the provider may have cached, begin the new one, too.
  unsent,
  always  ///< For servers whose chat templates refuse two consecutive user messages, as many local ones do.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(JoinUserMessages join) noexcept;

/// How a server takes the reasoning of earlier answers back. What does not go back is left out of the
/// request; the history keeps it. provider_options() returns the rule of each known provider.
struct ReasoningRule {
  /// Which answers have their reasoning in later requests.
  enum class When : unsigned char {
    never,       ///< None.
    with_calls,  ///< Those with tool calls.
    with_tools,  ///< Those with tool calls, and all others in requests that offer tools.
    always       ///< All.
  };
  /// What an answer without reasoning that goes back has in its place, for servers that refuse an answer
  /// without any.
  enum class Placeholder : unsigned char {
    none,              ///< Nothing.
    blank_text,        ///< In Dialect::openai_chat: the text " ".
    google_signature,  ///< In Dialect::openai_chat: at the first call, the signature that Gemini does not
                       ///< check.
  };
  /// The member of a message for reasoning as text, in Dialect::openai_chat.
  enum class Field : unsigned char {
    reasoning_content,  ///< Of most servers.
    reasoning           ///< Of newer vLLM, and of gateways.
  };

  When when = When::always;                     ///< Which answers.
  Field field = Field::reasoning_content;       ///< Where a text stands.
  Placeholder placeholder = Placeholder::none;  ///< In place of reasoning that does not go back.
  /// Dialect::anthropic_messages: thinking without a signature goes back. Dialect::openai_responses:
  /// reasoning that is not encrypted does. Both come from servers that speak these dialects and sign nothing;
  /// Anthropic and OpenAI refuse them. See HttpLlmOptions::takes_unsigned_reasoning.
  bool takes_unsigned = false;
  bool same_model = true;     ///< Only to the model that made it.
  bool same_account = false;  ///< Only for the account for which it was made.
  bool same_prefix = false;   ///< Only behind the messages behind which it was made.

  /// True if all fields are equal.
  bool operator==(const ReasoningRule&) const = default;
};

/// The prices of a million tokens, by model. A model without an entry has the prices of the longest entry
/// that its name begins with: "gpt-4o" also applies to "gpt-4o-2024-08-06".
using PriceTable = std::map<std::string, Prices, std::less<>>;

/// The options of an HttpLlmClient. provider_options() returns them for known providers. Values out of range
/// make every call fail with Errc::invalid_config.
struct HttpLlmOptions {
  /// The URL of the API, e.g. "https://api.openai.com/v1"; the path of the dialect is added. Required: http
  /// or https, without user, password, fragment and spaces.
  std::string base_url = {};

  /// The API key. Set at most one of `api_key`, `api_key_env` and `api_key_source`; if none is set, no key is
  /// sent. A key must not contain control characters.
  ///
  /// The library never writes the key to a log record, error, model name, notice or recording. An event
  /// contains the key only if the answer itself does: an answer (text, reasoning and tool calls) is delivered
  /// as the server sent it. A key of less than 8 characters counts as a placeholder ("none", "EMPTY"), as
  /// used for servers without keys, and is not searched for, because texts contain such words.
  ///
  /// The client overwrites its own copies of the key when it is destroyed, and the copy in the options that
  /// were passed in. The environment is not changed. Copies that libcurl, its TLS library and the system make
  /// while a request is sent are freed by them.
  std::string api_key = {};
  /// The environment variable that contains the key. Read once, by the constructor of the client. If it is
  /// not set or empty, every call fails with Errc::invalid_config.
  std::string api_key_env = {};
  /// Returns the key; called before every call. May do anything, for example destroy the client. The key is
  /// kept until the call ends. An empty key fails the call with Errc::invalid_config, an exception with
  /// Errc::callback_failed; the text of the exception is not logged, because it may contain the key.
  ///
  /// @loop_thread
  std::function<std::string()> api_key_source = {};

  std::string model = {};                  ///< The default model, for requests that specify none.
  Dialect dialect = Dialect::openai_chat;  ///< The dialect of the server.

  std::string auth_header = "Authorization";  ///< The name of the header that contains the key.
  std::string auth_prefix = "Bearer ";        ///< The text before the key in that header.
  /// Further request headers, "Name: value". They replace `User-Agent: agentcore/VERSION`, and in
  /// Dialect::anthropic_messages `anthropic-version: 2023-06-01`.
  std::vector<std::string> headers = {};
  /// The name of a request header for ChatRequest::agent_id, for servers that distinguish agents, e.g.
  /// "x-agent-id" for the stand-in. '%' and bytes that are not visible ASCII are sent as %XX. Empty: the id
  /// is not sent.
  std::string agent_header = {};
  /// The default limit of an answer, for requests that specify none. Empty: the limit of the provider, or
  /// 4096 in Dialect::anthropic_messages, which requires a limit.
  std::optional<std::uint32_t> max_tokens = {};
  /// The name of the field for that limit, in Dialect::openai_chat; not empty.
  std::string max_tokens_field = "max_tokens";
  /// The exact length of the ids of tool calls, in letters and digits, in Dialect::openai_chat, for providers
  /// that require it. Other ids of a history are replaced in the request, one for one. 1 to 10. Empty: any
  /// id is allowed.
  std::optional<std::uint32_t> tool_call_id_length = {};
  /// Whether consecutive user messages (after a turn that was stopped or has failed) are sent as one: the
  /// texts with an empty line between them, or content parts. The history is not changed.
  JoinUserMessages join_user_messages = JoinUserMessages::unsent;
  /// True: the server refuses a user message right after the result of a tool, as Mistral's API and the chat
  /// templates of many models do. Such a message follows when a turn was interrupted or steered after its
  /// calls. Then "OK." is sent between the two, as an answer of the model. The history is not changed. Set
  /// join_user_messages to JoinUserMessages::always, too. No effect in Dialect::anthropic_messages.
  bool bridge_tool_results = false;
  /// True: the server refuses names of tools that do not begin with a letter or '_'. A tool with such a name
  /// is offered by a similar one, and an answer's calls have its own name again; no two tools of a request
  /// have the same name. Calls of tools that are not offered are sent by a similar name, too.
  bool tool_names_begin_with_letter = false;
  /// The length that the name of a tool must have at least, as in tool_names_begin_with_letter. 1 to 64.
  std::uint32_t shortest_tool_name = 1;
  /// True: tools without parameters are sent with the schema of an object without properties, in
  /// Dialect::openai_chat. False: without a schema, for servers that refuse that one (Gemini); and names in
  /// `required` that are no properties, which they refuse, too, are left out.
  bool sends_empty_schemas = true;
  /// False: the server takes only texts. A request with an image, a document or a sound is not sent: its call
  /// fails with Errc::unsupported_part, and an LlmRouter goes on to its next route. provider_options() sets
  /// it for providers that refuse such parts. See ContentPart for what each dialect takes.
  bool takes_images = true;
  /// True: requests are marked for the provider's cache of prompts, where the provider wants marks. In
  /// Dialect::anthropic_messages: `cache_control` on the last tool, the system prompt, the last stable
  /// message (ChatRequest::stable_messages), and the last stable message of the request before. The marked
  /// part of a request costs more when it is written to the cache and much less in each later request. False:
  /// no marks.
  bool prompt_caching = true;
  /// True: ChatRequest::cache_key is sent as `prompt_cache_key`, in the dialects of OpenAI. Servers that do
  /// not know the field may refuse it. provider_options() sets it for providers that know it.
  bool sends_cache_key = false;
  /// How the server takes the reasoning of earlier answers back. Empty: the rule of the dialect. That is
  /// `with_calls` in Dialect::openai_chat and `always` in the others, only to the same model; in
  /// Dialect::openai_responses only for the same account; in Dialect::anthropic_messages only for the same
  /// account, and behind the same messages.
  std::optional<ReasoningRule> reasoning = {};
  /// True: the server signs and encrypts nothing, so reasoning without a signature or an encryption goes back
  /// to it, as with ReasoningRule::takes_unsigned, and also where `reasoning` is empty: the rest of the
  /// dialect's rule stays. No effect in Dialect::openai_chat.
  bool takes_unsigned_reasoning = false;
  /// Fields of the request body that have no option: the text of a JSON object, applied to every body as a
  /// merge patch (RFC 7396), so null removes a member. At most 64 levels deep. Empty: none.
  ///
  /// In Dialect::anthropic_messages requests with `thinking` are changed so that Anthropic does not refuse
  /// them, which is logged once for each agent:
  ///
  /// - The type "enabled" is sent as "disabled" while a turn goes on with results of tools whose first answer
  ///   has no reasoning to send back, because another model has begun the turn, for example.
  /// - Both "enabled" and "adaptive" are sent as "disabled" with a ToolChoice that demands a call.
  /// - `budget_tokens` that is not below the limit of the answer: without a limit (`max_tokens`,
  ///   ChatRequest::max_tokens, here) the answer gets 4,096 tokens on top of it; with one the budget becomes
  ///   half of the limit, at least 1,024, and with a limit of up to 1,024 thinking is disabled. A header
  ///   `anthropic-beta` with interleaved-thinking allows a larger budget, and nothing is changed.
  /// - `temperature` other than 1, `top_p` below 0.95 and `top_k` are not sent.
  std::string extra_body = {};

  /// Name resolution, TCP and TLS together; > 0. Ends the call with Errc::connect_timeout, which is
  /// retryable. A model may reason for minutes without sending anything, and an answer that is cut off is
  /// still billed. So the defaults of the four time-outs only end connections that are dead, which TCP
  /// keep-alive usually detects earlier. For a shorter limit, set a deadline (ChatRequest::deadline) or stop
  /// the call.
  Duration connect_timeout = std::chrono::seconds(10);
  /// From the request to the first byte of the body; > 0. Ends the call with Errc::first_byte_timeout, which
  /// is retryable.
  Duration first_byte_timeout = std::chrono::minutes(5);
  /// The longest silence inside an answer; > 0. Ends the call with Errc::stall_timeout, which is retryable.
  Duration stall_timeout = std::chrono::minutes(5);
  /// The whole call; > 0. Ends the call with Errc::total_timeout, which is retryable.
  Duration total_timeout = std::chrono::minutes(30);

  /// Limit of an answer in bytes, decompressed; >= 1. Beyond it the call fails with Errc::response_too_large.
  /// Counted is what is kept or delivered: a whole body, or of a stream its texts, its reasoning and the
  /// arguments of its calls. All that is received may be 256 times as large; a `recorder` keeps all of it in
  /// memory until the call ends.
  std::size_t max_response_bytes = std::size_t{16} << 20;
  /// Limit of one line of a stream in bytes; >= 1. Beyond it the call fails with Errc::response_too_large. In
  /// Dialect::openai_responses the instructions and tools that the server repeats do not count.
  std::size_t max_line_bytes = std::size_t{1} << 20;
  /// Redirects that a call follows: 307 and 308 within one origin (scheme, host and port). Any other redirect
  /// is an error.
  std::uint32_t max_redirects = 3;

  std::string ca_file = {};  ///< PEM bundle that servers are verified with. Empty: that of the system.
  std::string proxy = {};    ///< The proxy. Empty: as specified by the environment. "none": no proxy.

  PriceTable prices = {};  ///< For ChatOutcome::cost. A cost reported by the provider takes precedence.
  SharedOrBorrowed<HttpRecorder> recorder = {};    ///< Records every exchange. Null: nothing is recorded.
  SharedOrBorrowed<const HttpReplay> replay = {};  ///< Answers in place of the network. Null: the network.
};

/// An LlmClient over HTTP and TLS; the certificates of servers are always verified. Connections are kept and
/// reused.
///
/// A stop closes the connection of its call at once, from the stopping thread, without waiting for the loop
/// (G5, G6). With libcurl 8.15 or later that supports HTTP/2, a stop resets the stream from the loop, and the
/// connection is kept. With an older libcurl only HTTP/1.1 is used, because its resets come late or never.
///
/// One call is one attempt, with one exception: a request that the server refuses because of reasoning in it
/// is sent once more, without any. While the agent is paused (PauseToken) it is not: then the error is
/// retryable. For retries, other routes and limits, use an LlmRouter with this client as
/// a route. Reasoning is sent back only to who made it (see ReasoningRule). So clients of several servers,
/// models and accounts can take turns in one conversation.
///
/// Invalid options make every call fail with Errc::invalid_config; the message specifies what to change.
///
///     agentcore::HttpLlmClient llm{runtime,
///                                  {.base_url = "https://api.openai.com/v1",
///                                   .api_key_env = "OPENAI_API_KEY",
///                                   .model = "gpt-4o-mini"}};
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
///
/// All functions except abort() and has_active_request():
/// @loop_thread
class AGENTCORE_API HttpLlmClient final : public LlmClient {
 public:
  /// Makes a client. Reads the key from the environment, if `options.api_key_env` is set. The first client of
  /// a Runtime initializes libcurl, which takes some milliseconds.
  HttpLlmClient(Runtime& runtime, HttpLlmOptions options);
  /// Cancels all open calls: each receives the outcome `cancelled` before the destructor returns.
  /// @loop_thread
  ~HttpLlmClient() override;
  HttpLlmClient(const HttpLlmClient&) = delete;
  HttpLlmClient& operator=(const HttpLlmClient&) = delete;

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  /// Returns the number of calls without an outcome, in any phase.
  ///
  /// @loop_thread
  std::size_t open_calls() const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // also held by a call that is being started
};

}  // namespace agentcore
