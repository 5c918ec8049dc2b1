// CallEndings: writes how a verb has ended a tool call.
#pragma once

#include "turn/call_records.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/shared_or_borrowed.hpp>
#include <agentcore/tool.hpp>

#include <string>

namespace agentcore::detail::turn {

class LingeringCalls;
class QuestionDesk;
class ToolPort;

// All @loop_thread.
class CallEndings {
 public:
  CallEndings(TurnContext& context, CallRecords& records, ToolPort& port, QuestionDesk& desk,
              LingeringCalls& lingering)
      : context_(context), records_(records), port_(port), desk_(desk), lingering_(lingering) {}

  // A verb has ended the call: writes its result, unless another function does that. What the tool still
  // delivers is late.
  Next apply(Turn turn, PendingCall& call);

 private:
  void release(PendingCall& call, DiscardReason late) noexcept;
  void write_cancel(Turn turn, PendingCall& call, const std::string& reason);
  bool write_host_result(Turn turn, PendingCall& call, const SharedOrBorrowed<ToolRegistry>& tools,
                         ToolResult result);

  TurnContext& context_;
  CallRecords& records_;
  ToolPort& port_;
  QuestionDesk& desk_;
  LingeringCalls& lingering_;
};

}  // namespace agentcore::detail::turn
