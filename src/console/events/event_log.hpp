// EventLog: the last events, as they are sent to viewers.
#pragma once

#include "console/events/agent_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::console {

struct LoggedEvent {
  std::shared_ptr<const AgentPath> path = {};  // of its agent; null: it concerns the whole tree
  bool is_text = false;                        // only for viewers that asked for the text of this agent
  std::string bytes = {};                      // "id: ...\ndata: ...\n\n"
};

// Events are numbered from 1 on. The oldest are dropped when the log has more bytes than it may have. The
// viewers read the log: an event is written once, and not copied for each of them. @loop_thread
class EventLog {
 public:
  // `epoch` distinguishes the numbers of this log from those of another one, before a restart.
  EventLog(std::string epoch, std::size_t max_bytes) : epoch_(std::move(epoch)), max_bytes_(max_bytes) {}

  // `json` is the text of an object, without line breaks.
  void append(std::shared_ptr<const AgentPath> path, bool is_text, std::string_view json);

  // An event could not be written: no viewer continues beyond this place, each loads everything again.
  void lose() noexcept;

  std::uint64_t first() const noexcept { return first_; }                      // of the events that are there
  std::uint64_t last() const noexcept { return first_ + events_.size() - 1; }  // first() - 1: there are none
  const LoggedEvent& at(std::uint64_t number) const { return events_[number - first_]; }

  std::string id_of(std::uint64_t number) const { return epoch_ + "-" + std::to_string(number); }
  // The number of an id. Empty: it is none of this log.
  std::optional<std::uint64_t> number_of(std::string_view id) const noexcept;
  // True if all events after `number` are there.
  bool can_continue(std::uint64_t number) const noexcept { return number + 1 >= first_ && number <= last(); }

 private:
  const std::string epoch_;
  const std::size_t max_bytes_;
  std::deque<LoggedEvent> events_;
  std::uint64_t first_ = 1;
  std::size_t bytes_ = 0;
};

}  // namespace agentcore::detail::console
