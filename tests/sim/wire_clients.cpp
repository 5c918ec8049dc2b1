#include "sim/wire_clients.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::sim {
namespace {

constexpr std::size_t bytes_per_read = 64 << 10;
// The system takes microseconds; a run whose bytes do not arrive at all fails.
constexpr std::chrono::seconds most_to_wait(20);

// Arrived, and not read.
std::size_t unread(int descriptor) {
  int count = 0;
  return ::ioctl(descriptor, FIONREAD, &count) == 0 ? static_cast<std::size_t>(count) : 0;
}

// Connections that accept() would return.
std::size_t pending(int listener) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_unacked : 0;
}

bool has_any(int descriptor, short events) {
  pollfd watched{descriptor, events, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

// A client's end.
class WireClients::Socket final : public ClientSocket {
 public:
  Socket(WireClients& clients, std::shared_ptr<WireConnection> connection)
      : clients_(clients), connection_(std::move(connection)) {}

  void send(std::string_view bytes) override { clients_.send(*connection_, bytes); }
  std::string receive(std::size_t most) override { return clients_.receive(*connection_, most); }
  bool has_bytes() override { return connection_->read_by_client < connection_->sent_by_server; }
  bool has_ended() override { return connection_->server_ended; }
  bool is_gone() override { return connection_->server_gone; }
  bool is_read() override { return connection_->read_by_server == connection_->sent_by_client; }
  bool is_full() override { return connection_->server_waits; }
  void leave(bool in_order) override { clients_.leave(*connection_, in_order); }

 private:
  WireClients& clients_;
  const std::shared_ptr<WireConnection> connection_;
};

template <typename Holds>
void WireClients::wait(int descriptor, short events, const char* what, Holds&& holds) {
  const auto until = std::chrono::steady_clock::now() + most_to_wait;
  while (!holds()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd watched{descriptor, events, 0};
    if (left.count() <= 0) return verdict_.fail("wire", std::string("the system does not bring ") + what);
    ::poll(&watched, 1, static_cast<int>(left.count()));
  }
}

void WireClients::wait_for_input(const WireConnection& connection) {
  const int server = connection.server;
  if (server < 0) return;
  wait(server, POLLIN, "bytes to the console",
       [&] { return connection.read_by_server + unread(server) >= connection.sent_by_client; });
  if (connection.client_left)
    wait(server, POLLRDHUP, "the end of a client", [&] { return has_any(server, POLLRDHUP); });
}

std::shared_ptr<ClientSocket> WireClients::connect_client() {
  if (listener_ < 0) return nullptr;
  const auto is_over = [](const auto& one) { return one->server_gone && one.use_count() == 1; };
  for (const auto& one : connections_)
    if (is_over(one)) ::close(one->client);
  std::erase_if(connections_, is_over);
  const auto connection = std::make_shared<WireConnection>();
  const int client = connection->client = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int kept_bytes = keeps_little_ ? 32 << 10 : 4 << 20;
  ::setsockopt(client, SOL_SOCKET, SO_RCVBUF, &kept_bytes, sizeof kept_bytes);
  if (::connect(client, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0 &&
      errno != EINPROGRESS)
    verdict_.fail("wire", "a client cannot connect to the port of the console");
  backlog_.push_back(connection);
  connections_.push_back(connection);
  wait(listener_, POLLIN, "a connection", [this] { return pending(listener_) >= backlog_.size(); });
  return std::make_shared<Socket>(*this, connection);
}

void WireClients::send(WireConnection& connection, std::string_view bytes) {
  if (connection.server_gone || connection.client < 0) return;
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection.client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return verdict_.fail("wire", "the system does not take what a client sends");
    connection.sent_by_client += static_cast<std::size_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  wait_for_input(connection);
}

std::string WireClients::receive(WireConnection& connection, std::size_t most) {
  std::string bytes;
  const std::size_t wanted = std::min(most, connection.sent_by_server - connection.read_by_client);
  while (bytes.size() < wanted) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(wanted, before + bytes_per_read));
    ssize_t count = -1;
    wait(connection.client, POLLIN, "bytes to a client", [&] {
      count = ::recv(connection.client, bytes.data() + before, bytes.size() - before, 0);
      return count >= 0 || errno != EAGAIN;
    });
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) connection.sent_by_server = connection.read_by_client + bytes.size();  // the rest is lost
    if (count <= 0) break;
  }
  connection.read_by_client += bytes.size();
  if (connection.read_by_client == connection.sent_by_server) take_end(connection);
  return bytes;
}

// All that was sent is read: there is room again, and an end can be seen.
void WireClients::take_end(WireConnection& connection) {
  const int client = connection.client, server = connection.server;
  if (std::exchange(connection.server_waits, false) && server >= 0)
    wait(server, POLLOUT, "room for an answer", [&] { return has_any(server, POLLOUT); });
  if (!connection.server_ended || std::exchange(connection.client_ended, true)) return;
  wait(client, POLLIN, "the end of an answer", [&] {
    char byte = 0;
    return ::recv(client, &byte, 1, 0) >= 0 || errno != EAGAIN;
  });
}

void WireClients::leave(WireConnection& connection, bool in_order) {
  const int client = std::exchange(connection.client, -1);
  if (client < 0) return;
  const linger reset{.l_onoff = 1, .l_linger = 0};
  if (!in_order) ::setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  ::close(client);
  connection.client_left = true;
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
  wait_for_input(connection);
}

void WireClients::end_process() {
  for (const auto& one : connections_) {
    one->server_ended = one->server_gone = true;
    ::close(std::exchange(one->client, -1));
  }
  connections_.clear();
}

Result<int> WireClients::listen(const std::string& address, std::uint16_t) {
  auto listener = system_->listen(address, 0);
  if (!listener) return listener;
  listener_ = *listener;
  address_.sin_family = AF_INET;
  address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address_.sin_port = htons(system_->port_of(listener_));
  return listener;
}

int WireClients::accept(int listener) {
  const int server = system_->accept(listener);
  if (server < 0) return server;
  if (backlog_.empty()) {  // of another program
    system_->close(server);
    return errno = EAGAIN, -1;
  }
  const auto connection = std::move(backlog_.front());
  backlog_.pop_front();
  connection->server = server;
  accepted_[server] = connection;
  wait_for_input(*connection);
  return server;
}

ssize_t WireClients::recv(int socket, char* into, std::size_t size) {
  if (most_per_call_ != 0) size = std::min(size, most_per_call_);
  const ssize_t count = system_->recv(socket, into, size);
  if (count > 0) accepted_.at(socket)->read_by_server += static_cast<std::size_t>(count);
  return count;
}

ssize_t WireClients::send(int socket, const char* bytes, std::size_t size) {
  if (most_per_call_ != 0) size = std::min(size, most_per_call_);
  const ssize_t count = system_->send(socket, bytes, size);
  const int error = errno;
  WireConnection& connection = *accepted_.at(socket);
  connection.server_waits = count < static_cast<ssize_t>(size);
  if (count > 0) connection.sent_by_server += static_cast<std::size_t>(count);
  // What is sent to a client that is gone resets the connection.
  if (count > 0 && connection.client_left) wait(socket, 0, "a reset", [&] { return has_any(socket, 0); });
  errno = error;
  return count;
}

void WireClients::shutdown(int socket) {
  system_->shutdown(socket);
  accepted_.at(socket)->server_ended = true;
}

void WireClients::close(int socket) {
  system_->close(socket);
  if (socket == listener_) {
    listener_ = -1;
    for (const auto& waiting : std::exchange(backlog_, {}))
      waiting->server_ended = waiting->server_gone = true;
    return;
  }
  const auto found = accepted_.find(socket);
  if (found == accepted_.end()) return;
  found->second->server_ended = found->second->server_gone = true;
  found->second->server = -1;
  accepted_.erase(found);
}

int WireClients::moved_down(int socket) {
  const int moved = system_->moved_down(socket);
  if (moved == socket) return socket;
  auto connection = accepted_.extract(socket);
  connection.key() = moved;
  connection.mapped()->server = moved;
  accepted_.insert(std::move(connection));
  return moved;
}

}  // namespace agentcore::sim
