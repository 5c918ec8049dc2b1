// Whether a history can be sent in every dialect.
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace property_test {

// What is wrong with a history: by the rules of agentcore, and by those of the three dialects, as their
// providers check the bodies of requests. "" if nothing is.
std::string problem_of(const std::vector<agentcore::ChatMessage>& history);

}  // namespace property_test
