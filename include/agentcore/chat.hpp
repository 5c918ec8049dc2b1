// What is said to a model and what comes back: messages, requests, outcomes.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

enum class Role : unsigned char { system, user, assistant, tool };
std::string_view to_string(Role role) noexcept;

// How the turn that a user message began ended before it got its answer. It is kept beside the message and is
// never sent to a model (G8, G11).
enum class Interruption : unsigned char { none, aborted, stopped, failed };
std::string_view to_string(Interruption interruption) noexcept;

// One call of a tool, as a model asked for it in an answer.
struct ToolCall {
  std::string id = {};  // the result names it; unique within a history
  std::string name =
      {};  // of the tool; of a window's action: "<window>__<action>", as far as providers take it
  std::string arguments = {};  // as the model wrote them: meant to be the text of a JSON object
  std::string window_id = {};  // of an action; empty: an ordinary tool
  std::string action_id = {};  // of that window; empty: `name` says it

  bool operator==(const ToolCall&) const = default;
};

// A part of a message that is not its text: a picture.
struct ContentPart {
  std::string url = {};         // "https://..."; empty: `data` is the picture itself
  std::string data = {};        // in base64
  std::string media_type = {};  // of `data`, e.g. "image/png"
  std::string detail = {};      // "low", "high" or "auto", for providers that take it; empty: not sent

  bool operator==(const ContentPart&) const = default;
};

// What a model thought before it answered, as its provider wants to be given it back: signed, encrypted or as
// it was said. It is sent to no other dialect and, if `server` is known, to no other server: others refuse a
// request that holds it.
struct ReasoningBlock {
  std::string dialect = {};  // whose: to_string(Dialect)
  std::string data = {};     // the text of a JSON object
  // Who wrote it: the host of HttpLlmOptions::base_url in small letters, and ":port" behind it if that is not
  // the scheme's own: "api.deepseek.com", "127.0.0.1:8000", "[::1]:8000". Empty: unknown.
  std::string server = {};

  bool operator==(const ReasoningBlock&) const = default;
};

// One entry of a conversation.
struct ChatMessage {
  Role role = Role::user;
  std::string content = {};  // UTF-8
  Interruption interruption = Interruption::none;
  std::vector<ToolCall> tool_calls = {};       // of an answer: what is to be done before the next one
  std::string tool_call_id = {};               // of a tool's message: the call whose result it is
  bool pinned = false;                         // never trimmed out of what a model is sent
  std::vector<ContentPart> parts = {};         // of a user's message: what is sent behind its text
  std::vector<ReasoningBlock> reasoning = {};  // of an answer

  bool operator==(const ChatMessage&) const = default;
};

// Tokens, as the provider counts them.
struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t total_tokens = 0;
  std::uint64_t cached_tokens = 0;     // of the prompt: read from the provider's cache
  std::uint64_t reasoning_tokens = 0;  // of the completion: reasoning, not answer
  // False: these are not the provider's final counts, because the call was stopped or failed, or because the
  // provider sent none. Counts that it had not sent by then are estimates, or 0. HttpLlmClient estimates a
  // prompt by its size, one token for 4 bytes. It estimates an answer that was cut off by the deltas received
  // (text, reasoning and arguments of calls): one token each, because most servers send one token per delta,
  // but at least one token for 4 bytes (deltas of several tokens) and at most one for 2 bytes (deltas of
  // single letters). For usual text and code the estimate is within about a third of the provider's count.
  bool complete = true;

  // Where a sum would overflow, it is the largest number: counts come from outside.
  Usage& operator+=(const Usage& other) noexcept {
    const auto add = [](std::uint64_t& sum, std::uint64_t more) noexcept {
      sum = more > ~sum ? ~std::uint64_t{0} : sum + more;
    };
    add(prompt_tokens, other.prompt_tokens);
    add(completion_tokens, other.completion_tokens);
    add(total_tokens, other.total_tokens);
    add(cached_tokens, other.cached_tokens);
    add(reasoning_tokens, other.reasoning_tokens);
    complete = complete && other.complete;
    return *this;
  }
  bool operator==(const Usage&) const = default;
};

// Why the model ended its answer. Not to be confused with a stop, which is ours; a vendor's word "stop" is
// translated to `complete` at the edge.
// The words of a refusal are the answer's text. An answer that its provider paused (Anthropic's "pause_turn")
// has no finish reason: the call fails with `api_error`.
enum class FinishReason : unsigned char { unknown, complete, length, content_filter, tool_calls, refusal };
std::string_view to_string(FinishReason reason) noexcept;

// A tool as a model is told of it.
struct ToolDescription {
  std::string name = {};         // letters, digits, '_' and '-'; at most 64
  std::string description = {};  // what it does and when to use it
  std::string parameters = {};   // the text of the JSON schema of its arguments; empty: it takes none

  bool operator==(const ToolDescription&) const = default;
};

// Whether an answer has to call tools.
struct ToolChoice {
  enum class Mode : unsigned char { automatic, none, required, named };

  Mode mode = Mode::automatic;
  std::string name = {};  // of the tool, for `named`

  bool operator==(const ToolChoice&) const = default;
};

// What an answer's text has to be.
struct ResponseFormat {
  enum class Kind : unsigned char { text, json_object, json_schema };

  Kind kind = Kind::text;
  std::string name = {};    // of the schema: letters, digits, '_' and '-'; empty: "answer"
  std::string schema = {};  // the text of a JSON schema, for `json_schema`
  bool strict = true;       // the provider is to guarantee it, where it can

  bool operator==(const ResponseFormat&) const = default;
};

// One model call. The client owns it from then on.
struct ChatRequest {
  std::string agent_id = {};  // empty: anonymous, to be cancelled by its stop token only (A4)
  // The number of the agent's tree in its Runtime, from 1: it distinguishes agents of the same id in several
  // trees. 0: the call belongs to no tree. It is never sent.
  std::uint64_t tree = 0;
  std::string model = {};  // empty: the client's default
  std::vector<ChatMessage> messages = {};
  std::vector<ToolDescription> tools = {};  // that the answer may call
  ToolChoice tool_choice = {};
  std::optional<bool> parallel_tool_calls = {};  // whether one answer may call several; empty: not sent
  ResponseFormat response_format = {};
  std::optional<double> temperature = {};        // 0 to 2
  std::optional<double> top_p = {};              // 0 to 1
  std::optional<std::uint32_t> max_tokens = {};  // of the answer
  std::vector<std::string> stop_sequences = {};
  std::string reasoning_effort = {};       // "low", "medium", "high", or what the model takes
  std::optional<TimePoint> deadline = {};  // the call fails with `deadline_exceeded` then; by Runtime::now()
  bool stream = true;
};

// What an endpoint said about its rate limits, in the head of an answer.
struct RateLimit {
  std::optional<std::uint64_t> requests = {};  // allowed, per whatever time it counts in
  std::optional<std::uint64_t> requests_left = {};
  Duration requests_reset{0};  // until they are all there again; 0: it did not say
  std::optional<std::uint64_t> tokens = {};
  std::optional<std::uint64_t> tokens_left = {};
  Duration tokens_reset{0};
  // True: all requests and tokens become available at the reset, as with windows of fixed length. False: they
  // become available gradually until then.
  bool fixed_window = false;

  bool operator==(const RateLimit&) const = default;
};

// How a model call ended. The text itself came as deltas.
struct ChatOutcome {
  enum class Kind : unsigned char { completed, cancelled, failed };

  Kind kind = Kind::completed;
  FinishReason finish_reason = FinishReason::unknown;
  Usage usage = {};
  Error error = {};                            // for `failed`; for `cancelled` its code is Errc::cancelled
  std::vector<ToolCall> tool_calls = {};       // of a completed answer, put together and in order
  std::vector<ReasoningBlock> reasoning = {};  // of a completed answer, for the history
  std::string model = {};                      // that answered, as the provider names it; empty: unknown
  std::optional<double> cost = {};  // by the client's price table, or as the provider says; empty: unknown

  static ChatOutcome completed(FinishReason reason, Usage usage = {}) {
    return {.finish_reason = reason, .usage = usage};
  }
  // By default the usage is unknown, and the tree estimates it. `Usage{}` says that the call used nothing,
  // because it was never sent.
  static ChatOutcome cancelled(Usage usage = {.complete = false}) {
    return {.kind = Kind::cancelled, .usage = usage, .error = {Errc::cancelled, "the call was stopped"}};
  }
  static ChatOutcome failed(Error error, Usage usage = {}) {
    return {.kind = Kind::failed, .usage = usage, .error = std::move(error)};
  }
};

}  // namespace agentcore
