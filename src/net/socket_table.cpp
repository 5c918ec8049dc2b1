#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/cut.hpp"
#include "net/transfer.hpp"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::net {

namespace {

void fetch(const void* object, std::size_t bytes) noexcept {
  for (std::size_t at = 0; object != nullptr && at < bytes; at += 64)
    __builtin_prefetch(static_cast<const char*>(object) + at);
}

// True while `owner`'s transfer runs: its socket is not idle, libcurl waits for something else just now.
bool is_in_libcurl(const Cut& owner) noexcept {
  return owner.transfer() != nullptr && owner.transfer()->easy != nullptr;
}

}  // namespace

int SocketTable::open(int family, int type, int protocol) {
  const int descriptor = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0) return -1;
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);  // nothing, unless libcurl closed the number's last owner without telling
  set_idle(socket, false);
  set_retired(socket, false);
  if (!std::exchange(socket.ours, true)) ++ours_;
  return descriptor;
}

void SocketTable::close(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);
  set_idle(socket, false);
  set_retired(socket, false);
  if (std::exchange(socket.ours, false)) --ours_;
  ::close(descriptor);
}

bool SocketTable::want(int descriptor, loop::IoEvents events, const std::shared_ptr<Cut>& owner,
                       Warmth warmth) {
  Socket& socket = at(descriptor);
  set_idle(socket, false);
  set_retired(socket, false);
  return !own(descriptor, socket, owner, warmth) || watch(descriptor, socket, events);
}

void SocketTable::unwant(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  const std::shared_ptr<Cut> owner = socket.owner;
  socket.shared = owner == nullptr;
  release(descriptor, socket);
  if (!socket.ours || socket.retired) return;
  set_idle(socket, true);
  newly_idle_.emplace_back(descriptor, owner);
}

void SocketTable::settle_idle(std::size_t most) {
  // Taken out first: watch() may call the host's log sink, which may close connections.
  const auto newly_idle = std::exchange(newly_idle_, {});
  for (const auto& [descriptor, owner] : newly_idle) {
    Socket& socket = at(descriptor);
    if (!socket.idle || socket.watched) continue;
    if (owner != nullptr && is_in_libcurl(*owner))
      set_idle(socket, false);
    else if (!watch(descriptor, socket, loop::IoEvents::readable))
      retire(descriptor, socket);
  }
  while (idle_ > most) {
    const int oldest = oldest_idle();
    retire(oldest, at(oldest));
  }
}

// Over HTTP/2 a server may send frames on a kept connection (PING, WINDOW_UPDATE). libcurl reads them when it
// uses the connection next. Until then it is not watched any more: it would be reported in every poll.
void SocketTable::end_idle(int descriptor) {
  Socket& socket = at(descriptor);
  char byte = 0;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0 && socket.shared) return unwatch(descriptor, socket);
  retire(descriptor, socket);
}

// Shuts the connection down, so that the server sees its end now. libcurl closes the descriptor when it looks
// for dead connections next.
void SocketTable::retire(int descriptor, Socket& socket) {
  ::shutdown(descriptor, SHUT_RDWR);
  unwatch(descriptor, socket);
  set_idle(socket, false);
  set_retired(socket, true);
}

int SocketTable::oldest_idle() const noexcept {
  std::size_t oldest = sockets_.size();
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    if (sockets_[i].idle &&
        (oldest == sockets_.size() || sockets_[i].idle_number < sockets_[oldest].idle_number))
      oldest = i;
  return static_cast<int>(oldest);
}

void SocketTable::share(int descriptor) {
  release(descriptor, at(descriptor));
}

void SocketTable::claim(int descriptor, const std::shared_ptr<Cut>& owner, Warmth warmth) {
  Socket& socket = at(descriptor);
  if (socket.watched) own(descriptor, socket, owner, warmth);
}

// False when its transfer was cut: nothing of it is to be heard any more.
bool SocketTable::own(int descriptor, Socket& socket, const std::shared_ptr<Cut>& owner, Warmth warmth) {
  socket.warmth = warmth;
  if (socket.owner != owner) {
    release(descriptor, socket);
    socket.owner = owner;
  }
  if (!socket.ours || owner == nullptr || owner->guard().claim(descriptor)) return true;
  unwatch(descriptor, socket);
  return false;
}

void SocketTable::hang_up(SocketGuard& guard) {
  for (const int descriptor : guard.claimed()) {
    if (descriptor < 0) continue;
    ::shutdown(descriptor, SHUT_RDWR);  // the loop thread owns it, so it is open and serves this transfer
    unwatch(descriptor, at(descriptor));
  }
}

void SocketTable::warm(int descriptor) const noexcept {
  const auto place = static_cast<std::size_t>(descriptor);
  if (place >= sockets_.size()) return;
  const Socket& socket = sockets_[place];
  fetch(socket.owner.get(), sizeof(Cut));
  fetch(socket.warmth.transfer, 192);
  fetch(socket.warmth.handler, 384);
}

bool SocketTable::silence_if_over(int descriptor) {
  Socket& socket = at(descriptor);
  if (socket.owner == nullptr) return false;
  if (socket.owner->transfer() != nullptr && !socket.owner->is_cut()) return false;
  unwatch(descriptor, socket);
  return true;
}

SocketTable::Socket& SocketTable::at(int descriptor) {
  const auto place = static_cast<std::size_t>(descriptor);
  if (place >= sockets_.size()) sockets_.resize(place + 1);
  return sockets_[place];
}

bool SocketTable::watch(int descriptor, Socket& socket, loop::IoEvents events) {
  if (engine_gone_) return true;
  if (socket.watched) return !engine_.rewatch(descriptor, events);
  socket.watched = !engine_.watch(descriptor, events, handler_);
  return socket.watched;
}

void SocketTable::unwatch(int descriptor, Socket& socket) {
  if (std::exchange(socket.watched, false) && !engine_gone_) engine_.unwatch(descriptor);
}

void SocketTable::release(int descriptor, Socket& socket) {
  if (socket.owner == nullptr) return;
  if (socket.ours) socket.owner->guard().release(descriptor);
  socket.owner = nullptr;
}

void SocketTable::set_idle(Socket& socket, bool idle) noexcept {
  if (socket.idle == idle) return;
  socket.idle = idle;
  idle_ += idle ? 1U : static_cast<std::size_t>(-1);
  if (idle) socket.idle_number = ++last_idle_number_;
}

void SocketTable::set_retired(Socket& socket, bool retired) noexcept {
  if (socket.retired == retired) return;
  socket.retired = retired;
  retired_ += retired ? 1U : static_cast<std::size_t>(-1);
}

}  // namespace agentcore::net
