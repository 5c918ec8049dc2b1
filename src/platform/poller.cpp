#include "platform/poller.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

namespace agentcore::detail::platform {

bool Poller::add(int descriptor, IoEvents events, IoHandler& handler) {
  if (descriptor < 0) {
    errno = EBADF;
    return false;
  }
  const auto index = static_cast<std::size_t>(descriptor);
  if (index >= registrations_.size()) registrations_.resize(std::max(index + 1, registrations_.size() * 2));
  remove(descriptor);
  const std::uint32_t serial = ++last_serial_;
  // Registered only after update(), which may throw: no handler is kept that the caller may destroy.
  if (events != IoEvents::none && !update(descriptor, IoEvents::none, events, serial)) return false;
  registrations_[index] = {&handler, events, serial};
  return true;
}

bool Poller::take_over(const Poller& other) {
  for (std::size_t index = 0; index < other.registrations_.size(); ++index) {
    const Registration& registration = other.registrations_[index];
    if (registration.handler == nullptr || registration.events == IoEvents::none) continue;
    if (!update(static_cast<int>(index), IoEvents::none, registration.events, registration.serial))
      return false;
  }
  registrations_ = other.registrations_;
  last_serial_ = other.last_serial_;
  return true;
}

bool Poller::modify(int descriptor, IoEvents events) {
  Registration* const registration = find(descriptor);
  if (registration == nullptr) {
    errno = ENOENT;
    return false;
  }
  const IoEvents from = registration->events;
  if (from != events && !update(descriptor, from, events, registration->serial)) return false;
  registration->events = events;
  return true;
}

void Poller::remove(int descriptor) {
  Registration* const registration = find(descriptor);
  if (registration == nullptr) return;
  const Registration removed = std::exchange(*registration, {});
  if (removed.events != IoEvents::none) update(descriptor, removed.events, IoEvents::none, removed.serial);
}

Delivery Poller::deliver(const Ready& ready) const noexcept {
  const auto index = static_cast<std::size_t>(ready.descriptor);
  if (index >= registrations_.size()) return {nullptr, IoEvents::none};
  const Registration& registration = registrations_[index];
  // The serial distinguishes a registration from a later one of the same number: descriptors are reused at
  // once.
  if (registration.handler == nullptr || registration.serial != ready.serial)
    return {nullptr, IoEvents::none};
  if (registration.events == IoEvents::none) return {nullptr, IoEvents::none};
  const IoEvents events = ready.events & (registration.events | IoEvents::error);
  return {events == IoEvents::none ? nullptr : registration.handler, events};
}

Poller::Registration* Poller::find(int descriptor) noexcept {
  const auto index = static_cast<std::size_t>(descriptor);
  if (descriptor < 0 || index >= registrations_.size()) return nullptr;
  return registrations_[index].handler == nullptr ? nullptr : &registrations_[index];
}

int Poller::to_milliseconds(std::optional<Duration> timeout) noexcept {
  if (!timeout) return -1;
  // Rounded up: a wait that ends before the timer is due would only spin.
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(*timeout, Duration(0))).count();
  return static_cast<int>(std::min<decltype(milliseconds)>(milliseconds, std::numeric_limits<int>::max()));
}

}  // namespace agentcore::detail::platform
