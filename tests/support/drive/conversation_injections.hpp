// The verbs of agentcore/conversation.hpp at a suspension point.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/message.hpp>

#include <string>

namespace agentcore::test {

// Each returns what is wrong afterwards; "" if nothing is. `ended`: the last turn was removed.
std::string inject_rewind(const Agent& agent, bool& ended);
std::string inject_regenerate(const Agent& agent, bool& ended);
std::string inject_fork(const Agent& agent);
std::string inject_truncate(const Agent& agent, MessageId turn);
std::string inject_acknowledge(const Agent& agent, MessageId turn);

}  // namespace agentcore::test
