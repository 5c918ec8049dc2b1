#include "llm/http/redactor.hpp"

#include <algorithm>

namespace agentcore::llm {

void Redactor::hide(std::string secret, std::string_view name) {
  if (secret.empty()) return;
  hidden_.emplace_back(std::move(secret), "[" + std::string(name) + "]");
  std::stable_sort(hidden_.begin(), hidden_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::string Redactor::operator()(std::string_view text) const {
  std::string clean;
  while (!text.empty()) {
    const auto hit = std::find_if(hidden_.begin(), hidden_.end(),
                                  [text](const auto& entry) { return text.starts_with(entry.first); });
    clean.append(hit == hidden_.end() ? text.substr(0, 1) : std::string_view(hit->second));
    text.remove_prefix(hit == hidden_.end() ? 1 : hit->first.size());
  }
  return clean;
}

}  // namespace agentcore::llm
