#include "turn/questions.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace agentcore {

std::string_view to_string(QuestionKind kind) noexcept {
  return kind == QuestionKind::approval ? "approval" : "question";
}

std::string_view to_string(QuestionOutcome outcome) noexcept {
  switch (outcome) {
    case QuestionOutcome::answered:
      return "answered";
    case QuestionOutcome::declined:
      return "declined";
    case QuestionOutcome::cancelled:
      return "cancelled";
    case QuestionOutcome::timed_out:
      return "timed_out";
  }
  return "unknown";
}

namespace turn {

AskedQuestion& Questions::add(AskedQuestion question) {
  question.question.id = "q_" + std::to_string(++asked_);
  return open_.emplace(asked_, std::move(question)).first->second;
}

std::optional<std::uint64_t> Questions::number_of(std::string_view id) noexcept {
  std::uint64_t number = 0;
  if (!id.starts_with("q_")) return std::nullopt;
  id.remove_prefix(2);
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size() || id.starts_with('0')) return std::nullopt;
  return number;
}

const AskedQuestion* Questions::find(std::string_view id) const noexcept {
  const auto number = number_of(id);
  const auto found = number ? open_.find(*number) : open_.end();
  return found == open_.end() ? nullptr : &found->second;
}

bool Questions::was_closed(std::string_view id) const noexcept {
  const auto number = number_of(id);
  return number && *number <= asked_ && !open_.contains(*number);
}

std::optional<AskedQuestion> Questions::take(std::string_view id) {
  const auto number = number_of(id);
  auto node = number ? open_.extract(*number) : decltype(open_)::node_type{};
  if (!node) return std::nullopt;
  return std::move(node.mapped());
}

std::optional<AskedQuestion> Questions::take_of(std::uint32_t flight) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& entry) { return entry.second.flight == flight; });
  if (found == open_.end()) return std::nullopt;
  return std::move(open_.extract(found).mapped());
}

std::vector<OpenQuestion> Questions::open() const {
  std::vector<OpenQuestion> all;
  for (const auto& [number, asked] : open_) all.push_back(asked.question);
  return all;
}

std::size_t Questions::count(core::NodeId agent) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      open_.begin(), open_.end(), [&](const auto& entry) { return entry.second.agent == agent; }));
}

}  // namespace turn
}  // namespace agentcore
