// The conversation of the selected agent.
#include "console/top/layout.hpp"
#include "console/top/text.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace console_app::top {
namespace {

// Of a longer text only the end is laid out. Its beginning moves in large steps, so that the lines stay where
// they are while the text grows.
constexpr std::size_t step = 4 << 10;
constexpr std::size_t more_from = 8;  // columns behind a name

std::string_view end_of(std::string_view text, Size size) {
  const std::size_t most = 4 * size.width * size.height + step;  // a character has at most 4 bytes
  if (text.size() <= most) return text;
  text.remove_prefix((text.size() - most + step - 1) / step * step);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) text.remove_prefix(1);
  return text;
}

std::string counted(std::uint64_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string state_sentence(const AgentNode& agent) {
  static constexpr std::string_view words[state_count] = {
      "idle", "waiting for the model", "working", "stopping", "stopped", "being deleted", "unknown state"};
  std::string sentence(words[static_cast<std::size_t>(agent.state)]);
  if (agent.paused) sentence += ", paused";
  if (agent.stop_pending) sentence += ", a stop is pending";
  if (agent.queue_length > 0) sentence += fmt::format(", {} in the queue", agent.queue_length);
  if (agent.queue_held) sentence += " (held)";
  return sentence;
}

// The name, and the model and the role as far as there is room.
Line name_line(const AgentNode& agent, std::size_t width) {
  std::string more = printable(agent.model);
  if (agent.role == "system" || agent.role == "user") more += (more.empty() ? "" : ", ") + agent.role;
  Line line;
  line.add(cut(printable(agent.id), width), Style::bold);
  const std::size_t room = width - columns(line.text());
  if (!more.empty() && room > more_from) line.add(" " + cut(more, room - 1), Style::dim);
  return line;
}

// Adds lines from the bottom to the top, as many as there is room for.
class Upwards {
 public:
  explicit Upwards(Size size) : size_(size) {}

  bool is_full() const { return lines_.size() >= size_.height; }
  void add(std::string_view text, Style style, std::string_view margin) {
    const std::size_t margin_width = columns(margin);
    if (is_full() || size_.width <= margin_width) return;
    std::vector<std::string> wrapped =
        wrap(end_of(text, size_), size_.width - margin_width, size_.height - lines_.size());
    while (!wrapped.empty()) {
      Line line;
      line.add(std::string(margin), style).add(wrapped.back(), style);
      lines_.push_back(std::move(line));
      wrapped.pop_back();
    }
  }
  void add_blank() {
    if (!is_full() && !lines_.empty()) lines_.emplace_back();
  }
  std::vector<Line> take() {
    std::reverse(lines_.begin(), lines_.end());
    return std::move(lines_);
  }

 private:
  const Size size_;
  std::vector<Line> lines_ = {};
};

void add_message(Upwards& lines, const ShownMessage& message) {
  lines.add_blank();
  if (!message.mark.empty()) lines.add("[" + message.mark + "]", Style::warning, "  ");
  if (message.role == "user")
    lines.add(message.text, Style::own, "> ");
  else if (message.role == "assistant" && !message.text.empty())
    lines.add(message.text, Style::plain, "  ");
  else if (message.role != "assistant")
    lines.add(message.role + ": " + message.text, Style::dim, "  ");
}

void add_cut_answer(Upwards& lines, const std::string& text) {
  if (text.empty()) return;
  lines.add("[this answer was cut, and is not kept]", Style::warning, "  ");
  lines.add(text, Style::dim, "  ");
}

std::vector<Line> messages(const Conversation& conversation, Size size) {
  Upwards lines(size);
  const LiveText& live = conversation.live();
  if (!live.text.empty())
    lines.add(live.text + "▌", Style::plain, "  ");
  else if (!live.reasoning.empty())
    lines.add(live.reasoning + "▌", Style::dim, "  ");
  else
    add_cut_answer(lines, conversation.cut_answer());
  const auto& all = conversation.messages();
  for (auto next = all.rbegin(); next != all.rend() && !lines.is_full(); ++next) add_message(lines, *next);
  return lines.take();
}

}  // namespace

std::vector<Line> conversation_lines(const AgentNode* agent, const Conversation& conversation, Size size) {
  std::vector<Line> lines;
  if (agent == nullptr || size.height < 3) return lines;
  lines.push_back(name_line(*agent, size.width));
  lines.emplace_back().add(cut(state_sentence(*agent), size.width), Style::note);
  lines.emplace_back().add(
      cut(counted(agent->turns, "turn") + ", " + counted(agent->tokens, "token"), size.width), Style::dim);
  if (size.height < 6) return lines;
  lines.emplace_back();
  const Size rest{size.width, size.height - lines.size()};
  std::vector<Line> below;
  if (conversation.agent_id() == agent->id) below = messages(conversation, rest);
  if (below.empty() && !conversation.problem().empty())
    for (const std::string& line : wrap(conversation.problem(), rest.width, rest.height))
      below.emplace_back().add(line, Style::bad);
  if (below.empty())
    below.emplace_back().add(
        cut(conversation.is_loaded() ? "no messages yet: m writes one" : "loading", rest.width), Style::dim);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace console_app::top
