// The ends of the requests of a conversation: what stands before an end begins the next request, too.
// key.
#pragma once

#include "turn/sent_context.hpp"

#include <agentcore/agent_spec.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

// ChatRequest::sent_before of a request whose stable part has the first `end` of these messages, as far as
// they are sent, behind `first` others.
std::vector<std::size_t> sent_before(const std::vector<ChatMessage>& messages, std::size_t end,
                                     const SentContext& sent, std::size_t first);

// SentContext::request_ends for a history of an earlier run, as far as it matters: behind a question, or
// behind results, that a user message follows; and before the last answer, or at the end if nothing answers
// it. It is not stored, as each request changes it. Where such an end was none (a message was steered while a
// tool ran), the next request of that conversation begins in another way than the last one did, so that a
// cache of the provider finds less, once.
std::vector<std::size_t> ends_of_history(const std::vector<ChatMessage>& messages);

// A request is sent whose stable part has the first `end` of these messages. SentContext::request_ends must
// have room for one more.
void note_request_end(const std::vector<ChatMessage>& messages, std::size_t end, SentContext& sent) noexcept;

// ChatRequest::cache_key. It does not contain the id of the agent.
std::string cache_key_of(const AgentSpec& spec, std::string_view agent_id);

}  // namespace agentcore::detail::turn
