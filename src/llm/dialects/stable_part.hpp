// The stable part of a request: the messages that begin the next request of the conversation, too. What is
// written for them must not depend on what follows them, so that the next body begins with the same bytes.
#pragma once

#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstddef>

namespace agentcore::detail::llm {

// The number of messages of the stable part.
std::size_t stable_end(const ChatRequest& request) noexcept;

// The end of the stable part of the request before: 0 if there was none.
std::size_t stable_end_before(const ChatRequest& request) noexcept;

// True if the user message `at` may be written into one message with the user message before it. Two such
// messages may always be joined where neither ended a stable part.
bool may_join(const ChatRequest& request, std::size_t at, JoinUserMessages join) noexcept;

// In the dialects of OpenAI: sets `prompt_cache_key`, if the request has a key and the server knows the
// field.
void set_cache_key(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults);

}  // namespace agentcore::detail::llm
