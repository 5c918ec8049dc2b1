// The server of the streams: sends chat.completion.chunk events to many clients at a steady rate, and writes
// into shared memory when it detects that a client has closed its connection.
//
//   stream_server RECORD CHUNKS_PER_SECOND
//
// Prints its port, then serves until its standard input ends. It answers any POST whose body contains "stream
// N" with an endless event stream, and records its measurements under number N. The rate is that of all
// streams together, spread evenly. One thread only waits for the clients, so that it detects an end at once;
// another one sends.
#include "harness.hpp"
#include "stream_record.hpp"
#include "stream_text.hpp"

#include <cerrno>
#include <charconv>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace {

constexpr std::size_t no_place = static_cast<std::size_t>(-1);

struct Client {
  int socket = -1;
  std::string request;
  std::size_t stream = bench::StreamRecord::max_streams;
  std::size_t place = no_place;  // in the sender's list
};

// In chunked transfer coding.
std::string coded_event() {
  const std::string event = bench::chunk_event(" agents", "xK2vq9f");
  char size[16];
  const auto end = std::to_chars(size, size + sizeof size, event.size(), 16).ptr;
  return std::string(size, end) + "\r\n" + event + "\r\n";
}

// Sends chunks to all streams in turn.
class Sender {
 public:
  Sender(bench::StreamRecord& record, double rate) : record_(record), rate_(rate) {}

  void add(Client& client) {
    const std::lock_guard guard(mutex_);
    client.place = clients_.size();
    clients_.push_back(&client);
  }

  void remove(Client& client) {
    const std::lock_guard guard(mutex_);
    if (client.place == no_place) return;
    clients_[client.place] = clients_.back();
    clients_[client.place]->place = client.place;
    clients_.pop_back();
  }

  void run() {
    std::uint64_t last = bench::now();
    double due = 0;
    for (;;) {
      bench::pace_ms(1);
      const std::uint64_t now = bench::now();
      due += static_cast<double>(now - last) * rate_ / 1e9;
      last = now;
      const std::lock_guard guard(mutex_);
      if (due > static_cast<double>(clients_.size())) due = static_cast<double>(clients_.size());
      for (; due >= 1; due -= 1) send_next();
    }
  }

 private:
  void send_next() {
    const Client& client = *clients_[next_++ % clients_.size()];
    const ssize_t sent = send(client.socket, event_.data(), event_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ++(sent == static_cast<ssize_t>(event_.size()) ? record_.sent : record_.skipped);
  }

  bench::StreamRecord& record_;
  const double rate_;
  const std::string event_ = coded_event();
  std::mutex mutex_;
  std::vector<Client*> clients_;
  std::size_t next_ = 0;
};

class Server {
 public:
  Server(bench::StreamRecord& record, Sender& sender) : record_(record), sender_(sender) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, length) != 0 || listen(listener_, 4096) != 0 ||
        getsockname(listener_, generic, &length) != 0)
      std::perror("listen"), std::exit(1);
    std::printf("%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    watch(listener_, EPOLLIN, nullptr);
    watch(STDIN_FILENO, EPOLLIN, &stdin_mark_);
  }

  // Returns when the standard input has ended.
  void run() {
    std::vector<epoll_event> events(1024);
    for (;;) {
      const int count = epoll_wait(poller_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        auto* const client = static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (client == &stdin_mark_) return;
        if (!client)
          accept_all();
        else if (events[static_cast<std::size_t>(i)].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
          gone(client);
        else
          read(*client);
      }
    }
  }

 private:
  void watch(int descriptor, std::uint32_t what, Client* client) {
    epoll_event event{};
    event.events = what;
    event.data.ptr = client;
    epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event);
  }

  void accept_all() {
    for (;;) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket < 0) return;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      watch(socket, EPOLLIN | EPOLLRDHUP, new Client{.socket = socket, .request = {}});
    }
  }

  void gone(Client* client) {
    const std::uint64_t now = bench::now();
    if (client->stream < bench::StreamRecord::max_streams) record_.seen[client->stream] = now;
    sender_.remove(*client);
    close(client->socket);
    if (client->place != no_place) ++record_.closed;
    delete client;
  }

  void read(Client& client) {
    char buffer[8192];
    const ssize_t length = recv(client.socket, buffer, sizeof buffer, 0);
    if (length <= 0 || client.place != no_place) return;
    client.request.append(buffer, static_cast<std::size_t>(length));
    const std::size_t head = client.request.find("\r\n\r\n");
    if (head == std::string::npos) return;
    const std::size_t mark = client.request.find("\"stream ", head);
    if (mark == std::string::npos || client.request.find('"', mark + 1) == std::string::npos) return;
    client.stream = std::strtoull(client.request.c_str() + mark + 8, nullptr, 10);
    client.request = {};
    begin(client);
  }

  void begin(Client& client) {
    if (send(client.socket, first_.data(), first_.size(), MSG_NOSIGNAL) < 0) return;
    sender_.add(client);
    ++record_.sent;
    ++record_.opened;
  }

  bench::StreamRecord& record_;
  Sender& sender_;
  Client stdin_mark_;
  const std::string first_ =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
      "Transfer-Encoding: chunked\r\n\r\n" +
      coded_event();
  const int poller_ = epoll_create1(EPOLL_CLOEXEC);
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: stream_server RECORD CHUNKS_PER_SECOND\n"), 2;
  bench::raise_descriptor_limit(0);
  Sender sender(bench::map_record(argv[1], true), std::strtod(argv[2], nullptr));
  Server server(bench::map_record(argv[1], false), sender);
  std::thread([&sender] { sender.run(); }).detach();
  server.run();
  std::_Exit(0);
}
