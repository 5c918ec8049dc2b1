#include "sim/question_rules.hpp"

namespace agentcore::sim {

void QuestionRules::closed(std::size_t number, const Answer& answer) {
  verdict_.require(++calls_[number] == 1, "G10", "a tool is called twice for the end of its question");
  const bool has_text =
      answer.outcome == QuestionOutcome::answered || answer.outcome == QuestionOutcome::declined;
  verdict_.require(has_text || answer.text.empty(), "G10",
                   "a question that is " + std::string(to_string(answer.outcome)) + " has an answer");
  if (!has_text) return;
  const auto text = texts_.find(answer.text);  // others are of the console, and of the end of a run
  verdict_.require(text == texts_.end() || ++text->second == 1, "G10",
                   "two questions have one answer: " + answer.text);
}

void QuestionRules::verb_begins(const std::string&, const std::string& text) {
  texts_.emplace(text, 0);
}

void QuestionRules::verb_ended(const std::string& question, const std::string& text, bool accepted,
                               QuestionOutcome outcome) {
  const auto heard = texts_.find(text);
  verdict_.require(accepted || heard == texts_.end() || heard->second == 0, "G10",
                   "an answer that was refused has reached a tool: " + question);
  if (!accepted) return;
  verdict_.require(accepted_.emplace(question, outcome).second, "G10",
                   "two answers were accepted for the question " + question);
  const auto end = ends_.find(question);
  verdict_.require(end == ends_.end() || end->second == outcome, "G10",
                   "an answer was accepted after the end of the question " + question);
}

void QuestionRules::see(const Event& event) {
  const auto* const closed = event.get<QuestionClosed>();
  if (closed == nullptr) return;
  const std::string& id = closed->question_id;
  verdict_.require(ends_.emplace(id, closed->outcome).second, "G10", "a second end of the question " + id);
  const auto accepted = accepted_.find(id);
  verdict_.require(accepted == accepted_.end() || accepted->second == closed->outcome, "G10",
                   "the question " + id + " ends as " + std::string(to_string(closed->outcome)) +
                       ", and another answer was accepted");
}

// A turn that waits for people asks again, with the same id.
void QuestionRules::process_ended() {
  calls_.clear();
  texts_.clear();
  accepted_.clear();
  ends_.clear();
}

}  // namespace agentcore::sim
