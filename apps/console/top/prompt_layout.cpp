// The last lines of the screen.
#include "console/top/layout.hpp"
#include "console/top/text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

Keys keys_of(const Picture& picture) {
  const Question& question = picture.prompt.question;
  switch (picture.prompt.kind) {
    case PromptKind::none:
      break;
    case PromptKind::stop:
    case PromptKind::erase:
      return {{"y", "yes"}, {"n", "no"}};
    case PromptKind::approval:
      return {{"y", "approve"}, {"n", "decline"}, {"s", "for how long"}, {"Esc", "later"}};
    case PromptKind::answer: {
      Keys keys{{"Enter", "answer"}, {"Ctrl-D", "decline"}, {"Esc", "later"}};
      if (!question.choices.empty())
        keys.insert(keys.begin() + 1, {{"1-9", "choose"}, {"Tab", "next choice"}});
      return keys;
    }
    case PromptKind::decline:
      return {{"Enter", "decline"}, {"Esc", "back"}};
    default:
      return {{"Enter", "done"}, {"Esc", "cancel"}};
  }
  Keys keys{{"m", "message"}, {"s", "stop"},   {"i", "interrupt"}, {"x", "abort"}, {"p", "pause"},
            {"r", "resume"},  {"d", "delete"}, {"/", "search"},    {"q", "quit"}};
  if (!picture.questions.all().empty()) keys.insert(keys.begin(), {"a", "answer"});
  return keys;
}

Line line_of(const Keys& keys, std::size_t width) {
  const std::string gap = width > 90 ? "   " : " ";
  Line line;
  for (const auto& [key, what] : keys)
    line.add(line.spans.empty() ? key : gap + key, Style::bold).add(" " + what, Style::dim);
  return line;
}

Line approval_line(const Prompt& prompt) {
  const std::string tool = cut(printable(prompt.question.tool), 16);
  std::string what = "this call of " + tool;
  if (prompt.scope == Scope::agent) what = "all such calls of " + tool;
  if (prompt.scope == Scope::subtree) what = "all such calls of " + tool + ", also below it";
  Line line;
  return line.add(cut(printable(prompt.agent_id), 16) + ": approve " + what + "? y/n", Style::warning);
}

Line question_line(const Prompt& prompt) {
  if (prompt.kind == PromptKind::approval) return approval_line(prompt);
  const std::string verb = prompt.kind == PromptKind::stop ? "Stop " : "Delete ";
  const std::string reach = prompt.reach.empty() ? "all below it, too" : prompt.reach;
  Line line;
  return line.add(verb + cut(printable(prompt.agent_id), 30) + ": " + reach + "? y/n", Style::warning);
}

// What is typed, with the place of the cursor. The end before the cursor is what is seen.
Line typing_line(const Picture& picture, std::size_t width, Frame& frame) {
  const Prompt& prompt = picture.prompt;
  std::string label = "Search: ";
  if (prompt.kind == PromptKind::answer) label = "Answer to " + cut(printable(prompt.agent_id), 20) + ": ";
  if (prompt.kind == PromptKind::decline) label = "Decline, reason (or none): ";
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

}  // namespace

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

// Keys that do not fit are left out, the last but one first.
Line help_line(const Picture& picture, std::size_t width) {
  Keys keys = keys_of(picture);
  Line line = line_of(keys, width);
  while (columns(line.text()) > width && keys.size() > 1) {
    keys.erase(keys.end() - 2);
    line = line_of(keys, width);
  }
  return line;
}

}  // namespace console_app::top
