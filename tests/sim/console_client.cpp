#include "sim/console_client.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::sim {

constexpr std::size_t most_at_once = 4;  // requests without an answer

bool ConsoleClient::connect(SimNetwork& network) {
  if (socket_ && !socket_->server_ended) return true;
  if (!asked_.empty()) return false;  // their answers are still to be read
  begin_again();
  socket_ = network.connect();
  return socket_ != nullptr;
}

bool ConsoleClient::ask(SimNetwork& network, Asked asked, std::string_view text, std::size_t bytes) {
  if (is_stream_) leave(true);
  if (asked_.size() >= most_at_once || !connect(network)) return false;
  const std::uint64_t verbs_before = asked.verbs_before;
  asked_.push_back(std::move(asked));
  unsent_.append(text);
  ends_.push_back(unsent_.size());
  send(bytes, verbs_before);
  return true;
}

bool ConsoleClient::follow(SimNetwork& network) {
  if (is_stream_ && socket_ && !socket_->server_ended) return false;
  leave(true);
  if (!connect(network)) return false;
  is_stream_ = true;
  socket_->to_server += "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:8700\r\n\r\n";
  return true;
}

void ConsoleClient::send(std::size_t bytes, std::uint64_t verbs_before) {
  if (!socket_ || socket_->server_ended) return;
  const std::size_t count = std::min(bytes, unsent_.size());
  socket_->to_server.append(unsent_, 0, count);
  unsent_.erase(0, count);
  for (std::size_t& end : ends_) end -= std::min(end, count);
  while (!ends_.empty() && ends_.front() == 0) {
    Asked& complete = asked_[asked_.size() - ends_.size()];
    complete.is_complete = true;
    complete.verbs_before = verbs_before;
    ends_.pop_front();
  }
}

std::optional<Answered> ConsoleClient::take() {
  std::erase_if(left_, [](const auto& one) { return one.first->server_gone; });
  if (!socket_) return std::nullopt;
  received_ += std::exchange(socket_->to_client, {});
  if (is_stream_) {
    received_.clear();
    return std::nullopt;
  }
  const std::size_t head = received_.find("\r\n\r\n");
  const std::size_t length = received_.find("Content-Length: ");
  if (!asked_.empty() && head != std::string::npos && length < head) {
    const std::size_t size = head + 4 + std::stoul(received_.substr(length + 16));
    if (received_.size() >= size) {
      Answered answer{std::move(asked_.front()), std::stoi(received_.substr(9, 3)),
                      received_.substr(head + 4, size - head - 4), was_warned_};
      was_warned_ = was_warned_ || received_.find("Connection: close") < head;
      asked_.pop_front();
      if (ends_.size() > asked_.size()) ends_.pop_front();  // refused before all of it was there
      received_.erase(0, size);
      return answer;
    }
  }
  if (!socket_->server_ended || asked_.empty()) return std::nullopt;
  Answered lost{std::move(asked_.front()), 0, {}, was_warned_};
  asked_.pop_front();
  if (ends_.size() > asked_.size()) ends_.pop_front();
  return lost;
}

void ConsoleClient::leave(bool in_order) {
  if (socket_) {
    socket_->client_ended = in_order;
    socket_->client_gone = true;
    for (Asked& asked : asked_)
      if (asked.is_complete) left_.emplace_back(socket_, std::move(asked));
  }
  begin_again();
}

void ConsoleClient::forget() {
  left_.clear();
  begin_again();
}

void ConsoleClient::begin_again() {
  socket_.reset();
  asked_.clear();
  ends_.clear();
  unsent_.clear();
  received_.clear();
  is_stream_ = was_warned_ = false;
}

}  // namespace agentcore::sim
