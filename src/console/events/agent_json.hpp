// Agents, questions, results, parts of messages and receipts as JSON objects.
#pragma once

#include "console/events/agent_directory.hpp"
#include "console/events/json.hpp"

#include <agentcore/chat_message.hpp>
#include <agentcore/question.hpp>
#include <agentcore/stop_audit.hpp>

#include <cstdint>

namespace agentcore::detail::console {

Json to_json(const AgentEntry& entry);
Json to_json(const OpenQuestion& question);
Json to_json(const Usage& usage);
// What a part is and how large, without its data. The size of a part that is an address is not known.
Json to_json(const ContentPart& part);
// Of a list of parts.
Json parts_to_json(const auto& parts) {
  Json list = Json::array();
  for (const ContentPart& part : parts) list.push_back(to_json(part));
  return list;
}
// `number`: of the receipt in its list.
Json to_json(const StopRecord& record, std::uint64_t number);

}  // namespace agentcore::detail::console
