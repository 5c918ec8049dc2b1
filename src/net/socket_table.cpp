#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore::net {

namespace {

void fetch(const void* object, std::size_t bytes) noexcept {
  for (std::size_t at = 0; object != nullptr && at < bytes; at += 64)
    __builtin_prefetch(static_cast<const char*>(object) + at);
}

// True while `owner`'s transfer runs: its socket is not idle, although libcurl does not wait for it now.
bool is_in_libcurl(const CallHandle& owner) noexcept {
  return owner.transfer() != nullptr && owner.transfer()->easy() != nullptr;
}

// True if both are descriptors of one open socket.
bool are_same(int one, int other) noexcept {
  struct stat a {};
  struct stat b {};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The index of the socket that is idle longest. There must be one.
template <typename Sockets>
int oldest_idle(const Sockets& sockets) noexcept {
  const auto is_older = [](const auto& a, const auto& b) {
    const auto rank = [](const auto& socket) { return socket.is_idle() ? socket.idle_number : UINT64_MAX; };
    return rank(a) < rank(b);
  };
  return static_cast<int>(std::min_element(sockets.begin(), sockets.end(), is_older) - sockets.begin());
}

}  // namespace

SocketTable::~SocketTable() {
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    if (sockets_[i].is_connecting()) forget(static_cast<int>(i));
}

int SocketTable::open(int family, int type, int protocol) {
  const int descriptor = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0) return -1;
  const int twin = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (twin < 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  forget(descriptor);  // no effect, unless libcurl closed the previous socket without a callback
  forget(twin);
  at(twin).twin = descriptor;
  Socket& socket = at(descriptor);
  socket.twin = twin;
  set_use(socket, Use::busy);
  return descriptor;
}

void SocketTable::close(int descriptor) {
  forget(descriptor);
  ::close(descriptor);
}

bool SocketTable::want(int descriptor, loop::IoEvents events, const std::shared_ptr<CallHandle>& owner,
                       PrefetchHint hint) {
  Socket& socket = at(descriptor);
  if (socket.use != Use::foreign) set_use(socket, Use::busy);
  socket.unwanted = false;
  return !assign(descriptor, socket, owner, hint) || watch(descriptor, socket, events);
}

void SocketTable::unwant(int descriptor) {
  Socket& socket = at(descriptor);
  if (socket.is_connecting() && !are_same(descriptor, socket.twin)) return forget(descriptor);
  unwatch(descriptor, socket);
  const std::shared_ptr<CallHandle> owner = socket.owner;
  socket.shared = owner == nullptr;
  release(descriptor, socket);
  if (socket.use == Use::foreign || socket.use == Use::retired) return;
  if (!socket.is_connecting()) set_use(socket, Use::idle);
  socket.last_owner = owner;
  socket.unwanted = true;
  unwanted_.push_back(descriptor);
}

void SocketTable::connected(SocketGuard& guard) {
  const auto claimed = guard.claimed();  // a copy: the claims change
  for (const int claim : claimed) {
    if (claim < 0) continue;
    const int descriptor = socket_of(claim);
    Socket& socket = at(descriptor);
    if (!socket.is_connecting()) continue;
    if (!are_same(descriptor, socket.twin)) {  // one of two that connected at a time, and not the faster one
      forget(descriptor);
      continue;
    }
    const std::shared_ptr<CallHandle> owner = socket.owner;
    release(descriptor, socket);
    close_twin(socket);
    assign(descriptor, socket, owner, socket.hint);
  }
}

void SocketTable::settle_idle(std::size_t most) {
  // Removed from the list first: watch() may call the host's log sink, which may close connections.
  const auto unwanted = std::exchange(unwanted_, {});
  for (const int descriptor : unwanted) settle(descriptor);
  while (idle() > most) {
    const int oldest = oldest_idle(sockets_);
    retire(oldest, at(oldest));
  }
}

void SocketTable::settle(int descriptor) {
  Socket& socket = at(descriptor);
  if (!socket.unwanted) return;
  const bool in_libcurl = socket.last_owner != nullptr && is_in_libcurl(*socket.last_owner);
  if (socket.is_connecting()) {
    if (!are_same(descriptor, socket.twin)) return forget(descriptor);
    if (in_libcurl)
      return unwanted_.push_back(descriptor);  // libcurl may close it without a further callback
    close_twin(socket);
    set_use(socket, Use::idle);
  }
  socket.unwanted = false;
  socket.last_owner = nullptr;
  if (socket.use != Use::idle) return;
  if (in_libcurl)
    set_use(socket, Use::busy);
  else if (!watch(descriptor, socket, loop::IoEvents::readable))
    retire(descriptor, socket);
}

// Over HTTP/2 a server may send frames on a kept connection (PING, WINDOW_UPDATE). libcurl reads them when it
// uses the connection next. Until then the connection is not watched: it would be reported in every poll.
void SocketTable::end_idle(int descriptor) {
  Socket& socket = at(descriptor);
  char byte = 0;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0 && socket.shared) return unwatch(descriptor, socket);
  retire(descriptor, socket);
}

// Shuts the connection down, so that the server is notified of its end now. libcurl closes the descriptor in
// its next check for dead connections.
void SocketTable::retire(int descriptor, Socket& socket) {
  ::shutdown(descriptor, SHUT_RDWR);
  unwatch(descriptor, socket);
  set_use(socket, Use::retired);
}

void SocketTable::share(int descriptor) {
  release(descriptor, at(descriptor));
}

void SocketTable::claim(int descriptor, const std::shared_ptr<CallHandle>& owner, PrefetchHint hint) {
  Socket& socket = at(descriptor);
  if (socket.watched) assign(descriptor, socket, owner, hint);
}

// False when the transfer was cut: libcurl must not receive another event of it.
bool SocketTable::assign(int descriptor, Socket& socket, const std::shared_ptr<CallHandle>& owner,
                         PrefetchHint hint) {
  socket.hint = hint;
  if (socket.owner != owner) {
    release(descriptor, socket);
    socket.owner = owner;
  }
  if (socket.use == Use::foreign || owner == nullptr) return true;
  if (owner->sockets().claim(socket.is_connecting() ? socket.twin : descriptor)) return true;
  unwatch(descriptor, socket);
  return false;
}

void SocketTable::hang_up(SocketGuard& guard) {
  for (const int descriptor : guard.claimed()) {
    if (descriptor < 0) continue;
    ::shutdown(descriptor, SHUT_RDWR);  // the loop thread owns it, so it is open and serves this transfer
    const int socket = socket_of(descriptor);
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

// The socket of a descriptor that a guard has claimed: itself, or the one whose twin it is.
int SocketTable::socket_of(int claimed) {
  const Socket& socket = at(claimed);
  return socket.use == Use::foreign && socket.twin >= 0 ? socket.twin : claimed;
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
  if (socket.use != Use::foreign)
    socket.owner->sockets().release(socket.is_connecting() ? socket.twin : descriptor);
  socket.owner = nullptr;
}

void SocketTable::close_twin(Socket& socket) {
  const int twin = std::exchange(socket.twin, -1);
  at(twin).twin = -1;  // has an entry since open(), so no entry moves
  ::close(twin);
}

// Removes all that is known of a descriptor, and closes its twin.
void SocketTable::forget(int descriptor) {
  Socket& socket = at(descriptor);
  unwatch(descriptor, socket);
  release(descriptor, socket);
  if (socket.is_connecting()) close_twin(socket);
  socket.last_owner = nullptr;
  socket.unwanted = false;
  set_use(socket, Use::foreign);
}

void SocketTable::set_use(Socket& socket, Use use) noexcept {
  if (socket.use == use) return;
  if (socket.use != Use::foreign) --counts_[static_cast<std::size_t>(socket.use)];
  if (use != Use::foreign) ++counts_[static_cast<std::size_t>(use)];
  if (use == Use::idle) socket.idle_number = ++last_idle_number_;
  socket.use = use;
}

}  // namespace agentcore::net
