#include "turn/sent_context.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// Earlier summaries are needed only to take back the newest turns.
constexpr std::size_t max_summaries = 8;

}  // namespace

bool SentContext::has_unsent(std::size_t begin, std::size_t end) const noexcept {
  const auto last = messages.begin() + static_cast<std::ptrdiff_t>(std::min(end, messages.size()));
  const auto first = messages.begin() + static_cast<std::ptrdiff_t>(std::min(begin, messages.size()));
  return first < last && std::find(first, last, false) != last;
}

void SentContext::decide(std::vector<bool> sent) noexcept {
  messages = std::move(sent);
  if (!for_now.empty()) request_ends.clear();  // what was left out for now is sent again, or summarised
  for_now.clear();
  unsent = std::min(unsent, messages.size());
  while (unsent < messages.size() && !messages[unsent]) ++unsent;
}

void SentContext::keep_first(std::size_t count, const Conversation& left) noexcept {
  const std::size_t question = left.turns().empty() ? count : left.turns().back().question;
  const bool lost_question = has_unsent(question, std::min(question + 1, count));
  if (!for_now.empty()) request_ends.clear();
  for_now.clear();
  bool sends_again = lost_question && (summaries.empty() || question >= summaries.back().end);
  while (!summaries.empty()) {
    const std::size_t end = summaries.back().end;
    // The last question is sent in full, unless only this summary covers messages that were removed.
    const bool has_question = lost_question && question < end && (summaries.size() > 1 || !lost_messages);
    if (!has_unsent(count, end) && !has_question) break;
    summaries.pop_back();
    sends_again = true;
  }
  if (sends_again) {
    const std::size_t begin = summaries.empty() ? 0 : summaries.back().end;
    for (std::size_t i = begin; i < messages.size(); ++i) messages[i] = true;
    unsent = std::min(unsent, begin);
    request_ends.clear();
  }
  if (messages.size() > count) messages.resize(count);
  unsent = std::min(unsent, messages.size());
  if (tokens.size() > count) tokens.resize(count);
  std::erase_if(cuts, [&](const context::CutMessage& cut) { return cut.message >= count; });
  cuts_told = std::min(cuts_told, cuts.size());
  while (!request_ends.empty() && request_ends.back() > count) request_ends.pop_back();
  for (auto& [number, window] : windows) window.opened_at = std::min(window.opened_at, count);
}

void SentContext::remove(std::size_t begin, std::size_t end) noexcept {
  if (begin == end) return;
  const auto erase = [&](auto& list) {
    const auto first = static_cast<std::ptrdiff_t>(std::min(begin, list.size()));
    const auto last = static_cast<std::ptrdiff_t>(std::min(end, list.size()));
    list.erase(list.begin() + first, list.begin() + last);
  };
  erase(tokens);
  erase(messages);
  erase(for_now);
  const auto is_removed = [&](const context::CutMessage& cut) {
    return cut.message >= begin && cut.message < end;
  };
  const auto told = cuts.begin() + static_cast<std::ptrdiff_t>(cuts_told);
  cuts_told -= static_cast<std::size_t>(std::count_if(cuts.begin(), told, is_removed));
  std::erase_if(cuts, is_removed);
  for (context::CutMessage& cut : cuts)
    if (cut.message >= end) cut.message -= end - begin;
  const auto move = [&](std::size_t& place) {
    if (place > begin) place -= std::min(place, end) - begin;
  };
  move(unsent);
  for (std::size_t& place : request_ends) move(place);
  for (Summary& each : summaries) move(each.end);
  for (auto& [number, window] : windows) move(window.opened_at);
  lost_messages = true;
}

void SentContext::make_room() {
  summaries.reserve(max_summaries + 1);
}

void SentContext::summarise(ChatMessage text, std::size_t cost) noexcept {
  const auto last = std::find(messages.rbegin(), messages.rend(), false);
  summaries.push_back({std::move(text), cost, static_cast<std::size_t>(messages.rend() - last)});
  if (summaries.size() > max_summaries) summaries.erase(summaries.begin());
  request_ends.clear();
}

}  // namespace agentcore::detail::turn
