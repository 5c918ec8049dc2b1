// Message: what lies in a mailbox.
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace agentcore {

struct Message {
  std::string text = {};                // UTF-8, at most TreeOptions::max_message_bytes
  std::string sender = {};              // an agent's id, or whatever the host likes; empty: the host
  bool simulated = false;               // `text` stands for an answer of the model: see Agent::simulate()
  std::vector<ContentPart> parts = {};  // pictures, sent behind the text; their bytes count as the text's
};

}  // namespace agentcore
