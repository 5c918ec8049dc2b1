#include "console/events/event_log.hpp"

#include <charconv>
#include <utility>

namespace agentcore::detail::console {

void EventLog::append(std::shared_ptr<const AgentPath> path, bool is_text, std::string_view json) {
  std::string bytes = "id: " + id_of(last() + 1) + "\ndata: ";
  bytes.append(json).append("\n\n");
  events_.push_back({std::move(path), is_text, std::move(bytes)});
  bytes_ += events_.back().bytes.size();
  while (bytes_ > max_bytes_ && events_.size() > 1) {
    bytes_ -= events_.front().bytes.size();
    events_.pop_front();
    ++first_;
  }
}

void EventLog::lose() noexcept {
  first_ += events_.size() + 1;
  events_.clear();
  bytes_ = 0;
}

std::optional<std::uint64_t> EventLog::number_of(std::string_view id) const noexcept {
  if (id.size() < epoch_.size() + 2 || id.substr(0, epoch_.size()) != epoch_ || id[epoch_.size()] != '-')
    return std::nullopt;
  id.remove_prefix(epoch_.size() + 1);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (failure != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

}  // namespace agentcore::detail::console
