#include "turn/questions.hpp"

#include "core/text_hash.hpp"

#include <charconv>
#include <utility>

namespace agentcore::detail::turn {

std::string question_id(std::uint64_t number) {
  return "q_" + std::to_string(number);
}

// The sizes keep apart what is divided in another way.
std::uint64_t question_hash(const OpenQuestion& question) {
  std::string all;
  const auto add = [&all](const std::string& text) { (all += std::to_string(text.size()) += ' ') += text; };
  add(question.text);
  for (const std::string& choice : question.choices) add(choice);
  return core::text_hash(all);
}

AskedQuestion& Questions::add(AskedQuestion question, std::optional<std::uint64_t> given) {
  const std::uint64_t number = given ? *given : ++asked_;
  question.question.id = question_id(number);
  const auto place = open_.emplace(number, std::move(question)).first;
  try {
    by_owner_.insert(owned(*place));
  } catch (...) {
    open_.erase(place);
    throw;
  }
  ++added_;
  return place->second;
}

std::vector<RestoredQuestion> Questions::restorable(detail::core::NodeId agent, std::uint64_t turn) const {
  std::vector<RestoredQuestion> found;
  for (auto at = by_owner_.lower_bound({agent, {}, 0}); at != by_owner_.end() && at->agent == agent; ++at) {
    const AskedQuestion& asked = open_.at(at->number);
    if (asked.turn == turn)
      found.push_back(
          {asked.question.call_id, asked.question.kind == QuestionKind::approval, at->number, asked.hash});
  }
  return found;
}

void Questions::clear() {
  by_owner_.clear();
  Open().swap(open_);
}

std::optional<std::uint64_t> Questions::number_of(std::string_view id) noexcept {
  std::uint64_t number = 0;
  if (!id.starts_with("q_")) return std::nullopt;
  id.remove_prefix(2);
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size() || id.starts_with('0')) return std::nullopt;
  return number;
}

AskedQuestion* Questions::find(std::string_view id) noexcept {
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
  return take(number ? open_.find(*number) : open_.end());
}

std::optional<AskedQuestion> Questions::take(Open::iterator place) {
  if (place == open_.end()) return std::nullopt;
  by_owner_.erase(owned(*place));
  return std::move(open_.extract(place).mapped());
}

std::optional<AskedQuestion> Questions::take_of(detail::core::NodeId agent,
                                                detail::core::OperationId operation) {
  const auto oldest = by_owner_.lower_bound({agent, operation, 0});
  if (oldest == by_owner_.end()) return std::nullopt;
  ++looks_;
  if (oldest->agent != agent || oldest->operation != operation) return std::nullopt;
  return take(open_.find(oldest->number));
}

bool Questions::has(detail::core::NodeId agent, detail::core::OperationId operation) const noexcept {
  const auto oldest = by_owner_.lower_bound({agent, operation, 0});
  return oldest != by_owner_.end() && oldest->agent == agent && oldest->operation == operation;
}

std::vector<OpenQuestion> Questions::open() const {
  std::vector<OpenQuestion> all;
  for (const auto& [number, asked] : open_) all.push_back(asked.question);
  return all;
}

std::vector<std::string> Questions::approvals() const {
  std::vector<std::string> ids;
  for (const auto& [number, asked] : open_)
    if (asked.covers) ids.push_back(asked.question.id);
  return ids;
}

std::size_t Questions::count(const detail::core::References& refers) const noexcept {
  std::size_t found = 0;
  for (const auto& [number, asked] : open_) found += refers(asked.agent);
  return found;
}

std::size_t Questions::count(detail::core::NodeId agent) const noexcept {
  std::size_t found = 0;
  for (auto at = by_owner_.lower_bound({agent, {}, 0}); at != by_owner_.end(); ++at) {
    ++looks_;
    if (at->agent != agent) break;
    ++found;
  }
  return found;
}

}  // namespace agentcore::detail::turn
