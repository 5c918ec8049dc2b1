// Questions to people: asked by a tool, or before a tool may run; answered by the host, once.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

enum class QuestionKind : unsigned char {
  question,  // a tool asks for an answer in words
  approval,  // may this call run? AgentTree::answer() allows it, decline() refuses it
};
std::string_view to_string(QuestionKind kind) noexcept;

// How a question was closed. Exactly one of them, once.
enum class QuestionOutcome : unsigned char { answered, declined, cancelled, timed_out };
std::string_view to_string(QuestionOutcome outcome) noexcept;

struct Question {
  std::string text = {};
  std::vector<std::string> choices = {};  // suggested answers; empty: any
  // Not negative; 0: no limit; none: TreeOptions::question_timeout. A question never outlives its call.
  std::optional<Duration> timeout = {};
};

struct Answer {
  QuestionOutcome outcome = QuestionOutcome::answered;
  std::string text = {};  // the answer, or why it was declined; else empty
};

// A question that is open now.
struct OpenQuestion {
  std::string id = {};  // "q_1", "q_2", ... in the order of asking
  QuestionKind kind = QuestionKind::question;
  std::string agent_id = {};
  std::string call_id = {};  // of the tool call that waits for it
  std::string tool = {};     // its name
  std::string text = {};     // for an approval: the call's arguments
  std::vector<std::string> choices = {};
};

// `reason`: `question_not_found`, `question_closed`, `runtime_gone`, or the state of an agent that is being
// stopped or deleted: `agent_stopping`, `agent_stopped`, `agent_terminating` (C14, I13).
struct [[nodiscard]] AnswerResult {
  bool accepted = false;
  Errc reason = Errc::none;

  explicit operator bool() const noexcept { return accepted; }
};

}  // namespace agentcore
