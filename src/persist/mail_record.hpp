// A message that waits in a mailbox as a record.
#pragma once

#include "loop/time.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::persist {

struct MailRecord {
  MessageId id;
  Message message;
  std::optional<loop::WallDeadline> deadline;
  bool simulated = false;   // see Agent::simulate()
  std::uint32_t begun = 0;  // StoredMail::begun
};

std::string to_json(const MailRecord& record);
// Throws nlohmann::json::exception.
MailRecord read_mail(std::string_view text);

}  // namespace agentcore::detail::persist
