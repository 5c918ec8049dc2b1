// Acknowledgement: what is reported to the host when a batch has reached the store.
#pragma once

#include "core/node.hpp"

#include <agentcore/message.hpp>

#include <cstdint>
#include <string>

namespace agentcore::detail::persist {

struct Acknowledgement {
  enum class What : std::uint8_t { stop, erasure, message, end_of_message, intents };

  What what = What::message;
  core::NodeId agent = 0;  // 0: the tree
  MessageId message = {};  // `message`, `end_of_message`
  std::string name = {};   // `stop`, `erasure`: the id of the agent
};

}  // namespace agentcore::detail::persist
