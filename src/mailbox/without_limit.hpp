// WithoutLimit: lets a mailbox take more messages than its senders may put into it.
#pragma once

#include "core/node.hpp"

#include <cstdint>
#include <limits>

namespace agentcore::detail::mailbox {

// AgentLimits::mailbox is one for senders: more messages may have waited, such as steered ones. As long
// as the object exists, the mailbox of the agent takes all. @loop_thread
class WithoutLimit {
 public:
  explicit WithoutLimit(core::Node& node) noexcept
      : node_(node), limit_(node.mailbox_limit.exchange(std::numeric_limits<std::uint16_t>::max())) {}
  ~WithoutLimit() { node_.mailbox_limit.store(limit_); }
  WithoutLimit(const WithoutLimit&) = delete;
  WithoutLimit& operator=(const WithoutLimit&) = delete;

 private:
  core::Node& node_;
  const std::uint16_t limit_;
};

}  // namespace agentcore::detail::mailbox
