// The poll(2) backend: portable, needs no descriptor of its own.
#include "platform/poll_entries.hpp"
#include "platform/poller.hpp"

#include <cstddef>

namespace agentcore::detail::platform {

namespace {

short to_poll(IoEvents events) noexcept {
  int bits = 0;
  if (has(events, IoEvents::readable)) bits |= POLLIN;
  if (has(events, IoEvents::writable)) bits |= POLLOUT;
  return static_cast<short>(bits);
}

IoEvents from_poll(short bits) noexcept {
  IoEvents events = IoEvents::none;
  if ((bits & (POLLIN | POLLHUP)) != 0) events = events | IoEvents::readable;
  if ((bits & (POLLOUT | POLLHUP)) != 0) events = events | IoEvents::writable;
  if ((bits & (POLLERR | POLLNVAL)) != 0) events = events | IoEvents::error;
  return events;
}

class PollPoller final : public Poller {
 public:
  bool watch_wake(int descriptor) override {
    append(descriptor, POLLIN, 0);
    wake_ = descriptor;
    return true;
  }

  bool wait(std::optional<Duration> timeout, std::vector<Ready>& ready) override {
    int left = wait_for(polled_, to_milliseconds(timeout));
    for (std::size_t i = 0; left > 0 && i < polled_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      --left;
      const int descriptor = descriptor_of(polled_[i]);
      if (descriptor != wake_) ready.push_back({descriptor, serials_[i], from_poll(polled_[i].revents)});
    }
    return false;
  }

  bool has_descriptor() const noexcept override { return false; }
  int open_descriptor() noexcept override { return -1; }
  bool open_timer() noexcept override { return false; }
  void arm_timer(TimePoint, TimePoint) noexcept override {}
  void mute(bool) noexcept override {}

 protected:
  bool update(int descriptor, IoEvents from, IoEvents to, std::uint32_t serial) override {
    if (to == IoEvents::none) {
      drop(descriptor);
    } else if (from == IoEvents::none) {
      place(descriptor, polled_.size());
      append(descriptor, to_poll(to), serial);
    } else {
      polled_[places_[static_cast<std::size_t>(descriptor)]].events = to_poll(to);
    }
    return true;
  }

 private:
  // Adds to both vectors, or to none when it throws.
  void append(int descriptor, short events, std::uint32_t serial) {
    polled_.push_back(poll_entry(descriptor, events));
    try {
      serials_.push_back(serial);
    } catch (...) {
      polled_.pop_back();
      throw;
    }
  }

  void place(int descriptor, std::size_t index) {
    const auto number = static_cast<std::size_t>(descriptor);
    if (number >= places_.size()) places_.resize(number + 1);
    places_[number] = index;
  }

  // Moves the last entry to the place of the removed one.
  void drop(int descriptor) {
    const std::size_t index = places_[static_cast<std::size_t>(descriptor)];
    polled_[index] = polled_.back();
    serials_[index] = serials_.back();
    place(descriptor_of(polled_[index]), index);
    polled_.pop_back();
    serials_.pop_back();
  }

  int wake_ = -1;
  std::vector<PollEntry> polled_;
  std::vector<std::uint32_t> serials_;  // beside polled_
  std::vector<std::size_t> places_;     // in polled_, by descriptor
};

}  // namespace

std::unique_ptr<Poller> make_poll_poller() {
  return std::make_unique<PollPoller>();
}

}  // namespace agentcore::detail::platform
