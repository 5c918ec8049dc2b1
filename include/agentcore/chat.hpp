// Requests and outcomes of model calls.
#pragma once

#include <agentcore/chat_message.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/pause_token.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore {

/// The tokens that model calls used, as counted by the provider.
struct Usage {
  std::uint64_t prompt_tokens = 0;      ///< Tokens of the request.
  std::uint64_t completion_tokens = 0;  ///< Tokens of the answer, reasoning included.
  std::uint64_t total_tokens = 0;       ///< Prompt and completion together.
  std::uint64_t cached_tokens = 0;      ///< Part of the prompt tokens: read from the provider's cache.
  std::uint64_t reasoning_tokens = 0;   ///< Part of the completion tokens: reasoning, not answer.
  /// True: the counts are the provider's final counts. False: they are not, because the call was stopped or
  /// failed, or because the provider sent no counts. Counts that had not arrived by then are estimates, or 0.
  ///
  /// HttpLlmClient estimates a prompt as trimming and budgets do: estimate_tokens() for each text,
  /// estimated_image_tokens for an image and for each 64 KiB of a document in base64, a token for each 2 KiB
  /// of a sound, and 4 tokens for what surrounds a message. This is rather too high than too low. It
  /// estimates an answer that was cut off by the number of deltas received (text, reasoning and arguments of
  /// tool calls): one token for each delta, because most servers send one token per delta, but at least one
  /// token for 4 bytes (deltas of several tokens) and at most one token for 2 bytes (deltas of single
  /// letters). For typical text and code the estimate of the answer is within about a third of the provider's
  /// count.
  bool complete = true;
  /// Part of the prompt tokens, apart from `cached_tokens`: written to the provider's cache. 0 if the
  /// provider does not report it.
  std::uint64_t cache_write_tokens = 0;

  /// Adds the counts of `other`. A sum that would overflow becomes the largest value of its type, because the
  /// counts come from outside the library. The sum is complete if both operands are.
  Usage& operator+=(const Usage& other) noexcept {
    const auto add = [](std::uint64_t& sum, std::uint64_t more) noexcept {
      sum = more > ~sum ? ~std::uint64_t{0} : sum + more;
    };
    add(prompt_tokens, other.prompt_tokens);
    add(completion_tokens, other.completion_tokens);
    add(total_tokens, other.total_tokens);
    add(cached_tokens, other.cached_tokens);
    add(cache_write_tokens, other.cache_write_tokens);
    add(reasoning_tokens, other.reasoning_tokens);
    complete = complete && other.complete;
    return *this;
  }
  /// True if all fields are equal.
  bool operator==(const Usage&) const = default;
};

/// Why the model ended its answer. This is unrelated to a stop by the host: the value "stop" of a provider is
/// translated to `complete`.
///
/// An answer that its provider paused (Anthropic's "pause_turn") has no finish reason: the call fails with
/// Errc::api_error.
enum class FinishReason : unsigned char {
  unknown,         ///< The provider sent no reason.
  complete,        ///< The answer is complete.
  length,          ///< The answer reached a token limit.
  content_filter,  ///< The provider's content filter ended the answer.
  tool_calls,      ///< The model requests tool calls.
  refusal,         ///< The model refuses to answer. The text of the refusal is the text of the answer.
  other            ///< The provider sent a reason that this library does not know.
};
/// Returns the name of the enumerator, spelled as above.
AGENTCORE_API std::string_view to_string(FinishReason reason) noexcept;

/// The description of a tool in a request.
struct ToolDescription {
  /// At most 64 letters, digits, '_' and '-'. HttpLlmClient sends a name that its server does not take as a
  /// similar one, and reports calls under this one.
  std::string name = {};
  std::string description = {};  ///< What the tool does and when to use it.
  /// The text of the JSON schema of the arguments: a JSON object. Empty: the tool has no arguments.
  /// HttpLlmClient fails the call with Errc::invalid_config for any other text.
  std::string parameters = {};

  /// True if all fields are equal.
  bool operator==(const ToolDescription&) const = default;
};

/// Whether an answer may or must call tools.
struct ToolChoice {
  /// The rule for the answer.
  enum class Mode : unsigned char {
    automatic,  ///< The model decides.
    none,       ///< The answer must not call tools.
    required,   ///< The answer must call at least one tool.
    named       ///< The answer must call the tool `name`.
  };

  Mode mode = Mode::automatic;  ///< The rule for the answer.
  std::string name = {};        ///< The tool, for Mode::named.

  /// True if all fields are equal.
  bool operator==(const ToolChoice&) const = default;
};

/// The required form of the text of an answer. Providers treat it as a wish or as a rule, by their kind and
/// model. The turns of an agent check the text of the answer (`validate`); LlmClient::chat() checks nothing.
///
///     agentcore::AgentSpec spec;
///     spec.model.response_format = {.kind = agentcore::ResponseFormat::Kind::json_schema,
///                                   .schema = R"({"type":"object","properties":{"age":{"type":"integer"}},
///                                                 "required":["age"],"additionalProperties":false})"};
struct ResponseFormat {
  /// The form of the text.
  enum class Kind : unsigned char {
    text,         ///< Any text.
    json_object,  ///< A JSON object. Dialect::anthropic_messages does not support it: it is not sent there.
    json_schema   ///< JSON that matches `schema`.
  };

  Kind kind = Kind::text;  ///< The form of the text.
  std::string name = {};   ///< Name of the schema: letters, digits, '_' and '-'. Empty: "answer".
  /// For Kind::json_schema: the text of a JSON schema, a JSON object with members. HttpLlmClient fails the
  /// call with Errc::invalid_config for any other text.
  std::string schema = {};
  bool strict = true;  ///< True: the provider must guarantee the schema, if it supports that.
  /// For ModelOptions::response_format; never sent. True: an answer without tool calls completes the turn
  /// only if its text is JSON that matches `schema`, or for Kind::json_object, a JSON object. The text may be
  /// in a Markdown code fence, with nothing before or after the fence; TurnResult::text has the JSON alone.
  /// If the check fails, the model is asked again, at most AgentLimits::repairs times in a turn; then the
  /// turn fails with Errc::invalid_answer. JSON that is nested deeper than 64 levels fails the check. False:
  /// any text completes the turn. Ignored for Kind::text.
  bool validate = true;

  /// True if all fields are equal.
  bool operator==(const ResponseFormat&) const = default;
};

/// The request of one model call. LlmClient::chat() takes ownership of it.
///
///     agentcore::ChatRequest request;
///     request.messages = {agentcore::ChatMessage::system("Answer in one sentence."),
///                         agentcore::ChatMessage::user("Why is the sky blue?")};
///     request.max_tokens = 200;
struct ChatRequest {
  /// The agent of the call. Empty: the call is anonymous, and only its stop token can cancel it.
  std::string agent_id = {};
  /// The number of the agent's tree in its Runtime, from 1. It distinguishes agents of the same id in several
  /// trees. 0: the call belongs to no tree. It is never sent.
  std::uint64_t tree = 0;
  std::string model = {};  ///< Empty: the default model of the client.
  /// The conversation. HttpLlmClient fails the call with Errc::empty_message if the last message is a user
  /// message without images and with no text but white space.
  std::vector<ChatMessage> messages = {};
  /// The key of the fingerprints in ReasoningBlock::account: fingerprints can be compared among requests with
  /// the same salt. The requests of an agent have one of their tree, which its store keeps. It is never sent.
  /// Empty: a random one of the process.
  std::string salt = {};
  /// Text for the model that changes from request to request, such as the windows that are open now. It is
  /// sent behind everything else, so that what stands before it can be cached by the provider: as a part of
  /// its own of the last message, or where a message cannot have parts, as a user message of its own; with
  /// JoinUserMessages::always, as the last paragraph of the last message. Empty: none.
  std::string tail = {};
  /// The number of leading `messages` that the next request of the conversation repeats unchanged. Providers
  /// may cache these; the others are not marked for a cache. Empty: all.
  std::optional<std::size_t> stable_messages = {};
  /// For each earlier request of the conversation: how many messages its stable part had, ascending. See
  /// HttpLlmOptions::join_user_messages for their use.
  std::vector<std::size_t> sent_before = {};
  /// Equal in all requests of a conversation: lets a provider send them to the server that has cached their
  /// beginning (`prompt_cache_key` of OpenAI). At most 64 bytes. Empty: none.
  std::string cache_key = {};
  std::vector<ToolDescription> tools = {};  ///< The tools that the answer may call.
  ToolChoice tool_choice = {};              ///< Not sent if `tools` is empty.
  /// Whether one answer may call several tools. Empty: not sent.
  std::optional<bool> parallel_tool_calls = {};
  /// The required form of the answer's text. ResponseFormat::validate has no effect here.
  ResponseFormat response_format = {};
  /// 0 to 2; HttpLlmClient fails the call with Errc::invalid_config for any other value. In
  /// Dialect::anthropic_messages values above 1 are sent as 1. Empty: not sent.
  std::optional<double> temperature = {};
  /// 0 to 1; HttpLlmClient fails the call with Errc::invalid_config for any other value. Empty: not sent.
  std::optional<double> top_p = {};
  /// Limit of the answer, >= 1; HttpLlmClient fails the call with Errc::invalid_config for 0. In
  /// Dialect::openai_responses at least 16 are sent, because the API refuses less. Empty: the default of the
  /// client.
  std::optional<std::uint32_t> max_tokens = {};
  std::vector<std::string> stop_sequences = {};  ///< Not sent in Dialect::openai_responses, which has none.
  /// "low", "medium", "high", or another value that the model supports. Empty: not sent.
  std::string reasoning_effort = {};
  /// The time, by Runtime::now(), at which the call fails with Errc::deadline_exceeded: for LlmRouter with
  /// its waits for slots, attempts and back-offs, for HttpLlmClient with the connection. In the calls of an
  /// agent: the deadline of the turn (SendOptions::deadline, AgentLimits::turn_timeout). A client need not
  /// observe that one, because the turn triggers the stop token of the call then. Empty: no deadline.
  std::optional<TimePoint> deadline = {};
  /// Whether the agent of the call is paused: then nothing new begins for the call. It is never sent.
  PauseToken pause = {};
  bool stream = true;  ///< True: the server sends the answer in pieces. False: in one piece, at its end.
};

/// The rate limits that an endpoint reported in the headers of an answer.
struct RateLimit {
  /// The allowed requests in one period; the endpoint chooses the period. Empty: not reported.
  std::optional<std::uint64_t> requests = {};
  std::optional<std::uint64_t> requests_left = {};  ///< Requests left in the period. Empty: not reported.
  Duration requests_reset{0};  ///< The time until all requests are available again. 0: not reported.
  std::optional<std::uint64_t> tokens = {};       ///< The allowed tokens in one period. Empty: not reported.
  std::optional<std::uint64_t> tokens_left = {};  ///< Tokens left in the period. Empty: not reported.
  Duration tokens_reset{0};  ///< The time until all tokens are available again. 0: not reported.
  /// True: all requests and tokens become available at the reset, as with windows of fixed length. False:
  /// they become available gradually until then.
  bool fixed_window = false;

  /// True if all fields are equal.
  bool operator==(const RateLimit&) const = default;
};

/// Why a model call, or a turn, failed.
///
///     if (outcome.error.retryable) schedule_again(outcome.error.retry_after);
struct ChatError {
  Errc code = Errc::none;    ///< the reason
  std::string message = {};  ///< a text for people; never contains a secret
  int http_status = 0;       ///< the HTTP status of the answer; 0: there was no HTTP answer
  bool retryable = false;    ///< true: the same call may succeed later
  /// True: another model may accept the request, because this model is unknown, unavailable or too small for
  /// the context, because the account at this provider is used up (Errc::account_exhausted), because its
  /// dialect or its server does not take a part of a message (Errc::unsupported_part), or because the server
  /// does not want the request again (x-should-retry).
  bool model_specific = false;
  /// The wait that the server asked for before the next request, in a header or in its error; 0: it did not
  /// specify one.
  std::chrono::milliseconds retry_after{0};

  /// Makes the error of a call from a code and a message.
  static ChatError from(Error error) { return {error.code, std::move(error.message)}; }
  /// The code and the message alone.
  operator Error() const { return {code, message}; }  // NOLINT: implicit by design
};

/// One part of an answer: a text, a reasoning block or a tool call. See ChatOutcome::order.
struct AnswerPart {
  /// The kind of a part.
  enum class Kind : unsigned char {
    text,       ///< A text: `bytes` bytes of the delivered text, from `offset` on.
    reasoning,  ///< The next element of ChatOutcome::reasoning.
    tool_call   ///< The next element of ChatOutcome::tool_calls.
  };

  Kind kind = Kind::text;  ///< The kind of the part.
  /// Of a text: where it begins in the text that was delivered (all deltas together), in bytes. White space
  /// that was delivered between two texts separates them, and belongs to no part; ChatMessage::content() has
  /// an empty line there. If anything else belongs to no part, ChatOutcome::order counts as empty.
  std::size_t offset = 0;
  std::size_t bytes = 0;  ///< Of a text: its length, in bytes.
  bool refusal = false;   ///< Of a text: true if the model refuses to answer, and the text says so.
  /// The provider's id of the item, for dialects that have one (Dialect::openai_responses: "msg_...",
  /// "fc_...", "rs_..."). Empty: none, or longer than 1,024 bytes.
  std::string id = {};
  /// Of a text: its `phase` in Dialect::openai_responses, "commentary" or "final_answer". Empty: none.
  std::string phase = {};

  /// True if all fields are equal.
  bool operator==(const AnswerPart&) const = default;
};

/// How a model call ended. The text of the answer is not part of it: it was delivered as deltas.
struct ChatOutcome {
  /// How the call ended.
  enum class Kind : unsigned char {
    completed,  ///< The answer is complete.
    cancelled,  ///< The call was stopped.
    failed      ///< The call failed; `error` specifies why.
  };

  Kind kind = Kind::completed;                         ///< How the call ended.
  FinishReason finish_reason = FinishReason::unknown;  ///< Of a completed answer.
  Usage usage = {};                                    ///< What the call used.
  ChatError error = {};  ///< If failed: the error. If cancelled: its code is Errc::cancelled.
  std::vector<ToolCall> tool_calls = {};       ///< Of a completed answer: whole calls, in order.
  std::vector<ReasoningBlock> reasoning = {};  ///< Of a completed answer: the blocks for the history.
  /// Of a completed answer: its parts, in the order in which the model wrote them. It has a part for each
  /// element of `reasoning` and of `tool_calls`, in the order of these lists. Empty: the blocks of
  /// `reasoning` come first, then the text as one part, then `tool_calls`.
  std::vector<AnswerPart> order = {};
  std::string model = {};  ///< The model that answered, as named by the provider. Empty: unknown.
  /// The cost of the call, by the price table of the client or as reported by the provider. Empty: unknown.
  std::optional<double> cost = {};

  /// Makes the outcome of a complete answer.
  static ChatOutcome completed(FinishReason reason, Usage usage = {}) {
    return {.finish_reason = reason, .usage = usage};
  }
  /// Makes the outcome of a stopped call. By default the usage is unknown, and the tree estimates it. Pass
  /// `Usage{}` for a call that used nothing because it was never sent.
  static ChatOutcome cancelled(Usage usage = {.complete = false}) {
    return {.kind = Kind::cancelled, .usage = usage, .error = {Errc::cancelled, "the call was stopped"}};
  }
  /// Makes the outcome of a failed call.
  static ChatOutcome failed(ChatError error, Usage usage = {}) {
    return {.kind = Kind::failed, .usage = usage, .error = std::move(error)};
  }
};

}  // namespace agentcore
