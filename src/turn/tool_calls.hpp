// ToolCalls: begins the tool calls of one answer, in their order.
#pragma once

#include "tools/call_scope.hpp"
#include "tools/protocol.hpp"
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

class CallEnds;
class Permissions;
class QuestionDesk;
class ToolPort;
class TurnRunner;

// One call goes waiting (-> asking -> approved) -> running -> done. All @loop_thread.
class ToolCalls {
 public:
  ToolCalls(TurnContext& context, Permissions& permissions, ToolPort& port, QuestionDesk& desk,
            CallEnds& ends, TurnRunner& runner)
      : context_(context),
        permissions_(permissions),
        port_(port),
        desk_(desk),
        ends_(ends),
        runner_(runner) {}

  // Writes an answer with calls, and for each call a result that it did not happen, which later results
  // replace.
  void list(Turn turn, std::vector<tools::AskedCall> asked, std::string words);
  // Begins one call, if one more may run. `proceed`: to be called again; or, if the phase has changed, all of
  // them have their results, and if one of these ends the turn, ActiveTurn::tool_ends_turn is set.
  Next run_next(Turn turn);
  // After a restart: asks again what the calls had asked people (ActiveTurn::questions), and begins no other
  // call. `wait`: the turn is still there. `all_ask` becomes false if one of these calls does not ask
  // anything now. A call that had asked one question after the other asks the first one again, and the others
  // later.
  Next ask_again(Turn turn, bool& all_ask);
  // False for a call of the turn in progress that waits for its approval, or to begin.
  static bool has_begun(const Operation& operation) noexcept;

 private:
  enum class Begin : std::uint8_t { now, later };

  void release_stored(Turn turn) const noexcept;
  static void take_answer(Turn turn);
  Next start(Turn turn, Call& call, Begin when = Begin::now);
  bool is_stored(Turn turn, Call& call) noexcept;
  Next begin(Turn turn, Call& call);
  std::string look_up(Turn turn, Call& call);
  OperationId open(Turn turn, Call& call);
  Next start_task(Turn turn, Call& call);
  Next begin_task(Turn turn, Call& call);
  std::shared_ptr<tools::Completion> record_start(Turn turn, Call& call, Call& task);
  struct UnknownEffect;
  static void set_begun(Turn turn, Call& call, UnknownEffect&& unknown) noexcept;
  Next ask_approval(Turn turn, Call& call, Coverage covers);
  void on_approval(OperationId id, const Answer& answer);
  Next take_approval(Turn turn, Call& call, const Answer& answer);

  TurnContext& context_;
  Permissions& permissions_;
  ToolPort& port_;
  QuestionDesk& desk_;
  CallEnds& ends_;
  TurnRunner& runner_;
};

}  // namespace agentcore::detail::turn
