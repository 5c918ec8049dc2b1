// The names of all enumerators of the public interface, but for those of the HTTP client.
#include "core/enum_names.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/chat_message.hpp>
#include <agentcore/context.hpp>
#include <agentcore/error.hpp>
#include <agentcore/log.hpp>
#include <agentcore/message.hpp>
#include <agentcore/question.hpp>
#include <agentcore/restore.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/store_events.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/tool_events.hpp>
#include <agentcore/tool_policy.hpp>
#include <agentcore/turn_events.hpp>
#include <agentcore/turn_result.hpp>
#include <agentcore/verbs.hpp>

namespace agentcore {

AGENTCORE_NAMES(AgentRole, normal, system, user)
AGENTCORE_NAMES(PartialAnswers, drop, keep, keep_acknowledged)

AGENTCORE_NAMES(AgentState, idle, waiting_llm, processing, stopping, stopped, terminating)
static_assert(detail::core::names_of<AgentState>.size() == agent_state_count);

AGENTCORE_NAMES(FinishReason, unknown, complete, length, content_filter, tool_calls, refusal, other)

AGENTCORE_NAMES(Role, system, user, assistant, tool)
AGENTCORE_NAMES(Interruption, none, aborted, stopped, failed, interrupted, steered, truncated)
AGENTCORE_NAMES(ContentPart::Kind, image, document, audio)
AGENTCORE_NAMES(ToolOutcome, not_started, completed, interrupted, abandoned)

AGENTCORE_NAMES(VolatilePlace, last_message, system_prompt)

AGENTCORE_NAME_TABLE(Errc, none, missing_agent_id, agent_not_found, runtime_gone, wrong_thread,
                     invalid_agent_id, agent_exists, depth_limit, agent_limit, no_llm_client, agent_stopping,
                     agent_stopped, agent_terminating, mailbox_full, message_too_large, invalid_utf8,
                     empty_message, out_of_memory, message_not_found, turn_not_found, not_waiting_llm,
                     not_stopped, parent_stopped, turn_over, not_held, stop_pending, no_lease, lease_expired,
                     paused, not_paused, call_not_found, call_over, not_child_agent,
                     cannot_delete_system_agent, cannot_stop_user, cancelled, connect_timeout,
                     first_byte_timeout, stall_timeout, total_timeout, deadline_exceeded, resolve_failed,
                     network_error, tls_error, http_error, api_error, account_exhausted, unsupported_part,
                     invalid_response, response_too_large, request_in_progress, queue_full, circuit_open,
                     client_dropped_call, callback_failed, tool_round_limit, invalid_answer, answer_cut_off,
                     budget_exceeded, question_not_found, question_closed, not_an_approval, is_an_approval,
                     grant_not_found, invalid_history, invalid_recording, invalid_config, store_in_use,
                     store_unavailable, store_read_only, store_full, store_corrupt, store_newer, store_failed,
                     store_fenced)
std::string_view to_string(Errc code) noexcept {
  return code == Errc::none ? "" : detail::core::names_of<Errc>.name(code);
}

AGENTCORE_NAMES(LogLevel, debug, info, warning, error)

AGENTCORE_NAMES(MessagePriority, normal, urgent)
AGENTCORE_NAMES(DropReason, none, stopped, deleted, queue_dropped, interrupted, removed, deadline_exceeded)
AGENTCORE_NAMES(SteerWhen, next_step, now)
AGENTCORE_NAMES(SteerFallback, queue, give_back)
AGENTCORE_NAMES(SteerFate, delivered, queued, returned)

AGENTCORE_NAMES(QuestionKind, question, approval)
AGENTCORE_NAMES(QuestionOutcome, answered, declined, cancelled, timed_out)

AGENTCORE_NAMES(Durability, each_turn, each_step, each_message)
AGENTCORE_NAMES(AfterStoreFailure, retry, go_on, stop_all)
AGENTCORE_NAMES(InterruptedTurns, end, go_on)

AGENTCORE_NAMES(RunEnd, idle, limit, in_callback, wrong_thread, runtime_gone, out_of_memory)

AGENTCORE_NAMES(RestoredTurn, none, interrupted, continues)

AGENTCORE_NAMES(ToolMode, sync, async)
AGENTCORE_NAMES(ToolReplay, never, safe)

AGENTCORE_NAMES(TaskState, started, completed, failed, cancelled)
AGENTCORE_NAMES(TaskKind, turn, model_call, tool_call, background)
AGENTCORE_NAMES(WindowCloseReason, action, by_result, after_action)

AGENTCORE_NAMES(Permission, allow, ask, deny)
AGENTCORE_NAMES(GrantScope, once, agent, subtree)

AGENTCORE_NAMES(ConversationChange, rewound, truncated, compacted)
AGENTCORE_NAMES(LateResult, answer, failure, text, tool_result)
AGENTCORE_NAMES(ReaskCause, steered, unreadable_calls, invalid_answer)
AGENTCORE_NAMES(DiscardReason, stopped, deleted, interrupted, aborted, turn_over, timed_out, cancelled,
                completed_by_host, steered, deadline_exceeded, given_up)

AGENTCORE_NAMES(TurnOutcome, completed, aborted, stopped, failed, interrupted)

AGENTCORE_NAMES(Scope, agent, subtree, descendants, with_forks)
AGENTCORE_NAMES(StopVerb, stop, terminate)
AGENTCORE_NAMES(StopCause, user, parent, deadline, budget, shutdown, terminate, lease)
AGENTCORE_NAMES(StopWhen, now, after_step, after_turn)
AGENTCORE_NAMES(VerbStatus, done, no_effect, refused)

namespace detail::core {

template <typename Enum>
std::optional<Enum> value_of(std::string_view name) noexcept {
  return names_of<Enum>.value(name);
}

// Those that something reads.
template std::optional<AgentState> value_of(std::string_view) noexcept;
template std::optional<ContentPart::Kind> value_of(std::string_view) noexcept;
template std::optional<Interruption> value_of(std::string_view) noexcept;
template std::optional<Role> value_of(std::string_view) noexcept;
template std::optional<ToolOutcome> value_of(std::string_view) noexcept;

}  // namespace detail::core
}  // namespace agentcore
