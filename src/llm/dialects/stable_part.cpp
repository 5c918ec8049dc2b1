#include "llm/dialects/stable_part.hpp"

#include <algorithm>

namespace agentcore::detail::llm {

std::size_t stable_end(const ChatRequest& request) noexcept {
  return std::min(request.stable_messages.value_or(request.messages.size()), request.messages.size());
}

std::size_t stable_end_before(const ChatRequest& request) noexcept {
  std::size_t end = 0;
  for (const std::size_t earlier : request.sent_before)
    if (earlier < stable_end(request)) end = std::max(end, earlier);
  return end;
}

bool may_join(const ChatRequest& request, std::size_t at, JoinUserMessages join) noexcept {
  if (join != JoinUserMessages::unsent) return join == JoinUserMessages::always;
  return at != stable_end(request) && std::ranges::find(request.sent_before, at) == request.sent_before.end();
}

void set_cache_key(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults) {
  if (defaults.sends_cache_key && !request.cache_key.empty())
    body.set_text("prompt_cache_key", request.cache_key);
}

}  // namespace agentcore::detail::llm
