#include "console/top/layout.hpp"

#include "console/top/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

constexpr std::size_t beside_from = 64;   // columns: the conversation is beside the tree, else below it
constexpr std::size_t below_from = 14;    // lines
constexpr std::size_t header_height = 4;  // of an agent, with the line below it
constexpr std::size_t whole_from = 10;  // lines: a question that is being answered leaves room for the header

Line title_line(const Picture& picture, std::size_t width) {
  const Agents& agents = picture.agents;
  const std::size_t running = agents.count(State::waiting_llm) + agents.count(State::processing);
  const std::size_t stopped = agents.count(State::stopped) + agents.count(State::stopping);
  std::string right = fmt::format("{} agent{}, {} running, {} stopped ", agents.size(),
                                  agents.size() == 1 ? "" : "s", running, stopped);
  if (!picture.connected)
    right = picture.problem.empty() ? "connecting " : "NOT CONNECTED ";
  else if (const std::size_t questions = picture.questions.all().size(); questions > 0)
    right.insert(right.size() - 1, fmt::format(", {} question{}", questions, questions == 1 ? "" : "s"));
  right = cut(right, width);
  const std::size_t room = width - columns(right);
  std::string left = " agentcore top  " + printable(picture.url);
  if (columns(left) > room) left = " " + printable(picture.url);
  Line line;
  line.add(fit(left, room), Style::title);
  return line.add(std::move(right), Style::title);
}

// The conversation of the selected agent with what the agent asks, or the question that is being answered.
std::vector<Line> pane_lines(const Picture& picture, Size size, View& view) {
  const Prompt& prompt = picture.prompt;
  const AgentNode* const agent = picture.agents.selected();
  const bool answers = prompt.is_of_question();
  if (answers && size.height < whole_from)
    return answered_lines(picture.questions, prompt.question, size, view);
  const Size part{size.width, answers ? size.height - header_height : size.height / 2};
  std::vector<Line> asked;
  if (answers)
    asked = answered_lines(picture.questions, prompt.question, part, view);
  else if (agent != nullptr)
    asked = asked_lines(picture.questions, agent->id, part);
  if (!asked.empty() && size.height >= whole_from) asked.insert(asked.begin(), Line());
  std::vector<Line> lines =
      conversation_lines(agent, picture.conversation, {size.width, size.height - asked.size()});
  for (Line& line : asked) lines.push_back(std::move(line));
  return lines;
}

// Adds to each line one of the lines on the right, of which there are as many.
void put_beside(std::vector<Line>& lines, std::size_t width, std::vector<Line> right) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = fitted(lines[i], width);
    lines[i].add(" │ ", Style::dim);
    for (Span& span : right[i].spans) lines[i].spans.push_back(std::move(span));
  }
}

// The tree, and the pane beside or below it.
std::vector<Line> body_lines(const Picture& picture, Size size, View& view) {
  const bool beside = size.width >= beside_from && size.height >= 4;
  const bool below = !beside && size.height >= below_from;
  const std::size_t tree_width = beside ? std::clamp<std::size_t>(size.width * 2 / 5, 32, 60) : size.width;
  if (!beside && !below && picture.prompt.is_of_question()) {
    std::vector<Line> lines = answered_lines(picture.questions, picture.prompt.question, size, view);
    lines.resize(size.height);
    return lines;
  }
  view.tree_height = below ? size.height / 2 : size.height;
  std::vector<Line> tree =
      tree_lines(picture.agents, picture.questions, {tree_width, view.tree_height}, view.first_row);
  if (tree.empty() && view.tree_height > 0)
    tree.emplace_back().add(picture.connected ? "there are no agents" : "", Style::dim);
  tree.resize(view.tree_height);
  if (below) {
    tree.emplace_back().add(std::string(size.width, '-'), Style::dim);
    const Size rest{size.width, size.height - tree.size()};
    for (Line& line : pane_lines(picture, rest, view)) tree.push_back(std::move(line));
  }
  tree.resize(size.height);
  if (!beside) return tree;
  std::vector<Line> right = pane_lines(picture, {size.width - tree_width - 3, size.height}, view);
  right.resize(size.height);
  put_beside(tree, tree_width, std::move(right));
  return tree;
}

}  // namespace

Frame draw(const Picture& picture, Size size, View& view) {
  Frame frame;
  if (size.width == 0 || size.height == 0) return frame;
  const bool has_title = size.height >= 4, has_help = size.height >= 5;
  const bool has_message = size.height >= 2 || picture.prompt.kind != PromptKind::none;
  const std::size_t others = std::size_t(has_title) + std::size_t(has_help) + std::size_t(has_message);
  const Size body{size.width, size.height - others};
  if (has_title) frame.lines.push_back(title_line(picture, size.width));
  for (Line& line : body_lines(picture, body, view)) frame.lines.push_back(std::move(line));
  frame.cursor_row = frame.lines.size();
  if (has_message) frame.lines.push_back(message_line(picture, size.width, frame));
  if (has_help) frame.lines.push_back(help_line(picture, size.width));
  for (Line& line : frame.lines) line = fitted(line, size.width);
  return frame;
}

}  // namespace console_app::top
