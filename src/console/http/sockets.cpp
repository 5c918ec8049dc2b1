#include "console/http/sockets.hpp"

#include "loop/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::detail::console {
namespace {

constexpr int backlog = 1024;
// For a viewer that reads nothing. The system would give megabytes to each.
constexpr int send_buffer_bytes = 64 << 10;

// The addresses, which need no name resolution.
Result<std::shared_ptr<addrinfo>> parse_address(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return Error{Errc::invalid_config,
                 "the address of the console is not a number such as 127.0.0.1 or ::1: " + address};
  return std::shared_ptr<addrinfo>(found, ::freeaddrinfo);
}

class SystemSockets final : public Sockets {
 public:
  Result<int> listen(const std::string& address, std::uint16_t port) override {
    const auto parsed = parse_address(address, port);
    if (!parsed) return parsed.error();
    const int socket = ::socket((*parsed)->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (socket >= 0) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket >= 0 && ::bind(socket, (*parsed)->ai_addr, (*parsed)->ai_addrlen) == 0 &&
        ::listen(socket, backlog) == 0)
      return socket;
    const int error = errno;
    if (socket >= 0) ::close(socket);
    return Error{Errc::network_error, "the console cannot listen at " + address + ", port " +
                                          std::to_string(port) + ": " +
                                          std::generic_category().message(error)};
  }

  std::uint16_t port_of(int socket) override {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
    if (name.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
  }

  int accept(int listener) override {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return socket;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    return socket;
  }

  std::string peer_of(int socket) override {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    char host[64] = {};
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, host, sizeof host, nullptr, 0,
                      NI_NUMERICHOST) != 0)
      return "unknown";
    return host;
  }

  ssize_t recv(int socket, char* into, std::size_t size) override {
    return ::recv(socket, into, size, MSG_DONTWAIT);
  }
  ssize_t send(int socket, const char* bytes, std::size_t size) override {
    return ::send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void shutdown(int socket) override { ::shutdown(socket, SHUT_WR); }
  void close(int socket) override { ::close(socket); }

  int moved_down(int socket) override {
    const int moved = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (moved < 0) return socket;
    ::close(std::max(moved, socket));
    return std::min(moved, socket);
  }

  std::size_t descriptor_limit() override {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : 0;
  }
};

// What the servers of an engine use.
struct ChosenSockets {
  explicit ChosenSockets(std::shared_ptr<Sockets> the_sockets) noexcept : sockets(std::move(the_sockets)) {}
  const std::shared_ptr<Sockets> sockets;
};

}  // namespace

std::shared_ptr<Sockets> Sockets::of(loop::Engine& engine) {
  return engine.service<ChosenSockets>([] { return std::make_shared<ChosenSockets>(of_system()); })->sockets;
}

std::shared_ptr<Sockets> Sockets::of_system() {
  return std::make_shared<SystemSockets>();
}

void Sockets::install(loop::Engine& engine, std::shared_ptr<Sockets> sockets) {
  engine.service<ChosenSockets>([&] { return std::make_shared<ChosenSockets>(std::move(sockets)); });
}

}  // namespace agentcore::detail::console
