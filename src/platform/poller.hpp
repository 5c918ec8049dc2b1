// Poller: waits for descriptors. One registration per descriptor; level-triggered.
#pragma once

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace agentcore::detail::platform {

// Bit flags: what to wait for, and what has come. `error` is always reported. A peer that hung up is reported
// as readable (and writable, if asked for), because there may still be bytes to read before the end.
enum class IoEvents : std::uint8_t { none = 0, readable = 1, writable = 2, error = 4 };

constexpr IoEvents operator|(IoEvents a, IoEvents b) noexcept {
  return static_cast<IoEvents>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr IoEvents operator&(IoEvents a, IoEvents b) noexcept {
  return static_cast<IoEvents>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool has(IoEvents events, IoEvents any_of) noexcept {
  return (events & any_of) != IoEvents::none;
}

// Notified when a watched descriptor became ready. Called on the loop thread, inside a poll. Level-triggered:
// what is not consumed is reported again. May watch and unwatch any descriptor, its own included.
class IoHandler {
 public:
  virtual void on_io(int descriptor, IoEvents events) = 0;
  // An event of this descriptor may be delivered soon: a hint to prefetch what its handler will read.
  virtual void expect_io(int /*descriptor*/) noexcept {}

 protected:
  ~IoHandler() = default;
};

// One descriptor that wait() found ready. `serial` names the registration that it was found for.
struct Ready {
  int descriptor;
  std::uint32_t serial;
  IoEvents events;
};

// The current receiver of a ready event.
struct Delivery {
  IoHandler* handler;  // null: the registration is gone, the event is stale
  IoEvents events;     // without those that are no longer watched
};

// The registrations are kept here; a backend only passes them on to the system. All of it is @loop_thread.
class Poller {
 public:
  virtual ~Poller() = default;

  // Starts watching; an earlier registration of the same descriptor is replaced. `none` keeps the
  // registration but reports nothing. The handler must stay alive until remove(). False when the system
  // refused: errno has the reason, and nothing is registered.
  bool add(int descriptor, IoEvents events, IoHandler& handler);
  // Changes what is waited for. False when the descriptor is not registered or the system refused (errno).
  bool modify(int descriptor, IoEvents events);
  // Stops watching. The descriptor may be closed already.
  void remove(int descriptor);

  // Takes over the registrations of `other`, with the same serials, so that events that `other` has found can
  // be delivered here. False when the system refused (errno): then `other` remains in use.
  bool take_over(const Poller& other);

  // Lets wait() return when `descriptor`, a Waker's, becomes readable. It is not reported as ready.
  virtual bool watch_wake(int descriptor) = 0;

  // Waits until something is ready or `timeout` (nullopt: none; rounded up to a millisecond) has passed, and
  // appends what is ready. A signal ends the wait early. True when there may be more than was appended.
  virtual bool wait(std::optional<Duration> timeout, std::vector<Ready>& ready) = 0;

  // True when this backend can represent all watched descriptors by one.
  virtual bool has_descriptor() const noexcept = 0;
  // That descriptor: readable whenever wait() would find something, or the timer has fired, unless it is
  // muted. The first call opens it. -1: the system refused (errno), or there is none.
  virtual int open_descriptor() noexcept = 0;
  // Opens a timer for that descriptor. False when the system refused (errno), or has no such descriptor.
  virtual bool open_timer() noexcept = 0;
  // Makes that descriptor readable at `next`, by the steady clock of the system, or earlier. Needs an open
  // timer.
  virtual void arm_timer(TimePoint next, TimePoint now) noexcept = 0;
  // While muted, that descriptor is never readable. wait() works as before. Without that descriptor a no-op.
  virtual void mute(bool muted) noexcept = 0;

  // Called right before each delivery: an earlier handler of the same batch may have changed everything.
  Delivery deliver(const Ready& ready) const noexcept;

 protected:
  // Passes it on to the system. Called only when something changed; `from` is none for a descriptor that is
  // new.
  virtual bool update(int descriptor, IoEvents from, IoEvents to, std::uint32_t serial) = 0;

  static int to_milliseconds(std::optional<Duration> timeout) noexcept;

 private:
  struct Registration {
    IoHandler* handler = nullptr;
    IoEvents events = IoEvents::none;
    std::uint32_t serial = 0;
  };

  Registration* find(int descriptor) noexcept;

  std::vector<Registration> registrations_;  // by descriptor: the system assigns the smallest free numbers
  std::uint32_t last_serial_ = 0;
};

// The two backends. make_epoll_poller() returns null when the system has no epoll (errno is ENOSYS) or no
// descriptor left for it. The other one is poll(2), on Windows WSAPoll(), which watches sockets alone.
std::unique_ptr<Poller> make_epoll_poller();
std::unique_ptr<Poller> make_poll_poller();  // never null

}  // namespace agentcore::detail::platform
