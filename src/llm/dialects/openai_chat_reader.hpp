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
  // What a delta or a message says.
  struct Message {
    bool whole = false;
    std::string content = {};         // when it is not a plain text, or simdjson refuses it
    std::string reasoning = {};       // if simdjson refuses it
    std::string reasoning_text = {};  // in the parts of a content
    std::string refusal = {};
    CutPair refusal_cut = {};           // at the ends of `refusal`
    CutPair content_cut = {};           // at the ends of a content in parts
    CutPair reasoning_cut = {};         // at the ends of `reasoning_text`
    std::vector<TextPiece> texts = {};  // of `content`, if a part of it is a refusal
    std::vector<ToolCallPiece> tool_calls = {};
    std::vector<ReasoningPiece> kept_reasoning = {};  // to be sent back to the provider
    std::vector<ReasoningDetail> details = {};        // the same
    std::string words_in_details = {};
  };

  void begin() override;
  static void begin(Message& message);
  bool read_member(const Key& key, Value value, AnswerObject& object) override;
  void finish(AnswerObject& object) override;

  void read_choices(Value value, AnswerObject& object);
  void read_groq(Value value, AnswerObject& object);
  void read_choice(Object choice, AnswerObject& object);
  void read_whole_message(Value value, AnswerObject& object);
  void read_message(Value value, Message& message, AnswerObject& object);
  void read_content(Value value, Message& message, AnswerObject& object);
  void read_part(Object part, Message& message);
  void read_reasoning(Value value, bool wanted_back, Message& message, AnswerObject& object);
  void keep_extra(std::string_view extra, Message& message);
  void note_other(const char* name, Value value);
  ToolCallReader tool_call_reader(Message& message);
  DetailReader detail_reader(Message& message);
  void read_usage(Value value, AnswerObject& object);
  static void add_refusal(Message& message, AnswerObject& object);

  Message delta_;
  Message message_;    // whole: it repeats the deltas, or is the answer
  AnswerObject said_;  // by message_
  Snapshot snapshot_;
  std::optional<ApiError> failure_;  // of an answer that ended with a failure
  std::string model_;
};

}  // namespace agentcore::detail::llm
