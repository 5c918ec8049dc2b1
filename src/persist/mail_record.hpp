// A message that waits in a mailbox as a record.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::persist {

struct MailRecord {
  MessageId id;
  Message message;
  // Its deadline by the wall clock: the clock of a Runtime has no meaning in another process.
  std::optional<std::chrono::system_clock::time_point> deadline;
};

std::string to_json(const MailRecord& record);
// Throws nlohmann::json::exception.
MailRecord read_mail(std::string_view text);

}  // namespace agentcore::detail::persist
