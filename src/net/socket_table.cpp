#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/transfer.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::detail::net {

namespace {

void fetch(const void* object, std::size_t bytes) noexcept {
  for (std::size_t at = 0; object != nullptr && at < bytes; at += 64)
    __builtin_prefetch(static_cast<const char*>(object) + at);
}

// True while `owner`'s transfer runs: its socket is not idle, although libcurl does not wait for it now.
bool is_in_libcurl(const CallHandle& owner) noexcept {
  return owner.transfer() != nullptr && owner.transfer()->easy() != nullptr;
}

}  // namespace

SocketTable::~SocketTable() {
  for (std::size_t i = 0; i < sockets_.size(); ++i) forget(static_cast<int>(i));
}

int SocketTable::open(std::size_t pool, int family, int type, int protocol) {
  const int descriptor = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0) return -1;
  forget(descriptor);  // no effect, unless libcurl closed the previous socket without a callback
  if (!connecting_.add(descriptor)) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  Socket& socket = at(descriptor);
  socket.pool = static_cast<std::uint32_t>(pool);
  set_use(socket, SocketUse::busy);
  return descriptor;
}

void SocketTable::close(int descriptor) {
  forget(descriptor);
  ::close(descriptor);
}

bool SocketTable::want(std::size_t pool, int descriptor, loop::IoEvents events,
                       const std::shared_ptr<CallHandle>& owner, PrefetchHint hint) {
  Socket& socket = at(descriptor);
  assert(socket.use == SocketUse::foreign || socket.pool == pool);
  if (socket.use == SocketUse::foreign)
    socket.pool = static_cast<std::uint32_t>(pool);
  else
    set_use(socket, SocketUse::busy);
  socket.unwanted = false;
  return !assign(descriptor, socket, owner, hint) || watch(descriptor, socket, events);
}

void SocketTable::unwant(int descriptor) {
  Socket& socket = at(descriptor);
  if (connecting_.is_closed(descriptor)) return forget(descriptor);
  unwatch(descriptor, socket);
  const std::shared_ptr<CallHandle> owner = socket.owner;
  socket.shared = owner == nullptr;
  release(descriptor, socket);
  if (socket.use == SocketUse::foreign || socket.use == SocketUse::retired) return;
  if (!connecting_.has(descriptor)) set_use(socket, SocketUse::idle);
  socket.last_owner = owner;
  socket.unwanted = true;
  unwanted_.push_back(descriptor);
}

void SocketTable::connected(SocketGuard& guard, bool shared) {
  const auto claimed = guard.claimed();  // a copy: the claims change
  for (const int claim : claimed) {
    if (claim < 0) continue;
    const int descriptor = connecting_.socket_of(claim);
    if (connecting_.is_closed(descriptor)) {  // one of two that connected at a time, and not the faster one
      forget(descriptor);
      continue;
    }
    Socket& socket = at(descriptor);
    const std::shared_ptr<CallHandle> owner = socket.owner;
    release(descriptor, socket);
    connecting_.remove(descriptor);
    if (!shared) assign(descriptor, socket, owner, socket.hint);
  }
}

void SocketTable::settle_idle(std::size_t most) {
  // Removed from the list first: watch() may call the host's log sink, which may close connections.
  const auto unwanted = std::exchange(unwanted_, {});
  for (const int descriptor : unwanted) {
    Socket& socket = at(descriptor);
    if (!socket.unwanted) continue;
    const bool in_libcurl = socket.last_owner != nullptr && is_in_libcurl(*socket.last_owner);
    if (connecting_.has(descriptor)) {
      if (connecting_.is_closed(descriptor)) {
        forget(descriptor);
        continue;
      }
      if (in_libcurl) {  // libcurl may close it without a further callback
        unwanted_.push_back(descriptor);
        continue;
      }
      connecting_.remove(descriptor);
      set_use(socket, SocketUse::idle);
    }
    socket.unwanted = false;
    socket.last_owner = nullptr;
    if (socket.use != SocketUse::idle) continue;
    if (in_libcurl)
      set_use(socket, SocketUse::busy);
    else if (!watch(descriptor, socket, loop::IoEvents::readable))
      retire(descriptor, socket);
  }
  const auto is_older = [](const Socket& a, const Socket& b) {
    const auto rank = [](const Socket& s) { return s.use == SocketUse::idle ? s.idle_number : UINT64_MAX; };
    return rank(a) < rank(b);
  };
  while (counts_.idle() > most) {
    const auto oldest = std::min_element(sockets_.begin(), sockets_.end(), is_older);
    retire(static_cast<int>(oldest - sockets_.begin()), *oldest);
  }
}

// Over HTTP/2 a server may send frames on a kept connection (PING, WINDOW_UPDATE). libcurl reads them when it
// uses the connection next. Until then the connection is not watched: it would be reported in every poll.
bool SocketTable::end_idle(int descriptor) {
  Socket& socket = at(descriptor);
  if (socket.use != SocketUse::idle) return false;
  char byte = 0;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool is_quiet = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (got > 0 && socket.shared)
    unwatch(descriptor, socket);
  else if (!is_quiet)
    retire(descriptor, socket);
  return true;
}

// Shuts the connection down, so that the server is notified of its end now. libcurl closes the descriptor in
// its next check for dead connections.
void SocketTable::retire(int descriptor, Socket& socket) {
  ::shutdown(descriptor, SHUT_RDWR);
  unwatch(descriptor, socket);
  set_use(socket, SocketUse::retired);
}

void SocketTable::claim(int descriptor, const std::shared_ptr<CallHandle>& owner, PrefetchHint hint) {
  Socket& socket = at(descriptor);
  if (socket.watched && socket.use == SocketUse::busy) assign(descriptor, socket, owner, hint);
}

// False when the transfer was cut: libcurl must not receive another event of it.
bool SocketTable::assign(int descriptor, Socket& socket, const std::shared_ptr<CallHandle>& owner,
                         PrefetchHint hint) {
  socket.hint = hint;
  if (socket.owner != owner) {
    release(descriptor, socket);
    socket.owner = owner;
  }
  if (socket.use == SocketUse::foreign || owner == nullptr) return true;
  if (owner->sockets().claim(connecting_.twin_of(descriptor))) return true;
  unwatch(descriptor, socket);
  return false;
}

void SocketTable::hang_up(SocketGuard& guard) {
  for (const int descriptor : guard.claimed()) {
    if (descriptor < 0) continue;
    ::shutdown(descriptor, SHUT_RDWR);  // the loop thread owns it, so it is open and serves this transfer
    const int socket = connecting_.socket_of(descriptor);
    unwatch(socket, at(socket));
  }
}

void SocketTable::prefetch(int descriptor) const noexcept {
  const auto place = static_cast<std::size_t>(descriptor);
  if (place >= sockets_.size()) return;
  const Socket& socket = sockets_[place];
  fetch(socket.owner.get(), sizeof(CallHandle));
  fetch(socket.hint.transfer, 192);
  fetch(socket.hint.handler, 384);
}

bool SocketTable::unwatch_if_over(int descriptor) {
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
  if (socket.use != SocketUse::foreign) socket.owner->sockets().release(connecting_.twin_of(descriptor));
  socket.owner = nullptr;
}

// Removes all that is known of a descriptor, and closes its twin.
void SocketTable::forget(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);
  connecting_.remove(descriptor);
  socket.last_owner = nullptr;
  socket.unwanted = false;
  set_use(socket, SocketUse::foreign);
}

void SocketTable::set_use(Socket& socket, SocketUse use) noexcept {
  if (socket.use == use) return;
  counts_.change(socket.pool, socket.use, use);
  if (use == SocketUse::idle) socket.idle_number = ++last_idle_number_;
  socket.use = use;
}

}  // namespace agentcore::detail::net
