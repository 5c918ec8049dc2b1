#include "console/top/layout.hpp"

#include "console/top/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

constexpr std::size_t beside_from = 64;  // columns: the conversation is beside the tree, else below it
constexpr std::size_t below_from = 14;   // lines

Line title_line(const Picture& picture, std::size_t width) {
  const Agents& agents = picture.agents;
  const std::size_t running = agents.count(State::waiting_llm) + agents.count(State::processing);
  const std::size_t stopped = agents.count(State::stopped) + agents.count(State::stopping);
  std::string right = fmt::format("{} agent{}, {} running, {} stopped ", agents.size(),
                                  agents.size() == 1 ? "" : "s", running, stopped);
  if (!picture.connected) right = picture.problem.empty() ? "connecting " : "NOT CONNECTED ";
  right = cut(right, width);
  Line line;
  line.add(fit(" agentcore top  " + printable(picture.url), width - columns(right)), Style::title);
  return line.add(std::move(right), Style::title);
}

Line help_line(const Prompt& prompt, std::size_t width) {
  static const std::vector<std::pair<std::string, std::string>> browsing{
      {"m", "message"}, {"s", "stop"},   {"i", "interrupt"}, {"a", "abort"}, {"p", "pause"},
      {"r", "resume"},  {"d", "delete"}, {"/", "search"},    {"q", "quit"}};
  static const std::vector<std::pair<std::string, std::string>> typing{{"Enter", "done"}, {"Esc", "cancel"}};
  static const std::vector<std::pair<std::string, std::string>> asking{{"y", "yes"}, {"n", "no"}};
  const auto& keys = prompt.kind == PromptKind::none ? browsing : prompt.takes_text() ? typing : asking;
  const std::string gap = width > 90 ? "   " : " ";
  Line line;
  for (const auto& [key, what] : keys)
    line.add(line.spans.empty() ? key : gap + key, Style::bold).add(" " + what, Style::dim);
  return line;
}

Line question_line(const Prompt& prompt) {
  const std::string verb = prompt.kind == PromptKind::stop ? "Stop " : "Delete ";
  const std::string reach = prompt.reach.empty() ? "all below it, too" : prompt.reach;
  Line line;
  return line.add(verb + cut(printable(prompt.agent_id), 30) + ": " + reach + "? y/n", Style::warning);
}

// What is typed, with the place of the cursor. The end before the cursor is what is seen.
Line typing_line(const Picture& picture, std::size_t width, Frame& frame) {
  const Prompt& prompt = picture.prompt;
  std::string label = "Search: ";
  if (prompt.kind == PromptKind::message) {
    const AgentNode* const agent = picture.agents.find(prompt.agent_id);
    const std::string_view verb = agent != nullptr && agent->is_running() ? "Steer " : "Message to ";
    label = std::string(verb) + cut(printable(prompt.agent_id), 20) + ": ";
  }
  label = cut(label, width / 2);
  const std::size_t room = width - columns(label);
  const std::string before =
      cut_front(printable(prompt.line.before()), room - std::min<std::size_t>(room, 1));
  const std::string all = printable(prompt.line.text());
  const std::size_t typed = printable(prompt.line.before()).size();
  frame.cursor_column = columns(label) + columns(before);
  Line line;
  line.add(label, Style::bold).add(before);
  return line.add(cut(std::string_view(all).substr(typed), width - *frame.cursor_column));
}

Line message_line(const Picture& picture, std::size_t width, Frame& frame) {
  if (picture.prompt.takes_text()) return typing_line(picture, width, frame);
  if (picture.prompt.kind != PromptKind::none) return question_line(picture.prompt);
  Line line;
  if (!picture.connected && !picture.problem.empty())
    line.add(printable(picture.problem), Style::bad);
  else
    line.add(printable(picture.note.text), picture.note.failed ? Style::bad : Style::plain);
  return line;
}

// The tree, and the conversation beside or below it.
std::vector<Line> body_lines(const Picture& picture, Size size, std::size_t& first_row,
                             std::size_t& tree_height) {
  const bool beside = size.width >= beside_from && size.height >= 4;
  const bool below = !beside && size.height >= below_from;
  const std::size_t tree_width = beside ? std::clamp<std::size_t>(size.width * 2 / 5, 32, 60) : size.width;
  tree_height = below ? size.height / 2 : size.height;
  std::vector<Line> tree = tree_lines(picture.agents, {tree_width, tree_height}, first_row);
  if (tree.empty() && tree_height > 0)
    tree.emplace_back().add(picture.connected ? "there are no agents" : "", Style::dim);
  tree.resize(tree_height);
  const AgentNode* const agent = picture.agents.selected();
  if (below) {
    tree.emplace_back().add(std::string(size.width, '-'), Style::dim);
    const Size rest{size.width, size.height - tree.size()};
    for (Line& line : conversation_lines(agent, picture.conversation, rest)) tree.push_back(std::move(line));
  }
  tree.resize(size.height);
  if (!beside) return tree;
  std::vector<Line> right =
      conversation_lines(agent, picture.conversation, {size.width - tree_width - 3, size.height});
  right.resize(size.height);
  for (std::size_t i = 0; i < size.height; ++i) {
    tree[i] = fitted(tree[i], tree_width);
    tree[i].add(" │ ", Style::dim);
    for (Span& span : right[i].spans) tree[i].spans.push_back(std::move(span));
  }
  return tree;
}

}  // namespace

Frame draw(const Picture& picture, Size size, std::size_t& first_row, std::size_t& tree_height) {
  Frame frame;
  if (size.width == 0 || size.height == 0) return frame;
  const bool has_title = size.height >= 4, has_help = size.height >= 5;
  const bool has_message = size.height >= 2 || picture.prompt.kind != PromptKind::none;
  const std::size_t others = std::size_t(has_title) + std::size_t(has_help) + std::size_t(has_message);
  const Size body{size.width, size.height - others};
  if (has_title) frame.lines.push_back(title_line(picture, size.width));
  for (Line& line : body_lines(picture, body, first_row, tree_height)) frame.lines.push_back(std::move(line));
  frame.cursor_row = frame.lines.size();
  if (has_message) frame.lines.push_back(message_line(picture, size.width, frame));
  if (has_help) frame.lines.push_back(help_line(picture.prompt, size.width));
  for (Line& line : frame.lines) line = fitted(line, size.width);
  return frame;
}

}  // namespace console_app::top
