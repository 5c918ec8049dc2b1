#include "net/socket_twins.hpp"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace agentcore::detail::net {

SocketTwins::~SocketTwins() {
  for (const Pair& pair : pairs_)
    if (pair.twin >= 0) ::close(pair.twin);
}

bool SocketTwins::add(int socket) {
  const int twin = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (twin < 0) return false;
  at(twin).socket = socket;
  at(socket).twin = twin;
  return true;
}

void SocketTwins::remove(int socket) {
  if (!has(socket)) return;
  const int twin = std::exchange(at(socket).twin, -1);
  at(twin).socket = -1;
  ::close(twin);
}

// A twin keeps its socket's inode, so no later socket can have the same number. The number of a closed socket
// may be that of a file of another thread by now, which fstat() would be a race with for ThreadSanitizer.
bool SocketTwins::is_closed(int socket) const noexcept {
  struct stat own {};
  struct stat other {};
  if (!has(socket)) return false;
  const auto look_at = [](int descriptor, struct stat& found) {
    return ::fstatat(descriptor, "", &found, AT_EMPTY_PATH) == 0;
  };
  if (!look_at(socket, own) || !look_at(twin_of(socket), other)) return true;
  return own.st_dev != other.st_dev || own.st_ino != other.st_ino;
}

int SocketTwins::twin_of(int socket) const noexcept {
  const int twin = get(socket).twin;
  return twin >= 0 ? twin : socket;
}

int SocketTwins::socket_of(int descriptor) const noexcept {
  const int socket = get(descriptor).socket;
  return socket >= 0 ? socket : descriptor;
}

SocketTwins::Pair& SocketTwins::at(int descriptor) {
  const auto place = static_cast<std::size_t>(descriptor);
  if (place >= pairs_.size()) pairs_.resize(place + 1);
  return pairs_[place];
}

SocketTwins::Pair SocketTwins::get(int descriptor) const noexcept {
  const auto place = static_cast<std::size_t>(descriptor);
  return place < pairs_.size() ? pairs_[place] : Pair{};
}

}  // namespace agentcore::detail::net
