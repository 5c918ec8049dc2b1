// MessageListener: calls the callbacks of SendOptions for one message.
#pragma once

#include "events/event_hub.hpp"

#include <agentcore/event.hpp>
#include <agentcore/message.hpp>
#include <agentcore/subscription.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace agentcore::detail::events {

// An observer of one agent, for the events of one message. It ends itself with the event that ends the
// message, so that on_end is called once, after the other observers of that event. All @loop_thread.
class MessageListener {
 public:
  // Begins to observe turn `turn` of the agent, or, with 0, that the message is dropped. Throws
  // std::bad_alloc; then `options` are as they were.
  static std::shared_ptr<MessageListener> listen(EventHub& hub, core::NodeId agent, MessageId message,
                                                 std::uint64_t turn, std::unique_ptr<SendOptions>& options);
  // Observes nothing any more, and returns the options.
  std::unique_ptr<SendOptions> withdraw() noexcept;
  // Calls on_end, if there is one, for a message that nothing listens for.
  static void end(EventHub& hub, const SendOptions& options, const MessageEnd& end) noexcept;

 private:
  MessageListener(EventHub& hub, MessageId message, std::uint64_t turn) noexcept
      : hub_(hub), message_(message), turn_(turn) {}
  detail::EventKinds kinds() const noexcept;
  bool concerns(const Event& event) const noexcept;
  void notify(const Event& event);
  void finish(const Event& event, const MessageEnd& made);

  EventHub& hub_;
  MessageId message_;
  std::uint64_t turn_;
  std::unique_ptr<SendOptions> options_;
  Subscription subscription_;
};

}  // namespace agentcore::detail::events
