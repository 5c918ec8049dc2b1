#include "turn/acknowledgements.hpp"

#include "core/blank.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::turn {

void Acknowledgements::begin(core::NodeId agent, MessageId message, std::uint32_t call) {
  const core::Lock lock(mutex_);
  entries_[agent] = {message, call, {}};
}

std::string Acknowledgements::kept(const AgentSpec& spec, core::NodeId agent, MessageId message,
                                   DeliveredText delivered) const noexcept {
  std::string text = std::move(delivered.text);
  if (text.empty()) return text;
  std::size_t bytes = spec.partial_answers == PartialAnswers::keep ? text.size() : 0;
  {
    const core::Lock lock(mutex_);
    const auto entry = entries_.find(agent);
    if (entry != entries_.end() && entry->second.message == message && entry->second.call == delivered.call &&
        entry->second.bytes)
      bytes = std::min(*entry->second.bytes, text.size());
  }
  text.resize(core::first_bytes(text, bytes).size());
  if (core::is_blank(text)) text.clear();
  return text;
}

void Acknowledgements::forget_deleted(const core::AgentTable& table) noexcept {
  const core::Lock lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return !table.find(entry.first); });
}

std::size_t Acknowledgements::count(const core::References& refers) const noexcept {
  const core::Lock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [&](const auto& entry) { return refers(entry.first); }));
}

}  // namespace agentcore::detail::turn
