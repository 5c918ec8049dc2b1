// A conversation, as the Anthropic Messages dialect writes it.
#pragma once

#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <agentcore/chat.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// Sets the limit of the answer, the choice of a tool and the sampling.
void set_anthropic_options(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults);

// The texts of all system messages, with an empty line between them: the API takes them outside of
// `messages`.
std::string anthropic_system(const std::vector<ChatMessage>& messages);

// A block, which is a JSON object, with a mark: the provider caches the request up to the end of the block.
// The API accepts four marks in a request, and none in a block of reasoning or in an empty text.
std::string with_cache_mark(std::string block);

// The block of a text.
std::string anthropic_text_block(std::string_view text);

// The array `messages`. Consecutive messages of one role become one message, with the blocks of each; results
// of tools have the role user. Two messages of the role user stay separate unless may_join() allows it; the
// API itself joins them. The tail is the last block of a last user message, else a message of its own. The
// API refuses empty texts and messages, so none of these is written:
// - a text of nothing but white space;
// - a message of nothing else, and an answer of nothing but reasoning;
// - reasoning that is not sent back to the server, and blocks that are not a JSON object.
// Arguments that are not a JSON object are written as {}. Ids of calls, which may come from any provider, are
// converted to the characters that the API accepts.
//
// Marks, with prompt_caching: the ends of the stable parts of this request and of the one before. The API
// looks for an earlier mark no more than 20 blocks before a mark, and a step with many calls has more.
std::string anthropic_messages_list(const ChatRequest& request, const BodyDefaults& defaults);

}  // namespace agentcore::detail::llm
