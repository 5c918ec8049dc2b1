#include "console/top/answering.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace console_app::top {
namespace {

bool is_choice(const Question& question, std::string_view text) {
  return std::find(question.choices.begin(), question.choices.end(), text) != question.choices.end();
}

// After a restart of the console, another question may have the same id.
std::string draft_key(const Question& question) {
  return question.id + "\n" + question.text;
}

const char* name_of(Scope scope) {
  return scope == Scope::once ? "once" : scope == Scope::agent ? "agent" : "subtree";
}

bool is_too_late(const Answer& answer) {
  const std::string code = text_in(answer.json, "error");
  return code == "question_closed" || code == "question_not_found";
}

}  // namespace

void Answering::open(const Question& question) {
  prompt_ = {.kind = question.is_approval ? PromptKind::approval : PromptKind::answer,
             .agent_id = question.agent_id,
             .question = question};
  if (const auto draft = drafts_.find(draft_key(question)); draft != drafts_.end())
    prompt_.line = LineEditor(draft->second);
}

void Answering::press(KeyPress key) {
  if (prompt_.kind == PromptKind::answer) return press_in_answer(key);
  if (prompt_.kind == PromptKind::approval) return press_in_approval(key);
  press_in_decline(key);
}

void Answering::press_in_answer(KeyPress key) {
  if (key.key == Key::enter) return send_answer();
  if (key.key == Key::escape) return leave();
  if (key.is(control('D'))) {
    drafts_[draft_key(prompt_.question)] = prompt_.line.text();
    prompt_.kind = PromptKind::decline;
    prompt_.line = LineEditor();
    return;
  }
  if (!pick_choice(key)) prompt_.line.press(key);
}

// A digit picks a choice if nothing else was typed, Tab the next one.
bool Answering::pick_choice(KeyPress key) {
  const auto& choices = prompt_.question.choices;
  if (key.key != Key::character || choices.empty()) return false;
  const std::string text = prompt_.line.text();
  const auto picked = std::find(choices.begin(), choices.end(), text);
  if (!text.empty() && picked == choices.end()) return false;
  std::size_t next = choices.size();
  if (key.character >= '1' && key.character <= '9') next = key.character - '1';
  if (key.character == '\t' && picked == choices.end()) next = 0;
  if (key.character == '\t' && picked != choices.end())
    next = static_cast<std::size_t>(picked - choices.begin() + 1) % choices.size();
  if (next >= choices.size()) return false;
  prompt_.line = LineEditor(choices[next]);
  return true;
}

void Answering::press_in_approval(KeyPress key) {
  if (key.key == Key::escape || key.is('q')) return leave();
  if (key.is('n')) prompt_.kind = PromptKind::decline;
  if (key.is('s')) prompt_.scope = static_cast<Scope>((static_cast<int>(prompt_.scope) + 1) % 3);
  if (!key.is('y')) return;
  send("approve", {{"scope", name_of(prompt_.scope)}},
       prompt_.scope == Scope::once ? "approved" : "approved, and all such calls from now on");
}

void Answering::press_in_decline(KeyPress key) {
  if (key.key == Key::escape) return open(prompt_.question);
  if (key.key != Key::enter) return prompt_.line.press(key);
  const std::string reason = prompt_.line.text();
  send("decline", reason.empty() ? Json::object() : Json{{"reason", reason}}, "declined");
}

void Answering::leave() {
  if (prompt_.kind == PromptKind::answer) drafts_[draft_key(prompt_.question)] = prompt_.line.text();
  if (questions_.has(std::exchange(prompt_, {}).question)) note_ = {"not answered: a opens it again", false};
}

// Blanks at the beginning are left out: after one, a digit picks no choice.
void Answering::send_answer() {
  std::string text = prompt_.line.text();
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return;
  if (!is_choice(prompt_.question, text)) text.erase(0, begin);
  drafts_[draft_key(prompt_.question)] = text;
  send("answer", {{"text", text}}, "answered");
}

void Answering::send(const std::string& verb, const Json& body, const std::string& done) {
  const Question question = std::exchange(prompt_, {}).question;
  const std::string too_late = question.agent_id + ": too late, this question is closed";
  if (!questions_.has(question)) {
    note_ = {too_late, true};
    return;
  }
  api_.send("POST", "api/questions/" + percent_encoded(question.id) + "/" + verb, body,
            [this, question, too_late, done](const Answer& answer) {
              if (!answer.ok() && !is_too_late(answer)) {
                note_ = {question.agent_id + ": " + answer.problem, true};
                return;
              }
              if (questions_.has(question)) questions_.close(question.id);
              drafts_.erase(draft_key(question));
              note_ = answer.ok() ? Note{question.agent_id + ": " + done, false} : Note{too_late, true};
            });
}

}  // namespace console_app::top
