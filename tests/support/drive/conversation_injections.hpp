// The verbs of agentcore/conversation.hpp at a suspension point.
#pragma once

#include "support/drive/suspension_story.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/message.hpp>

#include <string>
#include <vector>

namespace agentcore::test {

// What is wrong with the history of `agent`; "" if it is valid, or if there is no agent. `valid`: a history
// that was found valid before, which is not checked again; becomes this one.
std::string history_problem(const Agent& agent, std::vector<ChatMessage>& valid);

// Injects one of these verbs. Returns what is wrong afterwards; "" if nothing is. `message`: that of the last
// turn of the agent. `ended`: becomes true if a turn in progress was ended.
std::string change_conversation(Injection injection, const Agent& agent, MessageId message, bool& ended);

}  // namespace agentcore::test
