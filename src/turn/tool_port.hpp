// ToolPort: connects the turns with the tools that run for them.
#pragma once

#include "tools/call_scope.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace agentcore::detail::turn {

class CallEnds;
class QuestionDesk;

// Creates the scope of a call, and passes on the results, progress and questions of a running tool and its
// time-out. The time-out runs from the begin of the call (core::CallBegin). Deliveries after the end of the
// operation are late. All @loop_thread.
class ToolPort final : public tools::CallOwner {
 public:
  ToolPort(TurnContext& context, CallEnds& ends, QuestionDesk& desk)
      : context_(context), ends_(ends), desk_(desk) {}

  // The scope in which the tool that `asked` names is started, for that call or for its background task.
  // Starts the clock of the time-out.
  std::shared_ptr<tools::CallScope> scope_of(Turn turn, const Call& asked, const Call& call);

  // tools::CallOwner
  Errc refusal_of(const tools::CallScope& call) const noexcept override;
  SendResult delegate(const tools::CallScope& call, const Agent& to, bool of_call, Message message,
                      SendOptions options) override;
  std::vector<std::string>* tool_children(const tools::CallScope& call) override;
  void on_handed_over(const tools::CallScope& call) override;
  void on_begun(const tools::CallScope& call) override;
  void on_result(const tools::CallScope& call, ToolResult result) override;
  void on_progress(const tools::CallScope& call, std::string text) override;
  void on_ask(const tools::CallScope& call, Question question,
              std::function<void(const Answer&)> closed) override;

 private:
  void start_timeout(OperationId id, const tools::CallScope& call);
  void on_not_taken(OperationId id) noexcept;
  void on_timeout(OperationId id, Duration timeout);
  void expire_later(OperationId id, Duration timeout);
  void expire(OperationId id, Duration timeout);

  TurnContext& context_;
  CallEnds& ends_;
  QuestionDesk& desk_;
  std::optional<TimePoint> told_not_taken_;  // when the last record was written
};

}  // namespace agentcore::detail::turn
