#include "llm/dialects/response_texts.hpp"

namespace agentcore::detail::llm {

void ResponseTexts::clear() noexcept {
  content.clear();
  texts.clear();
  reasoning.clear();
  reasoning_texts.clear();
  words_.clear();
}

void ResponseTexts::add(std::string_view words, std::uint64_t part, bool refusal) {
  if (words.empty()) return;
  texts.push_back({.offset = content.size(), .bytes = words.size(), .refusal = refusal, .part = part});
  content += words;
}

void ResponseTexts::add_thought(std::string_view words, std::uint64_t part) {
  if (words.empty()) return;
  reasoning_texts.push_back({.offset = reasoning.size(), .bytes = words.size(), .part = part});
  reasoning += words;
}

void ResponseTexts::name(std::size_t first_text, std::size_t first_of_reasoning, const TextPiece& item) {
  const auto keep = [this](std::string_view word) {
    return word.empty() ? std::string_view() : std::string_view(words_.emplace_back(word));
  };
  const std::string_view id = keep(item.id), phase = keep(item.phase);
  const auto name_all = [&](std::vector<TextPiece>& pieces, std::size_t first) {
    for (std::size_t i = first; i < pieces.size(); ++i) {
      pieces[i].index = item.index;
      pieces[i].id = id;
      pieces[i].phase = phase;
      pieces[i].place = item.place;
    }
  };
  name_all(texts, first_text);
  name_all(reasoning_texts, first_of_reasoning);
}

Snapshot ResponseTexts::snapshot(Repeats what) const noexcept {
  return {.what = what,
          .content = content,
          .texts = texts,
          .reasoning = reasoning,
          .reasoning_texts = reasoning_texts};
}

}  // namespace agentcore::detail::llm
