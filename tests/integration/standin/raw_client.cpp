#include "raw_client.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

std::string RawAnswer::header(std::string_view name) const {
  const std::size_t at = head.find(fmt::format("\r\n{}: ", name));
  if (at == std::string::npos) return {};
  const std::size_t start = at + name.size() + 4;
  return head.substr(start, head.find("\r\n", start) - start);
}

RawClient::RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval guard{60, 0};  // a broken server fails the test instead of hanging it
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof guard);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

RawClient::~RawClient() {
  close();
}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::read_more() {
  char bytes[16384];
  const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  unread_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool RawClient::read_until(std::string_view needle) {
  while (unread_.find(needle) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

std::string RawClient::read_to_end() {
  while (read_more()) {
  }
  return std::exchange(unread_, {});
}

RawAnswer RawClient::read_answer() {
  RawAnswer answer;
  if (!read_until("\r\n\r\n")) return answer;
  const std::size_t end = unread_.find("\r\n\r\n") + 4;
  answer.head = unread_.substr(0, end);
  unread_.erase(0, end);
  answer.status = std::stoi(answer.head.substr(9, 3));
  if (answer.header("transfer-encoding") == "chunked") {
    read_chunks(answer);
  } else if (const std::string length = answer.header("content-length"); !length.empty()) {
    read_sized(answer, std::stoul(length));
  } else {
    answer.body = read_to_end();
    answer.complete = true;
  }
  return answer;
}

void RawClient::read_sized(RawAnswer& answer, std::size_t length) {
  while (unread_.size() < length && read_more()) {
  }
  answer.complete = unread_.size() >= length;
  answer.body = unread_.substr(0, length);
  unread_.erase(0, answer.body.size());
}

void RawClient::read_chunks(RawAnswer& answer) {
  while (read_until("\r\n")) {
    const std::size_t line = unread_.find("\r\n");
    const std::size_t size = std::stoul(unread_.substr(0, line), nullptr, 16);
    unread_.erase(0, line + 2);
    RawAnswer chunk;
    read_sized(chunk, size + 2);
    if (!chunk.complete || !chunk.body.ends_with("\r\n")) return;
    answer.body.append(chunk.body, 0, size);
    answer.complete = size == 0;
    if (answer.complete) return;
  }
}

void RawClient::end_sending() {
  shutdown(socket_, SHUT_WR);
}

void RawClient::reset() {
  const linger at_once{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void RawClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

std::string request(std::string_view method, std::string_view path, std::string_view headers,
                    std::string_view body) {
  return fmt::format("{} {} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n{}\r\n{}", method, path,
                     body.size(), headers, body);
}

std::string chat_request(std::string_view headers, std::string_view extra_json) {
  const std::string body = fmt::format(
      R"({{"model":"m","user":"from-json","messages":[{{"role":"user","content":"Say \"hi\" to Zoë"}}]{}}})",
      extra_json);
  return request("POST", "/v1/chat/completions", headers, body);
}

std::vector<std::string> events_of(std::string_view body) {
  std::vector<std::string> events;
  while (body.starts_with("data: ")) {
    const std::size_t end = body.find("\n\n");
    if (end == std::string_view::npos) break;
    events.emplace_back(body.substr(6, end - 6));
    body.remove_prefix(end + 2);
  }
  return events;
}

std::string content_of(std::string_view body) {
  std::string content;
  for (const std::string& event : events_of(body)) {
    const auto json = nlohmann::json::parse(event, nullptr, false);
    if (json.is_discarded() || json["choices"].empty()) continue;
    content += json["choices"][0]["delta"].value("content", "");
  }
  return content;
}
