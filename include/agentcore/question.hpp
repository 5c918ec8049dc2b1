// Questions to people: a tool asks one, or the library asks for the approval of a tool call. The host answers
// it once.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// The purpose of a question.
enum class QuestionKind : unsigned char {
  question,  ///< a tool asks for an answer in words
  approval,  ///< may this tool call run? AgentTree::approve() allows it, AgentTree::decline() refuses it
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(QuestionKind kind) noexcept;

/// The end of a question. Each question has exactly one, once.
enum class QuestionOutcome : unsigned char {
  answered,   ///< AgentTree::answer() was accepted, or for an approval AgentTree::approve()
  declined,   ///< AgentTree::decline() was accepted
  cancelled,  ///< the tool call that asked had to end, or was cancelled
  timed_out   ///< no answer within the time-out
};
/// The name of the enumerator.
AGENTCORE_API std::string_view to_string(QuestionOutcome outcome) noexcept;

/// A question that a tool asks with ToolContext::ask().
///
///     agentcore::Question question{.text = "Which beach?", .choices = {"Agios Pavlos", "Triopetra"}};
///     context.ask(std::move(question), [done](const agentcore::Answer& answer) {
///       if (answer.outcome == agentcore::QuestionOutcome::answered)
///         return done(agentcore::ToolResult::done(answer.text));
///       done(agentcore::ToolResult::failed("no answer"));
///     });
struct Question {
  /// The text for the person.
  std::string text = {};
  /// Suggested answers. Empty: none. The library does not check that the answer is one of them.
  std::vector<std::string> choices = {};
  /// The maximum wait for an answer. Not negative. Not set: TreeOptions::question_timeout. A
  /// question is always closed with the end of its tool call.
  std::optional<Duration> timeout = {};
};

/// The end of a question, for the tool that asked it.
struct Answer {
  QuestionOutcome outcome = QuestionOutcome::answered;  ///< how the question ended
  std::string text = {};  ///< the answer, or the reason why it was declined; otherwise empty
};

/// A question that is open. AgentTree::questions() and the event QuestionAsked provide it.
struct OpenQuestion {
  std::string id = {};                         ///< "q_1", "q_2", ... in the order of asking
  QuestionKind kind = QuestionKind::question;  ///< its purpose
  std::string agent_id = {};                   ///< the agent of the tool call
  std::string call_id = {};                    ///< the tool call or background task that waits for the answer
  std::string window_id = {};                  ///< the window of the action; empty: an ordinary tool
  std::string tool = {};                       ///< the name of the tool
  /// The text for the person. For an approval: the arguments of the tool call, as the text of a JSON object.
  std::string text = {};
  std::vector<std::string> choices = {};  ///< suggested answers; empty: none
};

}  // namespace agentcore
