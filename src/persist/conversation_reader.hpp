// ConversationReader: reads the conversation of an agent from its store.
#pragma once

#include "persist/persistence.hpp"
#include "persist/stored_agents.hpp"

namespace agentcore::detail::persist {

// @loop_thread
class ConversationReader {
 public:
  explicit ConversationReader(Persistence& persistence) : persistence_(persistence) {}

  // Writes it into the data of the agent. Throws std::exception if a record is missing or damaged. After an
  // error, or if it throws, the agent is as it was.
  Result<void> read(core::Node& node, StoredAgent& agent);

 private:
  Persistence& persistence_;
};

}  // namespace agentcore::detail::persist
