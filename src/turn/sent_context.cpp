#include "turn/turn_data.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {

void SentContext::cut(std::size_t count) noexcept {
  const auto lost = messages.begin() + static_cast<std::ptrdiff_t>(std::min(count, messages.size()));
  if (summary && std::find(lost, messages.end(), false) != messages.end()) {
    messages.clear();
    ends.clear();
    summary.reset();
    summary_tokens = 0;
  }
  if (messages.size() > count) messages.resize(count);
  if (tokens.size() > count) tokens.resize(count);
  while (!ends.empty() && ends.back() > count) ends.pop_back();
  for (auto& [number, window] : windows) window.opened_at = std::min(window.opened_at, count);
}

void SentContext::remove(std::size_t begin, std::size_t end) noexcept {
  const auto erase = [&](auto& list) {
    const auto first = static_cast<std::ptrdiff_t>(std::min(begin, list.size()));
    const auto last = static_cast<std::ptrdiff_t>(std::min(end, list.size()));
    list.erase(list.begin() + first, list.begin() + last);
  };
  erase(tokens);
  erase(messages);
  const auto move = [&](std::size_t& place) {
    if (place > begin) place -= std::min(place, end) - begin;
  };
  for (std::size_t& place : ends) move(place);
  for (auto& [number, window] : windows) move(window.opened_at);
}

void SentContext::summarise(ChatMessage text, std::size_t cost) noexcept {
  summary = std::move(text);
  summary_tokens = cost;
  ends.clear();
}

}  // namespace agentcore::detail::turn
