#include "server.hpp"

#include "connection.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace standin {
namespace {

constexpr int max_accepts = 256;  // in a row
constexpr std::size_t max_fires =
    16;  // timers between two checks of the sockets: limits the delay until an end is detected

std::error_code last_error() {
  return {errno, std::generic_category()};
}

}  // namespace

struct Server::Loop {
  explicit Loop(Options options) : shared(std::move(options)) {}
  ~Loop();

  std::error_code open();
  std::error_code listen();
  void run();
  bool handle(const epoll_event& event, std::int64_t now);
  void accept_clients();
  void admit(int socket);
  void drop(Connection& connection);
  void bury(std::size_t budget);
  void listen_again(bool on);

  Shared shared;
  int listener = -1;
  int wake = -1;
  std::uint16_t port = 0;
  bool deaf = false;  // out of descriptors: no accept until one is free again
  std::unordered_map<int, std::unique_ptr<Connection>> connections;
  std::vector<std::unique_ptr<Connection>> dropped;  // over, but their sockets are not closed yet
};

Server::Loop::~Loop() {
  dropped.clear();
  connections.clear();
  for (const int fd : {listener, wake, shared.epoll}) {
    if (fd >= 0) ::close(fd);
  }
}

std::error_code Server::Loop::open() {
  shared.epoll = epoll_create1(EPOLL_CLOEXEC);
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (shared.epoll < 0 || wake < 0) return last_error();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &wake;
  if (epoll_ctl(shared.epoll, EPOLL_CTL_ADD, wake, &event) != 0) return last_error();
  return listen();
}

std::error_code Server::Loop::listen() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(shared.options.port);
  if (inet_pton(AF_INET, shared.options.host.c_str(), &address.sin_addr) != 1) {
    return std::make_error_code(std::errc::invalid_argument);
  }
  listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener, generic, size) != 0 || ::listen(listener, 65535) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    return last_error();
  }
  port = ntohs(address.sin_port);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &listener;
  return epoll_ctl(shared.epoll, EPOLL_CTL_ADD, listener, &event) == 0 ? std::error_code{} : last_error();
}

// Checks the sockets, then fires a few timers, and so on: however many streams are due, at most a few writes
// delay the detection of a closed connection.
void Server::Loop::run() {
  std::array<epoll_event, 512> events;
  for (bool going = true; going;) {
    const int timeout = dropped.empty() ? shared.wheel.wait_ms(now_ns()) : 0;
    const int count = epoll_wait(shared.epoll, events.data(), static_cast<int>(events.size()), timeout);
    const std::int64_t now = now_ns();
    for (int i = 0; i < count; ++i) going = handle(events[static_cast<std::size_t>(i)], now) && going;
    shared.wheel.advance(now, max_fires, [&](void* owner) {
      auto& connection = *static_cast<Connection*>(owner);
      if (!connection.on_timer(now_ns())) drop(connection);
    });
    bury(count > 0 ? 1 : max_fires);
  }
  connections.clear();
  dropped.clear();
}

// False when the loop shall end.
bool Server::Loop::handle(const epoll_event& event, std::int64_t now) {
  if (event.data.ptr == &wake) return false;
  if (event.data.ptr == &listener) {
    accept_clients();
    return true;
  }
  auto& connection = *static_cast<Connection*>(event.data.ptr);
  if (!connection.on_events(event.events, now)) drop(connection);
  return true;
}

void Server::Loop::accept_clients() {
  for (int accepted = 0; accepted < max_accepts; ++accepted) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      admit(socket);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return listen_again(false);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Server::Loop::admit(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connections.emplace(socket, std::make_unique<Connection>(shared, socket));
}

// Closing a socket costs ten times as much as detecting its end. When thousands end at once, closing is
// delayed until the last end has been detected.
void Server::Loop::drop(Connection& connection) {
  connection.forget();
  const auto found = connections.find(connection.socket());
  dropped.push_back(std::move(found->second));
  connections.erase(found);
}

void Server::Loop::bury(std::size_t budget) {
  if (dropped.empty()) return;
  for (; budget > 0 && !dropped.empty(); --budget) dropped.pop_back();
  if (deaf) listen_again(true);
}

void Server::Loop::listen_again(bool on) {
  deaf = !on;
  epoll_event event{};
  event.events = on ? std::uint32_t{EPOLLIN} : 0U;
  event.data.ptr = &listener;
  epoll_ctl(shared.epoll, EPOLL_CTL_MOD, listener, &event);
}

Server::Server() = default;
Server::~Server() = default;

std::error_code Server::start(Options options) {
  loop_ = std::make_unique<Loop>(std::move(options));
  return loop_->open();
}

void Server::run() {
  loop_->run();
}

void Server::stop() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(loop_->wake, &one, sizeof one);
}

std::uint16_t Server::port() const noexcept {
  return loop_->port;
}

std::string Server::base_url() const {
  return fmt::format("http://{}:{}/v1", loop_->shared.options.host, loop_->port);
}

std::vector<Record> Server::records(std::uint64_t since) const {
  return loop_->shared.log.records(since);
}

Stats Server::stats() const {
  return loop_->shared.log.stats();
}

void Server::clear_records() {
  loop_->shared.log.clear();
}

bool Server::wait_until(const std::function<bool(const Stats&)>& done, int timeout_ms) const {
  return loop_->shared.log.wait_until(done, timeout_ms);
}

}  // namespace standin
