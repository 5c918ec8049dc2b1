// EventStream: the events that one viewer wants, from the log.
#pragma once

#include "console/events/event_log.hpp"
#include "console/http/stream.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::detail::console {

// What a viewer wants of the events.
struct EventFilter {
  std::uint64_t subtree = 0;                             // the serial of its root; 0: all agents
  std::vector<std::shared_ptr<const void>> viewed = {};  // EventFeed::view_text() of these agents
  std::vector<std::uint64_t> text = {};                  // the serials of the agents whose text is wanted

  bool wants(const LoggedEvent& event) const noexcept;
};

// A viewer has a position in the log and no copy of it. If it is so slow that its position is not in the log
// any more, it gets `lagged`, and its stream ends. @loop_thread
class EventStream final : public Stream {
 public:
  // Begins behind the event `after`. `resets`: the viewer asked for a position that the log does not have,
  // and gets `reset` first.
  EventStream(std::shared_ptr<const EventLog> log, EventFilter filter, std::uint64_t after, bool resets)
      : log_(std::move(log)), filter_(std::move(filter)), next_(after + 1), resets_(resets) {}

  Next fill(std::string& out, std::size_t max_bytes) override;
  // With the position: events that the viewer did not want may have left the log when it connects again.
  std::string heartbeat() const override { return "id: " + log_->id_of(next_ - 1) + "\n\n"; }

 private:
  const std::shared_ptr<const EventLog> log_;
  const EventFilter filter_;
  std::uint64_t next_;
  bool begins_ = true;  // nothing was sent
  bool resets_;
};

}  // namespace agentcore::detail::console
