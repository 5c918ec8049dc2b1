#include "sim/network.hpp"

#include "support/observe/host_code.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace agentcore::sim {

using detail::platform::has;
using detail::platform::IoEvents;
using detail::platform::Ready;

// The client's end of a SimSocket.
class SimNetwork::Client final : public ClientSocket {
 public:
  Client(SimNetwork& network, std::shared_ptr<SimSocket> socket)
      : network_(network), socket_(std::move(socket)) {}

  void send(std::string_view bytes) override {
    if (!socket_->server_gone) socket_->to_server += bytes;
    network_.touch(socket_->descriptor);
  }
  std::string receive(std::size_t most) override {
    std::string bytes = socket_->to_client.substr(0, most);
    socket_->to_client.erase(0, most);
    network_.touch(socket_->descriptor);
    return bytes;
  }
  bool has_bytes() override { return !socket_->to_client.empty(); }
  bool has_ended() override { return socket_->server_ended; }
  bool is_gone() override { return socket_->server_gone; }
  bool is_read() override { return socket_->to_server.empty(); }
  bool is_broken() override { return socket_->is_broken; }
  bool is_full() override { return socket_->to_client.size() >= network_.window; }
  // A socket that is closed with bytes unread resets its connection.
  void leave(bool in_order) override {
    socket_->client_ended = in_order && socket_->to_client.empty();
    socket_->is_reset = !socket_->client_ended;
    socket_->client_gone = true;
    network_.touch(socket_->descriptor);
  }

 private:
  SimNetwork& network_;
  const std::shared_ptr<SimSocket> socket_;
};

std::shared_ptr<ClientSocket> SimNetwork::connect_client() {
  if (!listener_) return nullptr;
  const auto& socket = backlog_.emplace_back(std::make_shared<SimSocket>());
  touch(*listener_);
  return std::make_shared<Client>(*this, socket);
}

void SimNetwork::touch(int descriptor) {
  if (poller_ != nullptr && descriptor >= 0) poller_->touch(descriptor);
}

void SimNetwork::end_process() {
  for (const auto& waiting : backlog_) waiting->server_ended = waiting->server_gone = true;
  for (const auto& [descriptor, socket] : sockets_) {
    socket->server_ended = socket->server_gone = true;
    socket->descriptor = -1;
  }
  backlog_.clear();
  sockets_.clear();
  listener_.reset();
}

bool SimNetwork::is_ready() const {
  return poller_ != nullptr && poller_->is_ready();
}

bool SimNetwork::is_watched(int descriptor) const {
  return poller_ != nullptr && poller_->watches(descriptor);
}

int SimNetwork::smallest_free() const {
  int free = 10;
  while (listener_ == free || sockets_.contains(free) || (others_ != nullptr && others_->has(free))) ++free;
  return free;
}

IoEvents SimNetwork::events_of(int descriptor) const {
  if (listener_ == descriptor) return backlog_.empty() ? IoEvents::none : IoEvents::readable;
  if (others_ != nullptr && others_->has(descriptor)) return others_->events_of(descriptor);
  const auto found = sockets_.find(descriptor);
  if (found == sockets_.end()) return IoEvents::none;
  const SimSocket& socket = *found->second;
  if (socket.is_reset) return IoEvents::readable | IoEvents::writable | IoEvents::error;
  const bool readable = !socket.to_server.empty() || socket.client_ended;
  const bool writable = socket.to_client.size() < window;
  return (readable ? IoEvents::readable : IoEvents::none) | (writable ? IoEvents::writable : IoEvents::none);
}

Result<int> SimNetwork::listen(const std::string&, std::uint16_t) {
  const test::HostCode host;
  if (faults.of_listen() != 0) return Error{Errc::network_error, "the simulated port is in use"};
  listener_ = smallest_free();
  return *listener_;
}

int SimNetwork::accept(int) {
  const test::HostCode host;
  if (backlog_.empty()) return errno = EAGAIN, -1;
  if (const int error = faults.of_accept()) {
    if (error == ECONNABORTED) {
      SimSocket& lost = *backlog_.front();
      lost.is_broken = lost.server_ended = lost.server_gone = true;
      backlog_.pop_front();
    }
    return errno = error, -1;
  }
  const int descriptor = smallest_free();
  backlog_.front()->descriptor = descriptor;
  sockets_[descriptor] = std::move(backlog_.front());
  backlog_.pop_front();
  return descriptor;
}

int SimNetwork::failure_of(SimSocket& socket, int error) {
  if (error != 0 && error != EINTR) socket.is_broken = true;
  return error;
}

ssize_t SimNetwork::recv(int descriptor, char* into, std::size_t size) {
  const test::HostCode host;
  SimSocket& socket = *sockets_.at(descriptor);
  if (const int error = failure_of(socket, faults.of_read())) return errno = error, -1;
  if (socket.to_server.empty() && socket.client_ended) return 0;
  if (socket.to_server.empty()) return errno = socket.is_reset ? ECONNRESET : EAGAIN, -1;
  std::size_t count = std::min(size, socket.to_server.size());
  if (most_per_call_ != 0) count = std::min(count, most_per_call_);
  socket.to_server.copy(into, count);
  socket.to_server.erase(0, count);
  return static_cast<ssize_t>(count);
}

ssize_t SimNetwork::send(int descriptor, const char* bytes, std::size_t size) {
  const test::HostCode host;
  SimSocket& socket = *sockets_.at(descriptor);
  if (const int error = failure_of(socket, faults.of_write())) return errno = error, -1;
  if (socket.is_reset) return errno = EPIPE, -1;
  if (socket.client_gone) {
    socket.is_reset = true;
    touch(descriptor);
    return static_cast<ssize_t>(most_per_call_ == 0 ? size : std::min(size, most_per_call_));
  }
  if (socket.to_client.size() >= window) return errno = EAGAIN, -1;
  std::size_t count = std::min(size, window - socket.to_client.size());
  if (most_per_call_ != 0) count = std::min(count, most_per_call_);
  socket.to_client.append(bytes, count);
  return static_cast<ssize_t>(count);
}

int SimNetwork::watch_failure(int descriptor) {
  const auto found = sockets_.find(descriptor);
  if (listener_ != descriptor && found == sockets_.end()) return 0;
  const int error = faults.of_watch();
  return found == sockets_.end() ? error : failure_of(*found->second, error);
}

void SimNetwork::shutdown(int descriptor) {
  sockets_.at(descriptor)->server_ended = true;
}

void SimNetwork::close(int descriptor) {
  if (listener_ == descriptor) {
    for (const auto& waiting : std::exchange(backlog_, {}))
      waiting->server_ended = waiting->server_gone = true;
    listener_.reset();
    return;
  }
  SimSocket& socket = *sockets_.at(descriptor);
  socket.server_ended = socket.server_gone = true;
  socket.descriptor = -1;
  sockets_.erase(descriptor);
}

SimPoller::SimPoller(std::shared_ptr<SimNetwork> network, ReadyOrder order)
    : network_(std::move(network)), order_(order) {
  network_->poller_ = this;
}

SimPoller::~SimPoller() {
  network_->poller_ = nullptr;
}

bool SimPoller::update(int descriptor, IoEvents from, IoEvents to, std::uint32_t serial) {
  const test::HostCode host;
  if (to == IoEvents::none) {
    watched_.erase(descriptor);
    std::erase(list_, descriptor);
    return true;
  }
  OtherDescriptors* const others = network_->others_;
  const bool is_other = from == IoEvents::none && others != nullptr && others->has(descriptor);
  if (is_other && others->refuses_watch(descriptor)) return errno = ENOSPC, false;
  if (const int error = network_->watch_failure(descriptor)) return errno = error, false;
  watched_[descriptor] = {to, serial};
  touch(descriptor);
  return true;
}

IoEvents SimPoller::found(int descriptor, const Watched& watched) const {
  return network_->events_of(descriptor) & (watched.events | IoEvents::error);
}

// As the kernel does when something happens to a socket: once it is in the list, its place stays.
void SimPoller::touch(int descriptor) {
  if (order_ != ReadyOrder::by_time) return;
  const auto one = watched_.find(descriptor);
  if (one == watched_.end() || found(descriptor, one->second) == IoEvents::none) return;
  if (std::ranges::find(list_, descriptor) == list_.end()) list_.push_back(descriptor);
}

// What is found is put behind all others, to be looked at again.
void SimPoller::wait_by_time(std::vector<Ready>& ready) {
  for (const int descriptor : std::exchange(list_, {})) {
    const Watched& watched = watched_.at(descriptor);
    const IoEvents events = found(descriptor, watched);
    if (events == IoEvents::none) continue;
    ready.push_back({descriptor, watched.serial, events});
    list_.push_back(descriptor);
  }
}

bool SimPoller::wait(std::optional<Duration>, std::vector<Ready>& ready) {
  if (order_ == ReadyOrder::by_time) return wait_by_time(ready), false;
  const std::size_t before = ready.size();
  for (const auto& [descriptor, watched] : watched_) {
    const IoEvents events = found(descriptor, watched);
    if (events != IoEvents::none) ready.push_back({descriptor, watched.serial, events});
  }
  if (order_ == ReadyOrder::by_number || ready.size() <= before + 1) return false;
  const auto first = ready.begin() + static_cast<std::ptrdiff_t>(before);
  auto next = std::find_if(first, ready.end(), [this](const Ready& one) { return one.descriptor > last_; });
  if (next == ready.end()) next = first;
  last_ = next->descriptor;
  *first = *next;
  ready.resize(before + 1);
  return true;
}

// Whoever asks the kernel takes those from the front of the list that are not ready any more.
bool SimPoller::is_ready() {
  if (order_ != ReadyOrder::by_time)
    return std::ranges::any_of(
        watched_, [this](const auto& one) { return found(one.first, one.second) != IoEvents::none; });
  while (!list_.empty() && found(list_.front(), watched_.at(list_.front())) == IoEvents::none)
    list_.pop_front();
  return !list_.empty();
}

}  // namespace agentcore::sim
