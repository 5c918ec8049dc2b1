#include "platform/wake_signal.hpp"

#ifdef _WIN32

#include "platform/windows/winsock.hpp"

#include <cerrno>

namespace agentcore::detail::platform {

namespace {

// A datagram socket of the loopback that receives what it sends, and nothing from others.
SOCKET open_echo() noexcept {
  const SOCKET opened =
      ::WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, WSA_FLAG_NO_HANDLE_INHERIT);
  if (opened == INVALID_SOCKET) return INVALID_SOCKET;
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  int size = sizeof own;
  u_long not_blocking = 1;
  if (::bind(opened, address, size) == 0 && ::getsockname(opened, address, &size) == 0 &&
      ::connect(opened, address, size) == 0 && ::ioctlsocket(opened, FIONBIO, &not_blocking) == 0)
    return opened;
  ::closesocket(opened);
  return INVALID_SOCKET;
}

}  // namespace

// Windows counts the users of its sockets: each open signal is one.
bool WakeSignal::open() noexcept {
  WSADATA ignored{};
  if (::WSAStartup(MAKEWORD(2, 2), &ignored) == 0) {
    const SOCKET opened = open_echo();
    if (opened != INVALID_SOCKET) {
      read_end_ = write_end_ = to_descriptor(opened);
      return true;
    }
    ::WSACleanup();
  }
  errno = EMFILE;  // a lack: it is tried again
  return false;
}

void WakeSignal::close() noexcept {
  if (!is_open()) return;
  ::closesocket(to_socket(read_end_));
  ::WSACleanup();
  read_end_ = write_end_ = -1;
}

void WakeSignal::set() noexcept {
  ::send(to_socket(write_end_), "", 1, 0);  // fails if much was sent that is not read: it is readable then
}

void WakeSignal::clear() noexcept {
  char sink[8];
  while (::recv(to_socket(read_end_), sink, sizeof sink, 0) > 0) {
  }
}

}  // namespace agentcore::detail::platform

#endif
