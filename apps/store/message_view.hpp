// The messages of an agent: those that wait, and its conversation.
#pragma once

#include "output.hpp"
#include "persist/stored_conversation.hpp"
#include "persist/stored_forest.hpp"

#include <nlohmann/json.hpp>

namespace store_tool {

nlohmann::ordered_json mail_json(const agentcore::detail::persist::ForestAgent& agent);
void print_mail(const agentcore::detail::persist::ForestAgent& agent, Output& output);

// Each message as in history_to_json(), and the number of the turn that begins with it.
nlohmann::ordered_json conversation_json(const agentcore::detail::persist::StoredConversation& conversation);
void print_conversation(const agentcore::detail::persist::StoredConversation& conversation, Output& output);

}  // namespace store_tool
