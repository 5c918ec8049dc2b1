#include "sim/console_client.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::sim {
namespace {

constexpr std::size_t most_at_once = 4;  // requests without an answer

}  // namespace

std::string Answered::header(std::string_view name) const {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == head.npos) return {};
  const std::size_t begin = at + line.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::optional<AnswerBytes> answer_in(const std::string& bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == bytes.npos || bytes.size() < 13) return std::nullopt;
  AnswerBytes answer{.status = std::stoi(bytes.substr(9, 3)), .head = head + 4};
  const std::size_t length = bytes.find("\r\nContent-Length: ");
  if (length < head) answer.length = std::stoul(bytes.substr(length + 18));
  return answer;
}

bool ConsoleClient::connect(ClientNetwork& network) {
  if (socket_ && !socket_->has_ended()) return true;
  if (!asked_.empty()) return false;  // their answers are still to be read
  begin_again();
  socket_ = network.connect_client();
  return socket_ != nullptr;
}

bool ConsoleClient::ask(ClientNetwork& network, Asked asked, std::string_view text, std::size_t bytes) {
  if (asked_.size() >= most_at_once || !connect(network)) return false;
  const std::uint64_t verbs_before = asked.verbs_before;
  asked_.push_back(std::move(asked));
  unsent_.append(text);
  ends_.push_back(unsent_.size());
  send(bytes, verbs_before);
  if (!asked_.back().is_complete) asked_.back().in_pieces = true;
  return true;
}

void ConsoleClient::send(std::size_t bytes, std::uint64_t verbs_before) {
  if (!socket_ || socket_->has_ended()) return;
  const std::size_t count = std::min(bytes, unsent_.size());
  socket_->send(std::string_view(unsent_).substr(0, count));
  unsent_.erase(0, count);
  for (std::size_t& end : ends_) end -= std::min(end, count);
  while (!ends_.empty() && ends_.front() == 0) {
    Asked& complete = asked_[asked_.size() - ends_.size()];
    complete.is_complete = true;
    complete.verbs_before = verbs_before;
    ends_.pop_front();
  }
}

Answered ConsoleClient::answer_of_first(int status) {
  Answered answer{.asked = std::move(asked_.front()), .status = status, .was_warned = was_warned_};
  asked_.pop_front();
  answer.was_broken = socket_->is_broken();
  if (!asked_.empty() && asked_.front().is_complete) answer.asked.is_followed = true;
  if (ends_.size() > asked_.size()) ends_.pop_front();  // refused before all of it was there
  return answer;
}

std::optional<Answered> ConsoleClient::take() {
  std::erase_if(left_, [](const auto& one) { return one.first->is_gone(); });
  if (!socket_) return std::nullopt;
  received_ += socket_->receive(std::string::npos);
  const bool has_ended = socket_->has_ended();
  if (const auto found = answer_in(received_); found && !asked_.empty()) {
    const bool has_body = asked_.front().request != Request::follow_agent;  // HEAD
    const std::size_t rest = received_.size() - found->head;
    const std::size_t length = !has_body ? 0 : found->length ? *found->length : rest;
    if (rest >= length && (!has_body || found->length || has_ended)) {
      Answered answer = answer_of_first(found->status);
      answer.head = received_.substr(0, found->head);
      answer.body = received_.substr(found->head, length);
      was_warned_ = was_warned_ || answer.header("Connection") == "close" || (has_body && !found->length);
      received_.erase(0, found->head + length);
      return answer;
    }
  }
  if (!has_ended || asked_.empty()) return std::nullopt;
  const bool was_read = socket_->is_read();
  Answered lost = answer_of_first(0);
  lost.was_read = was_read;
  return lost;
}

void ConsoleClient::leave(bool in_order) {
  if (socket_) {
    socket_->leave(in_order);
    for (Asked& asked : asked_)
      if (asked.is_complete) left_.emplace_back(socket_, std::move(asked));
  }
  begin_again();
}

void ConsoleClient::forget() {
  left_.clear();
  begin_again();
}

std::size_t ConsoleClient::open_changes() const noexcept {
  const auto is_open = [](const Asked& asked) { return asked.is_complete && changes(asked.request); };
  return static_cast<std::size_t>(
      std::ranges::count_if(asked_, is_open) +
      std::ranges::count_if(left_, is_open, [](const auto& one) -> const Asked& { return one.second; }));
}

void ConsoleClient::begin_again() {
  socket_.reset();
  asked_.clear();
  ends_.clear();
  unsent_.clear();
  received_.clear();
  was_warned_ = false;
}

}  // namespace agentcore::sim
