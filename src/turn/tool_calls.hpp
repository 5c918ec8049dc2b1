// ToolCalls: runs the tool calls of one answer, in their order.
#pragma once

#include "turn/call_records.hpp"
#include "turn/grants.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/question.hpp>
#include <agentcore/tool.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

class BackgroundTasks;
class CallEndings;
class Permissions;
class QuestionDesk;
class ToolPort;
class TurnRunner;

// One call goes waiting (-> asking -> approved) -> running -> done. All @loop_thread.
class ToolCalls {
 public:
  ToolCalls(TurnContext& context, CallRecords& records, Permissions& permissions, ToolPort& port,
            QuestionDesk& desk, BackgroundTasks& tasks, CallEndings& endings, TurnRunner& runner)
      : context_(context),
        records_(records),
        permissions_(permissions),
        port_(port),
        desk_(desk),
        tasks_(tasks),
        endings_(endings),
        runner_(runner) {}

  // Writes an answer with calls into the history.
  void list(Turn turn, std::vector<tools::AskedCall> calls, std::string words);
  // Ends all calls of that answer before they begin: the model receives the reason.
  void refuse_all(Turn turn, const std::string& why);
  // Begins one call, if one more may run. `proceed`: to be called again; or, if the phase has changed, all of
  // them have their results, and if one of these ends the turn, ActiveTurn::tool_ends_turn is set.
  Next run_next(Turn turn);
  // After a restart: asks again what the calls had asked people (ActiveTurn::questions), and begins no other
  // call. `wait`: the turn is still there. `all_ask` becomes false if one of these calls does not ask
  // anything now. A call that had asked one question after the other asks the first one again, and the others
  // later.
  Next ask_again(Turn turn, bool& all_ask);
  // A verb has ended the call of that id: writes how. Does nothing if the turn of the call is over.
  void finish(core::Node& node, std::string_view call_id) noexcept;
  // The turn ends: from now on no verb finds its calls.
  void forget(const core::Node& node, std::uint64_t turn) noexcept;
  // The turn has ended: forgets and cuts `calls`, closes their questions and emits their ends.
  void cancel(core::Node& node, std::uint64_t turn, const std::vector<PendingCall>& calls,
              const TurnResult& result, DiscardReason late) noexcept;

  // False for a call of the turn in progress that waits for its approval, or to begin.
  static bool has_begun(const Operation& operation) noexcept;

  // The tool of a registered operation has given its result.
  void on_result(core::Node& node, OperationId id, ToolResult result);
  // Its time-out has passed: the operation is cut, and the turn continues with `result`.
  void on_timeout(core::Node& node, OperationId id, const ToolResult& result);

 private:
  enum class Begin : std::uint8_t { now, later };

  void release_stored(Turn turn) const noexcept;
  static void take_answer(Turn turn);
  Next start(Turn turn, std::size_t index, Begin when = Begin::now);
  bool is_stored(Turn turn, PendingCall& call) noexcept;
  Next begin(Turn turn, std::size_t index);
  std::string look_up(Turn turn, PendingCall& call);
  OperationId open(Turn turn, PendingCall& call);
  static PendingCall* find(const core::Node& node, OperationId id) noexcept;
  Next take_result(core::Node& node, OperationId id, ToolResult& result, std::optional<DiscardReason>& late);
  Next ask_approval(Turn turn, PendingCall& call, Coverage covers);
  void on_approval(OperationId id, const Answer& answer);
  Next take_approval(Turn turn, PendingCall& call, const Answer& answer);

  bool is_over(Turn turn, const PendingCall& call) const noexcept;
  Next refuse(Turn turn, PendingCall& call, std::string why);

  TurnContext& context_;
  CallRecords& records_;
  Permissions& permissions_;
  ToolPort& port_;
  QuestionDesk& desk_;
  BackgroundTasks& tasks_;
  CallEndings& endings_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
