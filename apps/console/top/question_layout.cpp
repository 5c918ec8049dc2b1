// The questions of agents.
#include "console/top/layout.hpp"
#include "console/top/text.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace console_app::top {
namespace {

constexpr std::size_t most_bytes = 64 << 10;  // of a question with its choices; more is not laid out
// Before each line of a text: a text cannot look like a line of this program.
constexpr std::string_view margin = "┃ ";

// The beginning of a text, of at most `bytes` bytes and of whole characters.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// `left`: how many bytes may be laid out still.
void add_text(std::vector<Line>& lines, std::string_view text, std::size_t width, std::size_t& left) {
  const std::string_view seen = beginning(text, left);
  left -= seen.size();
  const std::size_t room = width - std::min(width, columns(margin));
  for (std::string& line : wrap(seen, room, std::numeric_limits<std::size_t>::max()))
    lines.emplace_back().add(std::string(margin), Style::warning).add(std::move(line));
  if (const std::size_t rest = text.size() - seen.size(); rest > 0)
    lines.emplace_back().add(cut(fmt::format("{} more bytes are not shown here", rest), width), Style::bad);
}

std::vector<Line> lines_of(const Question& question, std::size_t width) {
  std::vector<Line> lines;
  std::size_t left = most_bytes;
  add_text(lines, question.text, width, left);
  for (std::size_t i = 0; i < question.choices.size(); ++i)
    add_text(lines, fmt::format("{}: {}", i + 1, question.choices[i]), width, left);
  return lines;
}

std::string name_of(const Question& question) {
  return question.is_approval ? "approval of " + printable(question.tool) : "question";
}

}  // namespace

std::vector<Line> asked_lines(const Questions& questions, const std::string& agent_id, Size size) {
  std::vector<Line> lines;
  const Question* const question = questions.oldest_of(agent_id);
  if (question == nullptr || size.height < 2) return lines;
  const std::size_t count = questions.count_of(agent_id);
  const std::string which = count > 1 ? fmt::format(" (1 of {})", count) : "";
  const std::string keys = which + ", a answers:";
  lines.emplace_back().add(
      cut(cut(name_of(*question), size.width - std::min(size.width, keys.size())) + keys, size.width),
      Style::warning);
  std::vector<Line> text = lines_of(*question, size.width);
  const std::size_t all = text.size(), room = size.height - 1;
  if (all > room) text.resize(room - 1);
  lines.insert(lines.end(), text.begin(), text.end());
  if (all > room)
    lines.emplace_back().add(cut(fmt::format("{} more lines", all - text.size()), size.width), Style::dim);
  return lines;
}

std::vector<Line> answered_lines(const Questions& questions, const Question& question, Size size,
                                 View& view) {
  std::vector<Line> lines;
  if (size.height == 0) return lines;
  if (questions.has(question))
    lines.emplace_back().add(cut(name_of(question) + ":", size.width), Style::warning);
  else
    lines.emplace_back().add(cut("closed, an answer is too late:", size.width), Style::bad);
  const std::vector<Line> text = lines_of(question, size.width);
  std::size_t room = size.height - 1;
  const bool is_long = text.size() > room;
  if (is_long && room > 1) --room;
  view.question_height = room;
  view.question_row = std::min(view.question_row, text.size() - std::min(text.size(), room));
  const std::size_t end = std::min(text.size(), view.question_row + room);
  lines.insert(lines.end(), text.begin() + static_cast<std::ptrdiff_t>(view.question_row),
               text.begin() + static_cast<std::ptrdiff_t>(end));
  if (is_long && lines.size() < size.height)
    lines.emplace_back().add(
        cut(fmt::format("lines {}-{} of {}: up, down", view.question_row + 1, end, text.size()), size.width),
        Style::note);
  return lines;
}

}  // namespace console_app::top
