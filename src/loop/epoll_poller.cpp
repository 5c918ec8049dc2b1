// The epoll backend: Linux. One descriptor stands for all, so a foreign loop can watch it.
#include "loop/poller.hpp"

#ifdef __linux__

#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <unistd.h>

namespace agentcore::loop {

namespace {

// Registrations count from 1, so no descriptor of theirs can be taken for the wake-up.
constexpr std::uint64_t wake_mark = 0;

std::uint32_t to_epoll(IoEvents events) noexcept {
  std::uint32_t bits = 0;
  if (has(events, IoEvents::readable)) bits |= EPOLLIN;
  if (has(events, IoEvents::writable)) bits |= EPOLLOUT;
  return bits;
}

IoEvents from_epoll(std::uint32_t bits) noexcept {
  IoEvents events = IoEvents::none;
  if ((bits & (EPOLLIN | EPOLLHUP)) != 0) events = events | IoEvents::readable;
  if ((bits & (EPOLLOUT | EPOLLHUP)) != 0) events = events | IoEvents::writable;
  if ((bits & EPOLLERR) != 0) events = events | IoEvents::error;
  return events;
}

class EpollPoller final : public Poller {
 public:
  EpollPoller() noexcept : descriptor_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~EpollPoller() override {
    for (const int descriptor : {outer_, descriptor_})
      if (descriptor >= 0) ::close(descriptor);
  }
  EpollPoller(const EpollPoller&) = delete;
  EpollPoller& operator=(const EpollPoller&) = delete;

  // Edge-triggered: a write wakes the loop once, and nobody ever has to read the wake-up's descriptor empty.
  bool watch_wake(int descriptor) override {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = wake_mark;
    return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  bool wait(std::optional<Duration> timeout, std::vector<Ready>& ready) override {
    const int count =
        ::epoll_wait(descriptor_, batch_.data(), static_cast<int>(batch_.size()), to_milliseconds(timeout));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = batch_[static_cast<std::size_t>(i)];
      if (event.data.u64 == wake_mark) continue;
      ready.push_back({static_cast<int>(event.data.u64 & 0xffffffffU),
                       static_cast<std::uint32_t>(event.data.u64 >> 32U), from_epoll(event.events)});
    }
    return count == static_cast<int>(batch_.size());
  }

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool has_descriptor() const noexcept override { return true; }

  // An epoll descriptor that watches the first one only: so it can be muted while sockets are readable.
  int open_descriptor() noexcept override {
    if (outer_ >= 0) return outer_;
    const int opened = ::epoll_create1(EPOLL_CLOEXEC);
    if (opened < 0) return -1;
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(opened, EPOLL_CTL_ADD, descriptor_, &event) == 0) return outer_ = opened;
    const int error = errno;
    ::close(opened);
    errno = error;
    return -1;
  }

  void mute(bool muted) noexcept override {
    if (outer_ < 0) return;
    epoll_event event{};
    if (!muted) event.events = EPOLLIN;
    ::epoll_ctl(outer_, EPOLL_CTL_MOD, descriptor_, &event);
  }

 protected:
  bool update(int descriptor, IoEvents from, IoEvents to, std::uint32_t serial) override {
    epoll_event event{};
    event.events = to_epoll(to);
    event.data.u64 = (std::uint64_t{serial} << 32U) | static_cast<std::uint32_t>(descriptor);
    // Not registered at all when nothing is waited for: epoll would tell of a hang-up over and over.
    if (to == IoEvents::none) {
      ::epoll_ctl(descriptor_, EPOLL_CTL_DEL, descriptor, &event);  // fails if closed already: as good
      return true;
    }
    const int first = from == IoEvents::none ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(descriptor_, first, descriptor, &event) == 0) return true;
    // The number was closed and opened again behind our back: what the kernel knows differs from what we
    // know.
    if (errno == EEXIST) return ::epoll_ctl(descriptor_, EPOLL_CTL_MOD, descriptor, &event) == 0;
    if (errno == ENOENT) return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event) == 0;
    return false;
  }

 private:
  int descriptor_;
  int outer_ = -1;  // for a foreign loop; contains descriptor_
  std::array<epoll_event, 256> batch_{};
};

}  // namespace

std::unique_ptr<Poller> make_epoll_poller() {
  auto poller = std::make_unique<EpollPoller>();  // allocated first: an open descriptor always has an owner
  if (poller->is_open()) return poller;
  const int error = errno;
  poller.reset();
  errno = error;
  return nullptr;
}

}  // namespace agentcore::loop

#else

#include <cerrno>

std::unique_ptr<agentcore::loop::Poller> agentcore::loop::make_epoll_poller() {
  errno = ENOSYS;
  return nullptr;
}

#endif
