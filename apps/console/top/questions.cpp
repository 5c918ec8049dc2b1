#include "console/top/questions.hpp"

#include <algorithm>
#include <utility>

namespace console_app::top {
namespace {

Question question_of(const Json& json) {
  Question question{.id = text_in(json, "id"),
                    .is_approval = text_in(json, "kind") == "approval",
                    .agent_id = text_in(json, "agentId"),
                    .call_id = text_in(json, "callId"),
                    .tool = text_in(json, "tool"),
                    .text = text_in(json, "text")};
  for (const Json& choice : list_in(json, "choices"))
    if (choice.is_string()) question.choices.push_back(choice.get<std::string>());
  return question;
}

}  // namespace

void Questions::take(const Json& answer) {
  open_.clear();
  for (const Json& question : list_in(answer, "questions")) add(question);
}

void Questions::apply(const Json& event) {
  const std::string type = text_in(event, "type");
  if (type == "question_closed") close(text_in(event, "questionId"));
  if (type != "question") return;
  if (const Json* const question = member(event, "question")) add(*question);
}

// The events begin before the list was read: a question may come twice, and keeps its place.
void Questions::add(const Json& question) {
  Question added = question_of(question);
  if (added.id.empty()) return;
  const auto same =
      std::find_if(open_.begin(), open_.end(), [&](const Question& each) { return each.id == added.id; });
  if (same == open_.end())
    open_.push_back(std::move(added));
  else
    *same = std::move(added);
}

void Questions::close(const std::string& id) {
  std::erase_if(open_, [&](const Question& each) { return each.id == id; });
}

bool Questions::has(const Question& question) const {
  return std::find(open_.begin(), open_.end(), question) != open_.end();
}

const Question* Questions::oldest_of(std::string_view agent_id) const {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Question& each) { return each.agent_id == agent_id; });
  return found == open_.end() ? nullptr : &*found;
}

std::size_t Questions::count_of(std::string_view agent_id) const {
  return static_cast<std::size_t>(std::count_if(
      open_.begin(), open_.end(), [&](const Question& each) { return each.agent_id == agent_id; }));
}

}  // namespace console_app::top
