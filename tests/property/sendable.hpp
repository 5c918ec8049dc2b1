// Whether a history can be sent in every dialect.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace property_test {

// What is wrong with a history: by the rules of agentcore, and by those of the three dialects, as their
// providers check the bodies of requests. "" if nothing is.
std::string problem_of(const std::vector<agentcore::ChatMessage>& history);

// What is wrong with what is sent of the conversation of `agent`. It must be valid, and must be messages of
// the conversation in their order, among them the last question and all pinned ones, with one summary at
// most. `removes`: a summary may cover messages that are not in the conversation any more; then it may be
// sent for the last question, too. "" if nothing is wrong.
std::string context_problem(const agentcore::Agent& agent, bool removes = false);

}  // namespace property_test
