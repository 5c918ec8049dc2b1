// AnswerForm: what a model answers, as the bytes of a dialect.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

// What the bytes of an answer depend on, besides its words.
struct AnswerSetting {
  std::string id;
  std::string model;
  bool stream = true;
  std::string reasoning_field = "reasoning_content";  // in Dialect::openai_chat; empty: it does not say it
  bool signs_calls = false;                           // as Gemini does
  std::uint64_t prompt_tokens = 0;                    // some dialects say them at the beginning
};

// Each function returns the bytes to send next; of an answer that is no stream all come at its end.
class AnswerForm {
 public:
  static std::unique_ptr<AnswerForm> make(Dialect dialect, AnswerSetting setting);
  virtual ~AnswerForm() = default;

  virtual std::string text(const std::string& words) = 0;
  // `signature`: empty: none.
  virtual std::string reasoning(const std::string& words, const std::string& signature) = 0;
  virtual std::string call(const ToolCall& call) = 0;
  virtual std::string end(FinishReason reason, const Usage& usage) = 0;
  // Within an answer that began well.
  virtual std::string error(std::string_view type, std::string_view message) = 0;
  // The body of an answer with an error status.
  virtual std::string refusal(std::string_view type, std::string_view code, std::string_view message) = 0;
};

}  // namespace agentcore::sim
