#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/cut.hpp"

#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::net {

namespace {

void fetch(const void* object, std::size_t bytes) noexcept {
  for (std::size_t at = 0; object != nullptr && at < bytes; at += 64)
    __builtin_prefetch(static_cast<const char*>(object) + at);
}

}  // namespace

int SocketTable::open(int family, int type, int protocol) {
  const int descriptor = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0) return -1;
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);  // nothing, unless libcurl closed the number's last owner without telling
  socket.ours = true;
  return descriptor;
}

void SocketTable::close(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);
  set_idle(socket, false);
  socket.ours = false;
  ::close(descriptor);
}

bool SocketTable::want(int descriptor, loop::IoEvents events, const std::shared_ptr<Cut>& owner,
                       Warmth warmth) {
  Socket& socket = at(descriptor);
  set_idle(socket, false);
  return !own(descriptor, socket, owner, warmth) || watch(descriptor, socket, events);
}

void SocketTable::unwant(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);
  set_idle(socket, socket.ours);
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
}

}  // namespace agentcore::net
