// The tree of agents.
#include "console/top/layout.hpp"
#include "console/top/text.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace console_app::top {
namespace {

constexpr std::size_t state_width = 8;
constexpr std::size_t queue_width = 5;

struct Word {
  std::string text;
  Style style;
};

// Which rows say that a person is asked: that of the agent, and that of a collapsed one above it.
class Asking {
 public:
  Asking(const Agents& agents, const Questions& questions) {
    for (const Question& question : questions.all()) {
      const AgentNode* node = agents.find(question.agent_id);
      if (node == nullptr || !own_.emplace(node, &question).second) continue;
      while ((node = node->parent) != nullptr && above_.insert(node).second) {
      }
    }
  }
  // The oldest question of the agent; null: none.
  const Question* of(const AgentNode& agent) const {
    const auto found = own_.find(&agent);
    return found == own_.end() ? nullptr : found->second;
  }
  bool is_below(const AgentNode& agent) const { return above_.contains(&agent); }

 private:
  std::unordered_map<const AgentNode*, const Question*> own_ = {};
  std::unordered_set<const AgentNode*> above_ = {};
};

Word word_of(const AgentNode& agent, const Question* question) {
  switch (agent.state) {
    case State::stopping:
      return {"stopping", Style::warning};
    case State::stopped:
      return {"stopped", Style::warning};
    case State::terminating:
      return {"deleting", Style::bad};
    default:
      break;
  }
  if (question != nullptr) return {question->is_approval ? "approve?" : "asks", Style::warning};
  if (agent.paused) return {"paused", Style::note};
  if (agent.stop_pending) return {"stopping", Style::warning};
  if (agent.state == State::waiting_llm) return {"model", Style::good};
  if (agent.state == State::processing) return {"working", Style::good};
  return {agent.state == State::idle ? "idle" : "?", Style::dim};
}

Line row_of(const AgentNode& agent, const Asking& asking, std::size_t width) {
  const std::size_t others = 1 + state_width + queue_width;
  const std::size_t name_width = width > others + 6 ? width - others : std::max<std::size_t>(width, 4);
  // A deep tree must not push the names out of view.
  const std::size_t indent = std::min(2 * agent.depth, name_width / 2);
  const std::string fold = agent.children.empty() ? "  " : agent.expanded ? "▾ " : "▸ ";
  const std::string hidden =
      agent.expanded || agent.children.empty()
          ? ""
          : fmt::format(" +{}{}", agent.descendants, asking.is_below(agent) ? "?" : "");
  const std::size_t room = name_width - indent - 2;
  Line line;
  line.add(std::string(indent, ' ') + fold);
  line.add(fit(cut(printable(agent.id), room - std::min(room, hidden.size())) + hidden, room));
  if (name_width >= width) return line;
  const auto [word, style] = word_of(agent, asking.of(agent));
  line.add(" ").add(fit(word, state_width), style);
  std::string queue = agent.queue_length == 0 ? "" : std::to_string(agent.queue_length);
  if (agent.queue_held && agent.queue_length > 0) queue += "h";
  queue = cut(queue, queue_width);
  return line.add(std::string(queue_width - columns(queue), ' ') + queue, Style::note);
}

}  // namespace

std::vector<Line> tree_lines(Agents& agents, const Questions& questions, Size size, std::size_t& first_row) {
  const Asking asking(agents, questions);
  const auto& rows = agents.rows();
  const std::size_t selected = agents.selected_row();
  first_row = std::min(first_row, rows.size() - std::min(rows.size(), size.height));
  if (selected < first_row) first_row = selected;
  if (selected >= first_row + size.height) first_row = selected + 1 - size.height;
  std::vector<Line> lines;
  for (std::size_t row = first_row; row < rows.size() && lines.size() < size.height; ++row) {
    lines.push_back(row_of(*rows[row], asking, size.width));
    for (Span& span : lines.back().spans) span.selected = row == selected;
  }
  return lines;
}

}  // namespace console_app::top
