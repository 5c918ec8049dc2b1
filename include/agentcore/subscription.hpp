// Subscription: keeps a callback registered for as long as it lives.
#pragma once

#include <functional>
#include <utility>

namespace agentcore {

// Returned by every on_...() function. Dropping it, or reset(), ends the subscription: the callback is not
// called again, and what it captured is released at the latest when the callback that is running now returns.
// May outlive what it subscribed to. @loop_thread, from within callbacks too (its own included).
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      reset();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { reset(); }

  void reset() noexcept {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }
  // Keeps the callback registered for as long as what it subscribed to exists.
  void detach() noexcept { cancel_ = nullptr; }
  explicit operator bool() const noexcept { return static_cast<bool>(cancel_); }

 private:
  std::function<void()> cancel_;
};

}  // namespace agentcore
