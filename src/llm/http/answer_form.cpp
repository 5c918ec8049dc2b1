#include "llm/http/answer_form.hpp"

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

// JSON, or HTML: no line of a stream begins with these characters.
bool begins_body(char letter) noexcept {
  return letter == '{' || letter == '[' || letter == '<';
}

}  // namespace

AnswerForm form_of(std::string_view beginning, bool declared) noexcept {
  if (utf8_mark.starts_with(beginning)) return AnswerForm::unclear;
  const std::string_view text = without_mark(beginning);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return AnswerForm::unclear;
  if (begins_body(text[first])) return AnswerForm::body;
  if (declared) return AnswerForm::events;
  const std::string_view line = text.substr(first);
  for (const std::string_view field : {":", "data:", "event:", "id:", "retry:", "error:"}) {
    if (line.starts_with(field)) return AnswerForm::events;
    if (field.starts_with(line)) return AnswerForm::unclear;
  }
  return AnswerForm::body;
}

std::string_view without_mark(std::string_view body) noexcept {
  return body.starts_with(utf8_mark) ? body.substr(utf8_mark.size()) : body;
}

}  // namespace agentcore::detail::llm
