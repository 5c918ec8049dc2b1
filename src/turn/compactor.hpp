// Compactor: summarises messages that would be left out of a request (ContextOptions::compact).
#pragma once

#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/chat.hpp>

#include <cstdint>
#include <string_view>

namespace agentcore::detail::turn {

class UsageAccounting;

// A summary is made in the phase `compacting`, by a model call that ModelCalls sends. What the model is sent
// changes only when that call has ended: in take(). All @loop_thread.
class Compactor {
 public:
  Compactor(TurnContext& context, UsageAccounting& usage) : context_(context), usage_(usage) {}

  // Decides if a summary is made before the next model call of the turn. If so, writes its request, and
  // reserves its estimated use in the budgets. Runs the host's TokenCounter, and may log: check the turn
  // afterwards.
  bool write(Turn turn, ChatRequest& request);
  // The client that makes summaries; `usual` is that of the agent.
  static LlmClient& client_of(Turn turn, LlmClient& usual) noexcept;
  // The call is registered, and is sent next.
  void emit_begin(Turn turn) noexcept;
  // The call has ended, and its usage is settled: the summary is used from now on, or the messages are left
  // out of the requests of this turn. The turn goes on with its next model call.
  Next take(Turn turn);
  // The call `summary` of a turn of `node` ends without an outcome. Does nothing if its begin was not
  // emitted.
  static void emit_end(TurnContext& context, const core::Node& node, std::uint64_t turn,
                       const SummaryCall& summary, Errc why) noexcept;

 private:
  bool plan(Turn turn, SummaryCall& call);
  bool write_request(Turn turn, SummaryCall& call, ChatRequest& request);
  bool reserve(Turn turn, ChatRequest& request);
  static void note_failure(Turn turn) noexcept;
  void log_unused(Turn turn, std::string_view why) noexcept;
  bool limit_archive(Turn turn) noexcept;
  void emit_compacted(Turn turn, bool removed) noexcept;

  TurnContext& context_;
  UsageAccounting& usage_;
};

}  // namespace agentcore::detail::turn
