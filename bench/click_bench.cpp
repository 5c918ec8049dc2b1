// From a click to the wire: a client of a host sends the request that ends an agent's model call, and the
// model server records when it detected the end.
//
//   click_bench PEER HOST... PORT RECORD STREAMS SECONDS CLICKS
//
// Starts the program HOST with its arguments and `PORT STREAMS`. It opens STREAMS streams to the model
// server, for the agents "agent-0" and on, and prints the port at which it serves `POST /api/agent/ID/abort`
// and `POST /api/agent/ID/send`. All hosts, ours and the peers, get the same requests on one connection that
// is kept open: an abort, and when the model server has detected it, a message, which opens the stream again.
#include "child.hpp"
#include "stream_figures.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

namespace {

constexpr std::size_t warm_up = 100;  // clicks that do not count: just-in-time compilers, caches

// One kept connection to a host.
class Caller {
 public:
  explicit Caller(std::string port) : port_(std::move(port)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::strtoul(port_.c_str(), nullptr, 10)));
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      std::perror("connect"), std::exit(1);
  }

  // Returns when the answer has come. Exits when it is not 200.
  void post(const std::string& path, const std::string& body) {
    const std::string request =
        "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + port_ +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body;
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) std::perror("send"), std::exit(1);
    read_answer();
  }

 private:
  void read_answer() {
    std::string answer;
    for (;;) {
      char bytes[4096];
      const ssize_t length = recv(socket_, bytes, sizeof bytes, 0);
      if (length <= 0) std::fprintf(stderr, "the host has closed the connection\n"), std::exit(1);
      answer.append(bytes, static_cast<std::size_t>(length));
      const std::size_t head = answer.find("\r\n\r\n");
      if (head != std::string::npos && answer.size() >= head + 4 + body_length(answer)) break;
    }
    if (answer.starts_with("HTTP/1.1 200")) return;
    std::fprintf(stderr, "the host answered:\n%s\n", answer.c_str());
    std::exit(1);
  }

  static std::size_t body_length(const std::string& answer) {
    const char* const name = strcasestr(answer.c_str(), "\r\ncontent-length:");
    if (!name) std::fprintf(stderr, "an answer without a length\n"), std::exit(1);
    return std::strtoull(name + 17, nullptr, 10);
  }

  const std::string port_;
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

class Clicks {
 public:
  Clicks(const bench::StreamPlan& plan, const bench::StreamRecord& record, const std::string& port)
      : plan_(plan), record_(record), order_(plan.shuffled()), caller_(port) {}

  void run() {
    std::vector<double> samples;
    for (std::size_t i = 0; i < warm_up + plan_.stops; ++i) {
      const double took = click(order_[i % order_.size()]);
      if (i >= warm_up) samples.push_back(took);
    }
    plan_.report("click_wire", ", median", bench::quantile(samples, 0.5), "us");
    plan_.report("click_wire", ", p99", bench::quantile(samples, 0.99), "us");
  }

 private:
  // In microseconds, from the request until the model server detected the end of the stream.
  double click(std::size_t stream) {
    const std::string agent = "/api/agent/agent-" + std::to_string(stream);
    const std::size_t opened = record_.opened;
    bench::pace_ms(3);
    const std::uint64_t called = bench::now();
    caller_.post(agent + "/abort", "{}");
    wait("a click", [&] { return record_.seen[stream] > called; });
    caller_.post(agent + "/send", R"({"text": "stream )" + std::to_string(stream) + "\"}");
    wait("opening again", [&] { return record_.opened > opened; });
    return static_cast<double>(record_.seen[stream] - called) / 1e3;
  }

  template <typename Done>
  static void wait(const char* what, Done done) {
    bench::drive_until(what, done, [] { bench::pace_ms(1); });
  }

  const bench::StreamPlan& plan_;
  const bench::StreamRecord& record_;
  const std::vector<std::size_t> order_;
  Caller caller_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr, "usage: click_bench PEER HOST... PORT RECORD STREAMS SECONDS CLICKS\n");
    return 2;
  }
  const auto plan = bench::StreamPlan::parse(6, argv + argc - 6, argv[1]);
  bench::raise_descriptor_limit(plan.streams);
  const bench::StreamRecord& record = bench::map_record(plan.record, false);
  std::vector<std::string> command(argv + 2, argv + argc - 5);
  command.insert(command.end(), {plan.port, plan.number()});
  bench::Child host(std::move(command));
  const std::string port = host.line();
  if (port.empty()) return plan.peer.empty() ? 1 : bench::not_possible;
  bench::drive_until(
      "opening streams", [&] { return record.opened == plan.streams; }, [] { bench::pace_ms(1); });
  Clicks(plan, record, port).run();
}
