#include "llm/dialects/finish_word.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace agentcore::detail::llm {
namespace {

enum class Failure : std::uint8_t {
  none,
  passing,  // the same call may succeed later
  model,    // the same call fails again; a model with a larger context may take it
};

struct KnownWord {
  std::string_view word;  // in lower case
  FinishReason reason;
  Failure failure = Failure::none;
};

constexpr KnownWord known_words[] = {
    {"stop", FinishReason::complete},
    {"end_turn", FinishReason::complete},
    {"stop_sequence", FinishReason::complete},
    {"eos", FinishReason::complete},
    {"eos_token", FinishReason::complete},
    {"complete", FinishReason::complete},
    {"completed", FinishReason::complete},
    {"length", FinishReason::length},
    {"max_tokens", FinishReason::length},
    {"max_output_tokens", FinishReason::length},
    {"model_length", FinishReason::length},
    {"content_filter", FinishReason::content_filter},
    {"safety", FinishReason::content_filter},
    {"recitation", FinishReason::content_filter},
    {"prohibited_content", FinishReason::content_filter},
    {"blocklist", FinishReason::content_filter},
    {"spii", FinishReason::content_filter},
    {"image_safety", FinishReason::content_filter},
    {"image_prohibited_content", FinishReason::content_filter},
    {"image_recitation", FinishReason::content_filter},
    {"sensitive", FinishReason::content_filter},             // Z.ai
    {"guardrail_intervened", FinishReason::content_filter},  // Bedrock
    {"tool_calls", FinishReason::tool_calls},
    {"tool_call", FinishReason::tool_calls},
    {"function_call", FinishReason::tool_calls},
    {"tool_use", FinishReason::tool_calls},
    {"refusal", FinishReason::refusal},
    {"error", FinishReason::other, Failure::passing},                         // OpenRouter, Mistral, Cohere
    {"insufficient_system_resource", FinishReason::other, Failure::passing},  // DeepSeek
    {"network_error", FinishReason::other, Failure::passing},                 // Z.ai
    {"abort", FinishReason::other, Failure::passing},                         // vLLM, SGLang
    {"aborted", FinishReason::other, Failure::passing},
    {"cancelled", FinishReason::other, Failure::passing},
    {"timeout", FinishReason::other, Failure::passing},
    {"server_error", FinishReason::other, Failure::passing},
    {"malformed_function_call", FinishReason::other, Failure::passing},  // Gemini
    {"malformed_response", FinishReason::other, Failure::passing},       // Gemini
    {"unexpected_tool_call", FinishReason::other, Failure::passing},     // Gemini
    {"too_many_tool_calls", FinishReason::other, Failure::passing},      // Gemini
    {"model_context_window_exceeded", FinishReason::other, Failure::model},
};

bool same_letters(std::string_view word, std::string_view small) noexcept {
  return std::ranges::equal(word, small,
                            [](char c, char s) { return c == s || (c >= 'A' && c <= 'Z' && c + 32 == s); });
}

const KnownWord* find(std::string_view word) noexcept {
  const auto* const found = std::ranges::find_if(
      known_words, [word](const KnownWord& known) { return same_letters(word, known.word); });
  return found == std::end(known_words) ? nullptr : found;
}

ApiError failure_of(const KnownWord& known, std::string_view word) {
  std::string text = "The provider gave the answer up (it ended with \"" + std::string(word) + "\")";
  if (known.failure == Failure::model)
    text +=
        "; the context of the model is full: lower ContextOptions::max_tokens, or use a model with a "
        "larger context";
  return ApiError{.message = std::move(text),
                  .known = known.failure == Failure::model ? ErrorKind::context_full : ErrorKind::passing};
}

}  // namespace

AnswerEnd answer_end_of(std::string_view word) {
  const KnownWord* known = find(word);
  // Gemini: "function_call_filter: MALFORMED_FUNCTION_CALL", "content_filter: RECITATION". The second part
  // says more.
  if (const auto colon = word.find(':'); known == nullptr && colon != std::string_view::npos) {
    const auto begin = word.find_first_not_of(' ', colon + 1);
    known = find(word.substr(std::min(begin, word.size())));
    if (known == nullptr) known = find(word.substr(0, colon));
  }
  if (known == nullptr) return {FinishReason::other, std::nullopt};
  if (known->failure == Failure::none) return {known->reason, std::nullopt};
  return {known->reason, failure_of(*known, word)};
}

}  // namespace agentcore::detail::llm
