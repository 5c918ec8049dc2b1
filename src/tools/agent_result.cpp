#include "tools/agent_result.hpp"

#include "core/blank.hpp"

#include <agentcore/turn_result.hpp>

#include <new>
#include <string>
#include <string_view>

namespace agentcore::detail::tools {
namespace {

// A deleted agent's turns and messages end as those of a stopped one.
bool is_deleted(const Agent& child) noexcept {
  const Result<AgentState> state = child.state();
  return !state || *state == AgentState::terminating;
}

std::string_view words_for(DropReason reason) noexcept {
  switch (reason) {
    case DropReason::deleted:
      return "the agent was deleted, and did not begin";
    case DropReason::deadline_exceeded:
      return "the agent did not begin: the deadline has passed";
    case DropReason::queue_dropped:
    case DropReason::removed:
    case DropReason::interrupted:
      return "the agent did not begin: its message was withdrawn";
    default:
      return "the agent was stopped, and did not begin";
  }
}

std::string failure_of(const ChatError& error) {
  const std::string_view why = error.message.empty() ? to_string(error.code) : error.message;
  return std::string(error.code == Errc::deadline_exceeded ? "the agent did not finish in time: "
                                                           : "the agent failed: ")
      .append(why);
}

std::string words_for(const TurnResult& result, const Agent& child) {
  switch (result.outcome) {
    case TurnOutcome::interrupted:
      return "the agent was interrupted, and did not finish";
    case TurnOutcome::aborted:
      return "the agent's model call was aborted, and the agent did not finish";
    case TurnOutcome::stopped: {
      std::string words = is_deleted(child) ? "the agent was deleted, and did not finish"
                                            : "the agent was stopped, and did not finish";
      // Why the turn itself caused the stop; the reason of a person is never here.
      if (result.error.message.starts_with("a budget is used up")) words += ": " + result.error.message;
      return words;
    }
    default:
      return failure_of(result.error);
  }
}

std::string_view words_for(Errc reason) noexcept {
  switch (reason) {
    case Errc::agent_stopping:
      return "it is being stopped";
    case Errc::agent_stopped:
      return "it is stopped";
    case Errc::agent_terminating:
    case Errc::agent_not_found:
      return "it was deleted";
    case Errc::mailbox_full:
      return "too many messages wait for it";
    case Errc::empty_message:
      return "the message is empty";
    case Errc::message_too_large:
      return "the message is too long";
    case Errc::invalid_utf8:
      return "the message is not UTF-8";
    default:
      return to_string(reason);
  }
}

}  // namespace

ToolResult result_of(const MessageEnd& end, const Agent& child) noexcept {
  try {
    if (!end.result) return ToolResult::failed(std::string(words_for(end.dropped)));
    if (end.result->success())
      return ToolResult::done(core::is_blank(end.result->text)
                                  ? "the agent has finished, without an answer in words"
                                  : end.result->text);
    ToolResult result = ToolResult::failed(words_for(*end.result, child));
    if (!end.result->partial.empty())
      result.message.append("\nIts unfinished answer:\n").append(end.result->partial);
    return result;
  } catch (const std::bad_alloc&) {
    return {.success = false};
  }
}

ToolResult refused_by_agent(Errc reason) {
  return ToolResult::failed(std::string("the agent does not accept the message: ").append(words_for(reason)));
}

}  // namespace agentcore::detail::tools
