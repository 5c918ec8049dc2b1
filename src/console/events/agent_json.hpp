// Agents, questions, results and receipts as JSON objects.
#pragma once

#include "console/events/agent_directory.hpp"
#include "console/events/json.hpp"

#include <agentcore/question.hpp>
#include <agentcore/stop_audit.hpp>

#include <cstdint>

namespace agentcore::detail::console {

Json to_json(const AgentEntry& entry);
Json to_json(const OpenQuestion& question);
Json to_json(const Usage& usage);
// `number`: of the receipt in its list.
Json to_json(const StopRecord& record, std::uint64_t number);

}  // namespace agentcore::detail::console
