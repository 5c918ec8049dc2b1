// Subscription: keeps a callback registered during its own lifetime.
#pragma once

#include <agentcore/export.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace agentcore {
namespace detail::loop {
class Engine;
// True if this thread is not the loop thread of `engine`, which still exists: then it logs `function`.
AGENTCORE_API bool refuses_thread(const std::weak_ptr<Engine>& engine, const char* function) noexcept;
}  // namespace detail::loop

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
  Subscription(Subscription&& other) noexcept
      : cancel_(std::exchange(other.cancel_, nullptr)), engine_(std::move(other.engine_)) {}
  /// Ends this subscription, then takes over `other`.
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      end();
      cancel_ = std::exchange(other.cancel_, nullptr);
      engine_ = std::move(other.engine_);
    }
    return *this;
  }
  /// Ends the subscription, as reset().
  /// @loop_thread
  ~Subscription() { end(); }

  /// Ends the subscription. Does nothing if it has ended, or on another thread than that of the loop.
  void reset() noexcept {
    if (cancel_ && !detail::loop::refuses_thread(engine_, "Subscription::reset")) end();
  }
  /// Gives up control: the callback stays registered as long as the object that it subscribed to exists.
  void detach() noexcept { cancel_ = nullptr; }
  /// True while this object controls a registration: false after reset(), detach() or a move.
  explicit operator bool() const noexcept { return static_cast<bool>(cancel_); }

  /// Internal: reset() refuses other threads than that of this loop.
  Subscription&& of_loop(std::weak_ptr<detail::loop::Engine> engine) && noexcept {
    engine_ = std::move(engine);
    return std::move(*this);
  }

 private:
  // Logged on another thread; the end cannot be refused.
  void end() noexcept {
    auto cancel = std::exchange(cancel_, nullptr);
    if (!cancel) return;
    static_cast<void>(detail::loop::refuses_thread(engine_, "Subscription::~Subscription"));
    cancel();
  }

  std::function<void()> cancel_;
  std::weak_ptr<detail::loop::Engine> engine_;
};

}  // namespace agentcore
