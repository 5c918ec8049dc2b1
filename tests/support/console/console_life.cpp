#include "support/console/console_life.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agentcore::test {
namespace {

RuntimeOptions with_log(RuntimeOptions options, std::vector<std::string>& lines) {
  options.log = [&lines](const LogRecord& record) {
    std::string line(record.message);
    for (const LogField& field : record.fields)
      line.append(" ").append(field.key).append("=").append(field.value);
    lines.push_back(std::move(line));
  };
  return options;
}

}  // namespace

std::string HttpAnswer::header(std::string_view name) const {
  const std::string start = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(start);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + start.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

ConsoleClient::ConsoleClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The kernel accepts it: the server need not run for that.
  REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

ConsoleClient::~ConsoleClient() {
  close();
}

void ConsoleClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void ConsoleClient::send(std::string_view bytes) {
  static_cast<void>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void ConsoleClient::receive() {
  char bytes[65536];
  while (socket_ >= 0 && !ended_) {
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0)
      ended_ = true;
    else
      received_.append(bytes, static_cast<std::size_t>(count));
  }
}

std::optional<HttpAnswer> ConsoleClient::take_answer() {
  const std::size_t end = received_.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  HttpAnswer answer;
  answer.head = received_.substr(0, end + 2);
  answer.status = std::stoi(answer.head.substr(9, 3));
  const std::string length = answer.header("Content-Length");
  if (length.empty() && !ended_) return std::nullopt;
  const std::size_t size = length.empty() ? received_.size() - end - 4 : std::stoul(length);
  if (received_.size() < end + 4 + size) return std::nullopt;
  answer.body = received_.substr(end + 4, size);
  received_.erase(0, end + 4 + size);
  return answer;
}

ConsoleLife::ConsoleLife(ConsoleOptions options, TreeOptions tree_options, RuntimeOptions runtime_options)
    : runtime(with_log(std::move(runtime_options), log)), llm(runtime) {
  auto opened = Console::open(runtime, std::move(options));
  REQUIRE(opened);
  console = *std::move(opened);
  tree_options.llm = &llm;
  if (!tree_options.audit) tree_options.audit = console->receipts();
  tree = std::make_unique<AgentTree>(runtime, std::move(tree_options));
  shown = console->show(*tree);
}

ConsoleLife::~ConsoleLife() = default;

std::string ConsoleLife::text_of(std::string_view method, std::string_view target, std::string_view body,
                                 std::string_view headers) const {
  std::string text = std::string(method).append(" ").append(target).append(" HTTP/1.1\r\n");
  if (headers.find("Host:") == std::string_view::npos)
    text.append("Host: 127.0.0.1:").append(std::to_string(console->port())).append("\r\n");
  if (!body.empty()) {
    if (headers.find("Content-Type:") == std::string_view::npos)
      text.append("Content-Type: application/json\r\n");
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  return text.append(headers).append("\r\n").append(body);
}

HttpAnswer ConsoleLife::request(std::string_view method, std::string_view target, std::string_view body,
                                std::string_view headers) {
  ConsoleClient client(console->port());
  client.send(text_of(method, target, body, headers));
  if (method == "HEAD") {
    until([&] { return client.received().find("\r\n\r\n") != std::string::npos; }, {&client});
    HttpAnswer answer;
    answer.head = client.received();
    answer.status = std::stoi(answer.head.substr(9, 3));
    return answer;
  }
  std::optional<HttpAnswer> answer;
  until([&] { return (answer = client.take_answer()).has_value(); }, {&client});
  return *answer;
}

std::string ConsoleLife::exchange(std::string_view bytes) {
  ConsoleClient client(console->port());
  client.send(bytes);
  until([&] { return client.ended(); }, {&client});
  return client.received();
}

void ConsoleLife::until(const std::function<bool()>& condition, std::vector<ConsoleClient*> clients) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    runtime.poll();
    for (ConsoleClient* const client : clients) client->receive();
    if (condition()) return;
    REQUIRE(std::chrono::steady_clock::now() < give_up);
    std::vector<pollfd> watched{{.fd = runtime.poll_descriptor(), .events = POLLIN, .revents = 0}};
    for (const ConsoleClient* const client : clients)
      if (!client->ended()) watched.push_back({.fd = client->socket(), .events = POLLIN, .revents = 0});
    ::poll(watched.data(), watched.size(), 20);
  }
}

void ConsoleLife::poll() {
  for (int i = 0; i < 3; ++i)
    while (runtime.poll()) {
    }
}

std::vector<nlohmann::json> ConsoleLife::events_of(const ConsoleClient& stream) {
  std::vector<nlohmann::json> events;
  const std::string& text = stream.received();
  for (std::size_t at = 0; (at = text.find("data: ", at)) != std::string::npos;) {
    const std::size_t end = text.find("\n\n", at);
    if (end == std::string::npos) break;
    events.push_back(nlohmann::json::parse(text.substr(at + 6, end - at - 6)));
    const std::size_t id = text.rfind("id: ", at);
    if (id != std::string::npos && text.find('\n', id) + 1 == at)
      events.back()["id"] = text.substr(id + 4, at - id - 5);
    at = end;
  }
  return events;
}

ConsoleClient ConsoleLife::follow(std::string_view target, std::string_view headers) {
  ConsoleClient client(console->port());
  client.send(text_of("GET", target, {}, headers));
  until([&] { return client.received().find("\r\n\r\n") != std::string::npos; }, {&client});
  return client;
}

Agent ConsoleLife::create(std::string id, std::string parent) {
  AgentSpec spec;
  spec.id = std::move(id);
  return parent.empty() ? tree->create(std::move(spec)).value()
                        : tree->find(parent).value().create_child(std::move(spec)).value();
}

void ConsoleLife::let_wait(const Agent& agent, std::string_view text) {
  testing::ScriptedReply silent;
  silent.silent = true;
  llm.enqueue(silent);
  REQUIRE(agent.send(std::string(text)));
  until([&] { return agent.state().value() == AgentState::waiting_llm && llm.open_calls() > 0; });
}

}  // namespace agentcore::test
