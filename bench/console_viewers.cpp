// Many viewers of a console, in a process of their own.
//
//   console_viewers PORT VIEWERS SILENT AGENTS
//
// Opens VIEWERS streams of events of the console at PORT, each with the answer of one of the agents "agent-0"
// to "agent-AGENTS". The first SILENT of them never read what they get. Prints a line when all are open. When
// its standard input ends, it prints the p99 of the time from an event until a viewer had it, in
// milliseconds, and how many of the viewers that read were closed by the console, and ends.
#include "harness.hpp"
#include "stream_record.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace {

constexpr std::size_t max_opening = 32;  // asked for, and not open yet

struct Viewer {
  int socket = -1;
  bool is_open = false;
  bool is_silent = false;
};

double milliseconds_since_1970() {
  using namespace std::chrono;
  return duration<double, std::milli>(system_clock::now().time_since_epoch()).count();
}

class Viewers {
 public:
  Viewers(std::string port, std::size_t silent, std::size_t count, std::size_t agents)
      : port_(std::move(port)), silent_(silent), agents_(agents), viewers_(count) {
    watch(STDIN_FILENO, nullptr);
  }

  // Returns when the standard input has ended.
  void run() {
    std::vector<epoll_event> events(1024);
    for (;;) {
      while (asked_ < viewers_.size() && asked_ - open_ < max_opening) ask(viewers_[asked_]);
      const int count = epoll_wait(poller_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        auto* const viewer = static_cast<Viewer*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (!viewer) return;
        read(*viewer);
      }
    }
  }

  void report() { std::printf("%.3f %zu\n", bench::quantile(delays_, 0.99), closed_); }

 private:
  void watch(int descriptor, Viewer* viewer) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = viewer;
    epoll_ctl(poller_, EPOLL_CTL_ADD, descriptor, &event);
  }

  void ask(Viewer& viewer) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_)));
    viewer.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string request = "GET /api/events?text=agent-" + std::to_string(asked_ % agents_) +
                                " HTTP/1.1\r\nHost: 127.0.0.1:" + port_ + "\r\n\r\n";
    if (connect(viewer.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        send(viewer.socket, request.data(), request.size(), MSG_NOSIGNAL) < 0)
      std::perror("a viewer"), std::exit(1);
    viewer.is_silent = asked_++ < silent_;
    watch(viewer.socket, &viewer);
  }

  void read(Viewer& viewer) {
    const ssize_t length = recv(viewer.socket, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (length <= 0) {
      ++closed_;
      close(viewer.socket);
      return;
    }
    if (!viewer.is_open)
      opened(viewer);
    else
      take({buffer_, static_cast<std::size_t>(length)});
  }

  void opened(Viewer& viewer) {
    viewer.is_open = true;
    if (viewer.is_silent) epoll_ctl(poller_, EPOLL_CTL_DEL, viewer.socket, nullptr);
    if (++open_ != viewers_.size()) return;
    std::printf("all are open\n");
    std::fflush(stdout);
  }

  // The first event of what was received has waited longest.
  void take(std::string_view events) {
    constexpr std::string_view name = "\"at\":";
    const std::size_t place = events.find(name);
    if (open_ != viewers_.size() || place == std::string_view::npos) return;
    double at = 0;
    if (std::from_chars(events.data() + place + name.size(), events.data() + events.size(), at).ec ==
        std::errc())
      delays_.push_back(milliseconds_since_1970() - at);
  }

  const std::string port_;
  const std::size_t silent_;
  const std::size_t agents_;
  const int poller_ = epoll_create1(EPOLL_CLOEXEC);
  std::vector<Viewer> viewers_;
  std::vector<double> delays_;  // milliseconds
  std::size_t asked_ = 0;
  std::size_t open_ = 0;
  std::size_t closed_ = 0;
  char buffer_[std::size_t{256} << 10];
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: console_viewers PORT VIEWERS SILENT AGENTS\n"), 2;
  const std::size_t count = std::strtoull(argv[2], nullptr, 10);
  bench::raise_descriptor_limit(count);
  static Viewers viewers(argv[1], std::strtoull(argv[3], nullptr, 10), count,
                         std::strtoull(argv[4], nullptr, 10));
  viewers.run();
  viewers.report();
}
