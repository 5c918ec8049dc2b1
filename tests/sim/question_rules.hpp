// QuestionRules: each question has one end, and its tool is called once with that answer (G10).
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/event.hpp>
#include <agentcore/question.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace agentcore::sim {

class QuestionRules {
 public:
  explicit QuestionRules(Verdict& verdict) : verdict_(verdict) {}

  // A tool asks; returns the number for closed().
  std::size_t asks() { return ++last_; }
  // The function that it gave is called.
  void closed(std::size_t number, const Answer& answer);
  // A verb is called with a text that no other one has, and has returned.
  void verb_begins(const std::string& question, const std::string& text);
  void verb_ended(const std::string& question, const std::string& text, bool accepted,
                  QuestionOutcome outcome);
  void see(const Event& event);
  void process_ended();

 private:
  Verdict& verdict_;
  std::size_t last_ = 0;
  std::map<std::size_t, std::size_t> calls_;         // of the function, by its number
  std::map<std::string, std::size_t> texts_;         // of verbs; how many tools have heard each
  std::map<std::string, QuestionOutcome> accepted_;  // by the question
  std::map<std::string, QuestionOutcome> ends_;      // QuestionClosed
};

}  // namespace agentcore::sim
