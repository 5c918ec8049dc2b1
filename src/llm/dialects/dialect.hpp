// The OpenAI dialect of chat completions: how a request is written and an answer is read. No I/O. Another
// dialect is another file like this one, with the same three parts: request, answer object, error.
#pragma once

#include "llm/dialects/tool_call_assembler.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace agentcore::llm {

// The JSON body of a request. Broken UTF-8 in it is replaced by U+FFFD. An answer of calls alone is written
// with the content "", which OpenAI, vLLM, llama.cpp and Ollama accept; the latter two have refused null. A
// tool's parameters go out as they were written; if that is no JSON object with members, the tool takes none.
std::string openai_chat_body(const ChatRequest& request, std::string_view default_model);

// What a stream says when it is complete.
inline constexpr std::string_view open_ai_done = "[DONE]";

// True for an HTTP status after which the same request may succeed: 408, 429 and 500 to 599 (X19).
constexpr bool is_retryable_status(std::uint64_t status) noexcept {
  return status == 408 || status == 429 || (status >= 500 && status < 600);
}

// A provider's error object. `message` is valid UTF-8, as the provider wrote it.
struct ApiError {
  std::string message;
  bool retryable = false;  // by the object's own code or type
};

// What one JSON object of an answer says: a chunk of a stream, or a whole body.
struct AnswerObject {
  std::string_view content;  // valid UTF-8, until the next parse
  bool has_choice = false;
  std::optional<FinishReason> finish_reason;  // `unknown` for a word that nobody knows
  std::optional<Usage> usage;
  std::optional<ApiError> error;
  std::span<ToolCallPiece> tool_calls;                  // for a ToolCallAssembler; until the next parse
  ToolCallFault tool_call_fault = ToolCallFault::none;  // why tool_calls are not all that there were
};

// Reads answer objects. Made for one chunk of about 250 bytes at a time; strict about JSON's structure,
// lenient about everything that it does not need. Whatever the input, it ends with an object or with false.
// One per client: its buffers are too large to have one per stream. Not re-entrant.
class OpenAiChatReader {
 public:
  OpenAiChatReader();
  ~OpenAiChatReader();
  OpenAiChatReader(const OpenAiChatReader&) = delete;
  OpenAiChatReader& operator=(const OpenAiChatReader&) = delete;

  // Reads one chunk. False: not JSON, or not an object. The JSON is read where it lies when enough bytes
  // behind it may be read, otherwise from a copy.
  bool parse_chunk(std::string_view json, std::size_t readable_behind, AnswerObject& object);

  // Reads a whole body: as a chunk, and the JSON is checked to the last byte. An error object is found in any
  // of its usual shapes: {"error": {"message": ...}}, {"error": "..."}, {"message": ...}, {"detail": ...}.
  bool parse_body(std::string_view json, AnswerObject& object);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore::llm
