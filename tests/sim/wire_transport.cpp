#include "sim/wire_transport.hpp"

#include "loop/engine.hpp"
#include "net/curl_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::sim {
namespace {

constexpr std::string_view id_header = "x-sim-transfer: ";

std::string path_in(std::string_view url) {
  const auto host = url.find("://");
  if (host != url.npos) url.remove_prefix(host + 3);
  return std::string(url.substr(std::min(url.find('/'), url.size())));
}

std::string head_of(const detail::net::HttpHead& head) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " Said\r\n";
  if (!head.content_type.empty()) text += "Content-Type: " + head.content_type + "\r\n";
  for (const auto& [name, value] : head.fields) text.append(name).append(": ").append(value).append("\r\n");
  return text + "Transfer-Encoding: chunked\r\n\r\n";
}

std::string chunk_of(const std::string& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string size;
  for (std::size_t left = bytes.size(); left != 0; left /= 16) size.insert(size.begin(), digits[left % 16]);
  return size + "\r\n" + bytes + "\r\n";
}

// The value of a field in the head of a request; the field has its colon and blank.
std::string field_of(std::string_view head, std::string_view name) {
  const auto at = head.find(name);
  if (at == head.npos) return {};
  const auto begin = at + name.size();
  return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
}

}  // namespace

// What libcurl calls for a transfer.
class WireTransport::Relay final : public detail::net::HttpHandler {
 public:
  Relay(WireTransport& wire, std::uint64_t id) : wire_(wire), id_(id) {}

  void on_head(const detail::net::HttpHead& head) override {
    SimTransfer& transfer = *wire_.open_.at(id_);
    wire_.flows_[id_].head_read = true;
    transfer.status = head.status;
    transfer.handler->on_head(head);
  }
  bool on_body(std::string_view bytes) override {
    wire_.flows_[id_].read += bytes.size();
    return wire_.open_.at(id_)->handler->on_body(bytes);
  }
  void on_end(detail::net::HttpEnd how) override { wire_.end(id_, std::move(how)); }

 private:
  WireTransport& wire_;
  const std::uint64_t id_;
};

std::shared_ptr<WireTransport> WireTransport::install(detail::loop::Engine& engine) {
  auto transport = std::make_shared<WireTransport>(engine);
  Transport::install(engine, transport);
  return transport;
}

WireTransport::WireTransport(detail::loop::Engine& engine) : engine_(engine) {
  static_cast<void>(detail::net::CurlTransport::of(engine));  // a source of the loop from now on
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 1'000) != 0 ||
      ::getsockname(listener_, generic, &size) != 0)
    throw std::runtime_error("the server of the models cannot listen on 127.0.0.1");
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

WireTransport::~WireTransport() {
  for (const Connection& connection : connections_)
    if (connection.descriptor >= 0) ::close(connection.descriptor);
  ::close(listener_);
}

std::shared_ptr<detail::net::CallHandle> WireTransport::make_handle() {
  return detail::net::CurlTransport::of(engine_)->make_handle();
}

std::shared_ptr<const void> WireTransport::hold() {
  return detail::net::CurlTransport::of(engine_)->hold();
}

void WireTransport::start(detail::net::HttpRequest request, std::shared_ptr<detail::net::CallHandle> handle,
                          std::unique_ptr<detail::net::HttpHandler> handler) {
  if (engine_.closed()) return;
  const std::uint64_t id = ++last_id_;
  auto& transfer = open_[id];
  transfer = std::make_unique<SimTransfer>(engine_, id, request, handle, std::move(handler), [] {});
  flows_[id] = {};
  request.url = url_ + path_in(request.url);
  request.headers.push_back(std::string(id_header) + std::to_string(id));
  request.ca_file.clear();
  request.proxy = "none";
  detail::net::CurlTransport::of(engine_)->start(std::move(request), std::move(handle),
                                                 std::make_unique<Relay>(*this, id));
  if (on_start) on_start(*transfer);
}

void WireTransport::end(std::uint64_t id, detail::net::HttpEnd how) {
  const auto transfer = std::move(open_.extract(id).mapped());
  flows_.erase(id);
  if (on_end) on_end(*transfer, how);
  transfer->handler->on_end(std::move(how));
}

WireTransport::Connection* WireTransport::connection_of(std::uint64_t transfer) {
  const auto found = std::ranges::find(connections_, transfer, &Connection::transfer);
  return found == connections_.end() ? nullptr : &*found;
}

void WireTransport::arrive(SimTransfer& transfer, Arrival arrival) {
  Connection* const connection = connection_of(transfer.id);
  if (connection == nullptr) return;  // the client has closed it
  Flow& flow = flows_[transfer.id];
  switch (arrival.what) {
    case Arrival::What::connection:  // the system has made it
      return;
    case Arrival::What::head:
      flow.head_sent = true;
      connection->unsent += head_of(arrival.head);
      break;
    case Arrival::What::bytes:
      flow.sent += arrival.bytes.size();
      connection->unsent += chunk_of(arrival.bytes);
      break;
    case Arrival::What::end:
      flow.end_sent = true;
      flow.breaks = connection->ends = arrival.end.code != Errc::none;
      if (!flow.breaks) connection->unsent += "0\r\n\r\n";
      break;
  }
  write(*connection);
}

bool WireTransport::is_settled() const {
  return std::ranges::all_of(open_, [this](const auto& entry) {
    const Flow& flow = flows_.at(entry.first);
    return !entry.second->handle->is_cut() && entry.second->launched && !flow.end_sent &&
           flow.read == flow.sent && flow.head_read == flow.head_sent;
  });
}

bool WireTransport::serve() {
  bool any = accept();
  for (auto one = connections_.begin(); one != connections_.end();) {
    any = read(*one) || any;
    any = write(*one) || any;
    one = one->descriptor < 0 ? connections_.erase(one) : std::next(one);
  }
  return any;
}

bool WireTransport::accept() {
  bool any = false;
  for (;;) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return any;
    const int on = 1;
    static_cast<void>(::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
    connections_.emplace_back().descriptor = descriptor;
    any = true;
  }
}

bool WireTransport::read(Connection& connection) {
  bool any = false;
  char buffer[65'536];
  for (;;) {
    const ssize_t got = ::recv(connection.descriptor, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    any = true;
    if (got <= 0) {
      ::close(std::exchange(connection.descriptor, -1));
      return true;
    }
    connection.received.append(buffer, static_cast<std::size_t>(got));
  }
  return take_request(connection) || any;
}

bool WireTransport::take_request(Connection& connection) {
  const auto end_of_head = connection.received.find("\r\n\r\n");
  if (end_of_head == std::string::npos) return false;
  const std::string head = connection.received.substr(0, end_of_head + 2);
  std::string length = field_of(head, "Content-Length: ");
  const std::size_t size = end_of_head + 4 + std::strtoul(length.c_str(), nullptr, 10);
  if (connection.received.size() < size) return false;
  connection.received.erase(0, size);
  const std::uint64_t id = std::strtoull(field_of(head, id_header).c_str(), nullptr, 10);
  connection.transfer = id;
  const auto found = open_.find(id);
  if (found == open_.end() || found->second->handle->is_cut()) return true;
  SimTransfer& transfer = *found->second;
  // libcurl sends a request again if a connection that it has kept ends without an answer.
  if (flows_[id].breaks) connection.ends = true;
  if (std::exchange(transfer.launched, true)) return true;
  transfer.connected = true;
  if (on_launch) on_launch(transfer);
  return true;
}

bool WireTransport::write(Connection& connection) {
  bool any = false;
  while (connection.descriptor >= 0 && !connection.unsent.empty()) {
    const ssize_t sent =
        ::send(connection.descriptor, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return any;
    if (sent < 0) {
      ::close(std::exchange(connection.descriptor, -1));
      return true;
    }
    connection.unsent.erase(0, static_cast<std::size_t>(sent));
    any = true;
  }
  if (!connection.ends || connection.descriptor < 0) return any;
  ::close(std::exchange(connection.descriptor, -1));
  return true;
}

}  // namespace agentcore::sim
