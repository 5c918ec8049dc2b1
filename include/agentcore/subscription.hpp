// Subscription: keeps a callback registered during its own lifetime.
#pragma once

#include <functional>
#include <utility>

namespace agentcore {

/// The registration of a callback: every on_...() function returns one. Destroying it, or reset(), ends the
/// registration: the callback is not called again. The objects that the callback captured are destroyed then,
/// at the latest when a callback that is running returns. A Subscription may outlive the object that it
/// subscribed to. It may be ended within any callback, including its own.
///
///     agentcore::Subscription events = tree.on_event([](const agentcore::Event& event) {
///       if (event.get<agentcore::Settled>()) std::puts("settled");
///     });
///     // ...
///     events.reset();
///
/// @loop_thread
class [[nodiscard]] Subscription {
 public:
  /// A subscription without a callback.
  Subscription() = default;
  /// Internal: `cancel` is called once, when the subscription ends.
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  /// Ends this subscription, then takes over `other`.
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      reset();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  /// Ends the subscription, as reset().
  /// @loop_thread
  ~Subscription() { reset(); }

  /// Ends the subscription. Does nothing if it has ended.
  void reset() noexcept {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }
  /// Gives up control: the callback stays registered as long as the object that it subscribed to exists.
  void detach() noexcept { cancel_ = nullptr; }
  /// True while this object controls a registration: false after reset(), detach() or a move.
  explicit operator bool() const noexcept { return static_cast<bool>(cancel_); }

 private:
  std::function<void()> cancel_;
};

}  // namespace agentcore
