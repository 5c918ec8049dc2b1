#include "support/wire/socket_server.hpp"

#include <agentcore/testing/request_validator.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <stdexcept>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::test {

namespace {

std::size_t content_length(std::string_view head) {
  constexpr std::string_view name = "\r\nContent-Length: ";
  const std::size_t found = head.find(name);
  std::size_t length = 0;
  if (found != std::string_view::npos)
    std::from_chars(head.data() + found + name.size(), head.data() + head.size(), length);
  return length;
}

}  // namespace

long Peer::read_some(char* buffer, std::size_t size) {
  const long count = tls_ != nullptr ? SSL_read(tls_, buffer, static_cast<int>(size))
                                     : static_cast<long>(::recv(descriptor_, buffer, size, 0));
  if (count <= 0 && !saw_close_) {
    saw_close_ = true;
    server_.note_close();
  }
  if (count > 0) server_.received_ += static_cast<std::size_t>(count);
  return count;
}

std::string Peer::read_request() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const std::size_t end = rest_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t whole = end + 4 + content_length(std::string_view(rest_).substr(0, end + 2));
      if (rest_.size() >= whole) {
        std::string request = rest_.substr(0, whole);
        rest_.erase(0, whole);
        server_.check(request, end + 4);
        ++server_.requests_;
        server_.changed();
        return request;
      }
    }
    const long count = read_some(buffer.data(), buffer.size());
    if (count <= 0) return {};
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::string Peer::read_piece() {
  std::array<char, 4096> buffer{};
  const long count = read_some(buffer.data(), buffer.size());
  if (count > 0) server_.changed();
  return {buffer.data(), static_cast<std::size_t>(std::max(count, 0L))};
}

bool Peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const long count = tls_ != nullptr
                           ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                           : static_cast<long>(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void Peer::wait_close() {
  std::array<char, 4096> buffer{};
  while (read_some(buffer.data(), buffer.size()) > 0) {
  }
}

bool Peer::wait_step() {
  std::unique_lock lock(server_.mutex_);
  server_.change_.wait(lock, [this] { return server_.steps_ > 0 || server_.stopping_; });
  if (server_.stopping_) return false;
  --server_.steps_;
  return true;
}

SocketServer::SocketServer(Script script, ssl_ctx_st* tls) : script_(std::move(script)), tls_(tls) {
  signal_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener_, 1024) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("no port to listen on");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

SocketServer::~SocketServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Connection& connection : connections_) ::shutdown(connection.descriptor, SHUT_RDWR);
  }
  change_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (Connection& connection : connections_) {
    connection.thread.join();
    ::close(connection.descriptor);
  }
  ::close(listener_);
  ::close(signal_);
}

std::string SocketServer::url(std::string_view scheme) const {
  return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_) + "/v1/x";
}

SocketServer::Time SocketServer::last_close() const {
  const std::lock_guard lock(mutex_);
  return last_close_;
}

bool SocketServer::wait(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  return change_.wait_for(lock, std::chrono::minutes(1), done);
}

void SocketServer::step() {
  const std::lock_guard lock(mutex_);
  ++steps_;
  change_.notify_all();
}

void SocketServer::accept_loop() {
  for (;;) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) {
        ::close(descriptor);
        return;
      }
      ++accepted_;  // before its script runs
      connections_.push_back({descriptor, {}});
      connections_.back().thread = std::thread([this, descriptor] { serve(descriptor); });
    }
    changed();
  }
}

// The descriptor itself is closed by the destructor only, so that its number is not reused meanwhile.
void SocketServer::serve(int descriptor) {
  ssl_st* tls = nullptr;
  if (tls_ != nullptr) {
    sigset_t
        pipe;  // OpenSSL writes with write(2); the client's thread is where a test may look for the signal
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    tls = SSL_new(tls_);
    SSL_set_fd(tls, descriptor);
  }
  {
    Peer peer(*this, descriptor, tls);
    if (tls == nullptr || SSL_accept(tls) == 1) script_(peer);
  }
  if (tls != nullptr) SSL_free(tls);
  ::shutdown(descriptor, SHUT_RDWR);
  ++served_;
  changed();
}

void SocketServer::changed() {
  { const std::lock_guard lock(mutex_); }
  change_.notify_all();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(signal_, &one, sizeof(one));
}

void SocketServer::check(const std::string& request, std::size_t body_at) {
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const std::string_view target = line.substr(0, line.rfind(' '));
  const std::string_view path = target.substr(target.find(' ') + 1);
  if (!path.ends_with("/chat/completions") && !path.ends_with("/responses") && !path.ends_with("/messages"))
    return;
  const std::vector<std::string> problems =
      agentcore::testing::validate_request("openai", std::string_view(request).substr(body_at), path);
  const std::lock_guard lock(mutex_);
  // The server may be that of any provider.
  for (const std::string& problem : problems)
    if (problem.find("the provider does not know this member") == problem.npos) refusals_.push_back(problem);
}

std::vector<std::string> SocketServer::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

void SocketServer::note_close() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    last_close_ = std::chrono::steady_clock::now();
    ++closed_;
  }
  changed();
}

}  // namespace agentcore::test
