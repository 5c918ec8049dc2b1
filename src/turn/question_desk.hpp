// QuestionDesk: asks the user, and closes each question exactly once.
#pragma once

#include "turn/questions.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/question.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

// Once the tree is closed, no question is asked or closed, and no callback of a question is called. All
// @loop_thread.
class QuestionDesk {
 public:
  explicit QuestionDesk(TurnContext& context) : context_(context) {}

  // A tool asks. If its operation is over or its agent is closed, the question is cancelled at once.
  void on_ask(const Operation& operation, Question question, std::function<void(const Answer&)> closed);
  // Cancels a question that is not asked.
  void refuse(const std::function<void(const Answer&)>& closed) noexcept;
  // Asks a question of `question.operation`, an operation of `node`; 0: no time-out. If it throws, no
  // question is asked.
  void ask(core::Node& node, AskedQuestion question, Duration timeout);
  // The user answers or declines. Checks the gate first.
  Errc answer(std::string_view question_id, const Answer& answer);
  // Agents were paused or unpaused: run() updates the time-outs of all questions.
  void update_clocks() noexcept { questions_.begin_visits(); }
  // Halts the time-outs of paused agents, and runs those of the others, as long as the budget
  // lasts. False: some are left. Throws std::bad_alloc; to be called again then.
  bool run(loop::PollBudget& budget);
  bool has_work() const noexcept { return questions_.has_visits(); }
  // True if the operation waits for an answer.
  bool has_open(const Operation& operation) const noexcept {
    return questions_.has(operation.agent, operation.id);
  }
  // Cancels the open questions of a registered operation.
  void close_all(OperationId id) noexcept;

  std::vector<OpenQuestion> open() const { return questions_.open(); }
  std::vector<std::string> approvals() const { return questions_.approvals(); }
  // The questions, and the numbers of those before a restart.
  Questions& list() noexcept { return questions_; }
  const Questions& list() const noexcept { return questions_; }
  // The open question of that id, or null.
  const AskedQuestion* find(std::string_view id) noexcept { return questions_.find(id); }
  std::size_t count(const core::References& refers) const noexcept { return questions_.count(refers); }
  // Forgets all questions; their callbacks are not called.
  void clear() { questions_.clear(); }

 private:
  void on_timeout(const std::string& question_id) noexcept;
  void expire(std::string_view question_id) noexcept;
  bool close(AskedQuestion question, const Answer& answer) noexcept;

  TurnContext& context_;
  Questions questions_;
};

}  // namespace agentcore::detail::turn
