// OpenAI chat completions: how an answer is read, and what compatible servers really send.
#pragma once

#include "llm/dialects/json_answer_reader.hpp"
#include "llm/dialects/openai_chat_details.hpp"
#include "llm/dialects/openai_chat_tool_calls.hpp"
#include "llm/dialects/wire_format.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// An answer of calls alone is written with the content "", which OpenAI, vLLM, llama.cpp and Ollama accept;
// the latter two have refused null.
std::string openai_chat_body(const ChatRequest& request, const BodyDefaults& defaults);

class OpenAiChatReader final : public JsonAnswerReader {
 private:
  void begin() override;
  bool read_member(const Key& key, Value value, AnswerObject& object) override;
  void finish(AnswerObject& object) override;

  void read_choices(Value value, AnswerObject& object);
  void read_groq(Value value, AnswerObject& object);
  void read_choice(Object choice, AnswerObject& object);
  void read_message(Value value, bool whole, AnswerObject& object);
  void read_content(Value value, AnswerObject& object);
  void read_part(Object part);
  void read_reasoning(Value value, bool wanted_back, AnswerObject& object);
  void keep_extra(std::string_view extra);
  void note_other(const char* name, Value value);
  ToolCallReader tool_call_reader();
  DetailReader detail_reader();
  void read_usage(Value value, AnswerObject& object);

  std::string content_;         // when it is not a plain text, or simdjson refuses it
  std::string reasoning_;       // if simdjson refuses it
  std::string reasoning_text_;  // in the parts of a content
  std::string refusal_;
  std::vector<TextPiece> texts_;     // of content_, if a part of it is a refusal
  std::optional<ApiError> failure_;  // of an answer that ended with a failure
  std::string model_;
  std::vector<ToolCallPiece> tool_calls_;
  std::vector<ReasoningPiece> kept_reasoning_;  // to be sent back to the provider
  std::vector<ReasoningDetail> details_;        // the same
  std::string words_in_details_;
};

}  // namespace agentcore::detail::llm
