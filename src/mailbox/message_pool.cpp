#include "mailbox/message_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::mailbox {
namespace {

constexpr std::uint64_t pack(std::uint64_t old, std::uint32_t number) noexcept {
  return ((old >> 32) + 1) << 32 | number;
}

// How much the ids of two messages in the same cell differ: the cell's number is in the low bits.
constexpr std::uint64_t next_id = std::uint64_t{1} << MessagePool::cell_bits;

}  // namespace

void Cell::put(Message&& message, std::unique_ptr<SendOptions>&& options, bool simulated) {
  const bool is_text = message.sender.empty() && message.kind.empty() && message.parts.empty() &&
                       !simulated && message.priority == MessagePriority::normal;
  if (!is_text || options) {
    auto rest = std::make_unique<Rest>();
    text_ = std::move(message.text);
    rest->message = std::move(message);
    rest->options = std::move(options);
    rest->simulated = simulated;
    rest_ = std::move(rest);
  } else {
    text_ = std::move(message.text);
  }
}

void Cell::replace(Message&& message) {
  auto rest = std::make_unique<Rest>();
  message.priority = is_urgent() ? MessagePriority::urgent : MessagePriority::normal;
  rest->options = take_options();
  if (rest_) rest->timer = std::move(rest_->timer);
  rest->delegated = is_delegated();
  if (rest_) rest->call = std::move(rest_->call);
  text_ = std::move(message.text);
  rest->message = std::move(message);
  rest_ = std::move(rest);
}

Message Cell::take_message() noexcept {
  Message message;
  if (const auto rest = std::exchange(rest_, nullptr)) message = std::move(rest->message);
  message.text = std::move(text_);
  return message;
}

Message Cell::copy() const {
  Message message;
  if (rest_) message = rest_->message;
  message.text = text_;
  return message;
}

void Cell::clear() noexcept {
  text_ = std::string();
  const auto rest = std::exchange(rest_, nullptr);  // its end may run the host's code
}

std::uint32_t MessagePool::take() {
  std::uint64_t head = free_.load(std::memory_order_acquire);
  while (const auto number = static_cast<std::uint32_t>(head)) {
    const std::uint32_t next = (*this)[number].next.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(head, pack(head, next), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      core::Atomic<std::uint64_t>& id = (*this)[number].id;
      id.store(id.load(std::memory_order_relaxed) & ~free, std::memory_order_release);
      return number;
    }
  }
  if (slab_.size() >= max_cells) throw std::bad_alloc();
  const std::uint32_t number = slab_.grow() + 1;
  (*this)[number].id.store(first_id_ | number, std::memory_order_release);
  return number;
}

void MessagePool::restore(std::vector<MessageId> ids, std::uint64_t sequence) {
  first_id_ = sequence * next_id;
  std::sort(ids.begin(), ids.end(), [](MessageId a, MessageId b) { return number_of(a) < number_of(b); });
  for (const MessageId id : ids) {
    while (slab_.size() < number_of(id)) {
      const std::uint32_t number = slab_.grow() + 1;
      (*this)[number].id.store(first_id_ | number | free, std::memory_order_release);
      if (number < number_of(id)) give(number, number);
    }
    (*this)[number_of(id)].id.store(id.value, std::memory_order_release);
  }
}

void MessagePool::end_id(Cell& cell) noexcept {
  const std::uint64_t next = (cell.id.load(std::memory_order_relaxed) + next_id) & ~marks;
  cell.id.store(std::max(next, first_id_ | number_of(cell)) | free, std::memory_order_release);
}

void MessagePool::release(std::uint32_t number) noexcept {
  Cell& cell = (*this)[number];
  end_id(cell);
  cell.clear();
}

void MessagePool::give(std::uint32_t first, std::uint32_t last) noexcept {
  std::uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    (*this)[last].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, pack(head, first), std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
}

void MessagePool::give_back(Cell& cell) noexcept {
  cell.next.store(batch_first_, std::memory_order_relaxed);
  batch_first_ = number_of(cell);
  if (batch_size_++ == 0) batch_last_ = batch_first_;
  if (batch_size_ < batch) return;
  give(batch_first_, batch_last_);
  batch_first_ = batch_last_ = batch_size_ = 0;
}

DroppedMessages::DroppedMessages(DroppedMessages&& other) noexcept
    : pool_(other.pool_),
      first_(std::exchange(other.first_, 0)),
      last_(std::exchange(other.last_, 0)),
      count_(std::exchange(other.count_, 0)) {
}

DroppedMessages& DroppedMessages::operator=(DroppedMessages&& other) noexcept {
  if (this == &other) return *this;
  give();
  pool_ = other.pool_;
  first_ = std::exchange(other.first_, 0);
  last_ = std::exchange(other.last_, 0);
  count_ = std::exchange(other.count_, 0);
  return *this;
}

void DroppedMessages::append(MessagePool& pool, std::uint32_t number) noexcept {
  pool_ = &pool;
  pool[number].next.store(0, std::memory_order_relaxed);
  if (last_)
    pool[last_].next.store(number, std::memory_order_relaxed);
  else
    first_ = number;
  last_ = number;
  ++count_;
}

void DroppedMessages::append(DroppedMessages&& others) noexcept {
  if (others.count_ == 0) return;
  if (count_ == 0) {
    *this = std::move(others);
    return;
  }
  (*pool_)[last_].next.store(others.first_, std::memory_order_relaxed);
  last_ = others.last_;
  count_ += others.count_;
  others.first_ = others.last_ = 0;
  others.count_ = 0;
}

void DroppedMessages::give() noexcept {
  if (first_ == 0) return;
  for (std::uint32_t at = first_; at;) {
    const std::uint32_t next = (*pool_)[at].next.load(std::memory_order_relaxed);
    pool_->release(at);
    at = next;
  }
  pool_->give(first_, last_);
  first_ = last_ = 0;
  count_ = 0;
}

}  // namespace agentcore::detail::mailbox
