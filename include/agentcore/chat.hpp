// What is said to a model and what comes back: messages, requests, outcomes.
#pragma once

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

// One entry of a conversation.
struct ChatMessage {
  Role role = Role::user;
  std::string content = {};  // UTF-8
  Interruption interruption = Interruption::none;
  std::vector<ToolCall> tool_calls = {};  // of an answer: what is to be done before the next one
  std::string tool_call_id = {};          // of a tool's message: the call whose result it is
  bool pinned = false;                    // never trimmed out of what a model is sent

  bool operator==(const ChatMessage&) const = default;
};

// Tokens, as the provider counts them. All 0 when it did not say.
struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t total_tokens = 0;

  Usage& operator+=(const Usage& other) noexcept {
    prompt_tokens += other.prompt_tokens;
    completion_tokens += other.completion_tokens;
    total_tokens += other.total_tokens;
    return *this;
  }
  bool operator==(const Usage&) const = default;
};

// Why the model ended its answer. Not to be confused with a stop, which is ours; a vendor's word "stop" is
// translated to `complete` at the edge.
enum class FinishReason : unsigned char { unknown, complete, length, content_filter, tool_calls };
std::string_view to_string(FinishReason reason) noexcept;

// A tool as a model is told of it.
struct ToolDescription {
  std::string name = {};         // letters, digits, '_' and '-'; at most 64
  std::string description = {};  // what it does and when to use it
  std::string parameters = {};   // the text of the JSON schema of its arguments; empty: it takes none

  bool operator==(const ToolDescription&) const = default;
};

// One model call. The client owns it from then on.
struct ChatRequest {
  std::string agent_id = {};  // empty: anonymous, to be cancelled by its stop token only (A4)
  std::string model = {};     // empty: the client's default
  std::vector<ChatMessage> messages = {};
  std::vector<ToolDescription> tools = {};       // that the answer may call
  std::optional<double> temperature = {};        // 0 to 2
  std::optional<std::uint32_t> max_tokens = {};  // of the answer
  bool stream = true;
};

// How a model call ended. The text itself came as deltas.
struct ChatOutcome {
  enum class Kind : unsigned char { completed, cancelled, failed };

  Kind kind = Kind::completed;
  FinishReason finish_reason = FinishReason::unknown;
  Usage usage = {};
  Error error = {};                       // for `failed`; for `cancelled` its code is Errc::cancelled
  std::vector<ToolCall> tool_calls = {};  // of a completed answer, put together and in order

  static ChatOutcome completed(FinishReason reason, Usage usage = {}) {
    return {Kind::completed, reason, usage, {}, {}};
  }
  static ChatOutcome cancelled(Usage usage = {}) {
    return {Kind::cancelled, FinishReason::unknown, usage, {Errc::cancelled, "the call was stopped"}, {}};
  }
  static ChatOutcome failed(Error error, Usage usage = {}) {
    return {Kind::failed, FinishReason::unknown, usage, std::move(error), {}};
  }
};

}  // namespace agentcore
