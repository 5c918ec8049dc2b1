#include "events/message_listener.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace agentcore::detail::events {
namespace {

// The turn of an event. None: events of that kind do not name one.
std::optional<std::uint64_t> turn_of(const Event& event) noexcept {
  return std::visit(
      [](const auto& body) -> std::optional<std::uint64_t> {
        if constexpr (requires { body.turn; })
          return body.turn;
        else
          return std::nullopt;
      },
      detail::event_body(event));
}

}  // namespace

std::shared_ptr<MessageListener> MessageListener::listen(EventHub& hub, core::NodeId agent, MessageId message,
                                                         std::uint64_t turn,
                                                         std::unique_ptr<SendOptions>& options) {
  std::shared_ptr<MessageListener> listener(new MessageListener(hub, message, turn));
  listener->options_ = std::move(options);
  try {
    // The callback holds the listener, which holds the subscription: finish() and withdraw() end the circle.
    listener->subscription_ =
        hub.subscribe(agent, listener->kinds(), [listener](const Event& event) { listener->notify(event); });
  } catch (...) {
    options = std::move(listener->options_);
    throw;
  }
  return listener;
}

std::unique_ptr<SendOptions> MessageListener::withdraw() noexcept {
  const Subscription subscription = std::move(subscription_);
  return std::exchange(options_, nullptr);
}

void MessageListener::end(EventHub& hub, const SendOptions& options, const MessageEnd& end) noexcept {
  if (options.on_end) hub.guarded([&] { options.on_end(end); });
}

detail::EventKinds MessageListener::kinds() const noexcept {
  if (options_->on_event) return detail::all_event_kinds;
  return detail::event_kind<TurnEnded> | detail::event_kind<MessageDropped> |
         (options_->on_delta ? detail::event_kind<DeltaReceived> : 0);
}

bool MessageListener::concerns(const Event& event) const noexcept {
  if (const auto* const dropped = event.get<MessageDropped>()) return dropped->id == message_;
  return turn_ != 0 && turn_of(event) == turn_;
}

void MessageListener::notify(const Event& event) {
  if (!options_ || !concerns(event)) return;
  const auto* const ended = event.get<TurnEnded>();
  const auto* const dropped = event.get<MessageDropped>();
  if (ended || dropped) {
    MessageEnd end{message_, turn_, nullptr, DropReason::none};
    if (ended) end.result = ended->result;
    if (dropped) end.dropped = dropped->reason;
    return finish(event, end);
  }
  const auto* const delta = event.get<DeltaReceived>();
  if (delta && options_->on_delta) hub_.guarded([&] { options_->on_delta(delta->text); });
  if (options_ && options_->on_event) hub_.guarded([&] { options_->on_event(event); });
}

void MessageListener::finish(const Event& event, const MessageEnd& made) {
  // From here on nothing of this message follows, whatever the callbacks do.
  const std::unique_ptr<SendOptions> options = std::exchange(options_, nullptr);
  const Subscription subscription = std::move(subscription_);
  if (options->on_event) hub_.guarded([&] { options->on_event(event); });
  if (!hub_.closed()) end(hub_, *options, made);
}

}  // namespace agentcore::detail::events
