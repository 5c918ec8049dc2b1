// The epoll backend: Linux. One descriptor represents all, so a foreign loop can watch it.
#include "platform/poller.hpp"
#include "platform/posix/descriptor_timer.hpp"

#ifdef __linux__

#include <array>
#include <cerrno>

#include <sys/epoll.h>
#include <unistd.h>

namespace agentcore::detail::platform {

namespace {

// Registrations count from 1 in the upper half, so no descriptor of theirs can be taken for one of these.
constexpr std::uint64_t wake_mark = 0;
constexpr std::uint64_t timer_mark = 1;

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

  bool watch_wake(int descriptor) override { return watch_edge(descriptor, wake_mark); }

  bool wait(std::optional<Duration> timeout, std::vector<Ready>& ready) override {
    const int count =
        ::epoll_wait(descriptor_, batch_.data(), static_cast<int>(batch_.size()), to_milliseconds(timeout));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = batch_[static_cast<std::size_t>(i)];
      if (event.data.u64 == timer_mark) timer_.note_fired();
      if (event.data.u64 == wake_mark || event.data.u64 == timer_mark) continue;
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

  // The timer is in the inner set, so that muting the outer one mutes the timer, too.
  bool open_timer() noexcept override {
    if (!timer_watched_) timer_watched_ = timer_.open() && watch_edge(timer_.descriptor(), timer_mark);
    return timer_watched_;
  }

  void arm_timer(TimePoint next, TimePoint now) noexcept override { timer_.arm(next, now); }

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
    // Not registered at all when nothing is waited for: epoll would report a hang-up again and again.
    if (to == IoEvents::none) {
      ::epoll_ctl(descriptor_, EPOLL_CTL_DEL, descriptor, &event);  // no error: it may be closed
      return true;
    }
    const int first = from == IoEvents::none ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(descriptor_, first, descriptor, &event) == 0) return true;
    // The number was closed and opened again without remove(): the kernel's registration differs from ours.
    if (errno == EEXIST) return ::epoll_ctl(descriptor_, EPOLL_CTL_MOD, descriptor, &event) == 0;
    if (errno == ENOENT) return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event) == 0;
    return false;
  }

 private:
  // Edge-triggered: each write, and each end of the timer, is found once, and these descriptors never
  // have to be read empty.
  bool watch_edge(int descriptor, std::uint64_t mark) noexcept {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = mark;
    return ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  int descriptor_;
  int outer_ = -1;  // for a foreign loop; contains descriptor_
  DescriptorTimer timer_;
  bool timer_watched_ = false;
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

}  // namespace agentcore::detail::platform

#endif
