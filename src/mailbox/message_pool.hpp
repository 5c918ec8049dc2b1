// MessagePool: cells for messages, taken on any thread, returned by the loop.
#pragma once

#include "core/atomic.hpp"
#include "core/call_begin.hpp"
#include "core/node.hpp"
#include "core/slab.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::mailbox {

// A message and its place in a list. Lists link cells by index + 1; 0 ends them.
//
// A cell belongs to one message from MessagePool::take() until it is released: to its sender, then to the
// mailbox, then to the turn that the message begins. Only then does `id` change.
//
// One cache line. What most messages do not have is allocated apart.
class alignas(64) Cell {
 public:
  core::Atomic<std::uint32_t> next{0};
  // In the sequence of the mailbox's messages; set by the sender, and again by the loop, which is exact.
  core::Atomic<std::uint32_t> position{0};
  core::Atomic<core::NodeId> agent{0};  // that it was sent to
  core::Atomic<std::uint64_t> id{0};    // MessageId::value, and MessagePool::withdrawn

  // `simulated`: the text is handled as an answer of the model. Throws std::bad_alloc; then nothing has
  // changed.
  void put(Message&& message, std::unique_ptr<SendOptions>&& options, bool simulated = false);
  // Replaces the message, which is no simulated answer then, and keeps its options and its priority. Throws
  // as put().
  void replace(Message&& message);
  Message take_message() noexcept;
  Message copy() const;
  void clear() noexcept;
  // The callbacks and the deadline; null if there are none.
  std::unique_ptr<SendOptions> take_options() noexcept { return rest_ ? std::move(rest_->options) : nullptr; }
  // Gives options back that take_options() has returned.
  void return_options(std::unique_ptr<SendOptions> options) noexcept {
    if (options) rest_->options = std::move(options);
  }

  // How many images the message has.
  std::size_t parts() const noexcept { return rest_ ? rest_->message.parts.size() : 0; }
  bool is_simulated() const noexcept { return rest_ && rest_->simulated; }
  bool is_urgent() const noexcept { return rest_ && rest_->message.priority == MessagePriority::urgent; }
  // Sent by a running tool call of an ancestor: the turn is a part of that call. Such a message has options.
  bool is_delegated() const noexcept { return rest_ && rest_->delegated; }
  // `call` begins with the turn.
  void delegate(std::shared_ptr<core::CallBegin> call) noexcept {
    rest_->delegated = true;
    rest_->call = std::move(call);
  }
  // The call that the turn is a part of begins. False: it has ended before. True if there is none.
  bool begin_call() noexcept { return !rest_ || !rest_->call || rest_->call->begin(); }
  bool has_callbacks() const noexcept { return rest_ && rest_->options && *rest_->options; }
  // SendOptions::deadline, before take_options().
  std::optional<TimePoint> deadline() const noexcept {
    return rest_ && rest_->options ? rest_->options->deadline : std::nullopt;
  }
  // The same; no_limit if there is none.
  TimePoint latest_begin() const noexcept {
    if (!rest_ || !rest_->options || !rest_->options->deadline) return no_limit;
    return *rest_->options->deadline;
  }
  // Keeps the timer of the deadline while the message, which has options, waits. @loop_thread
  void set_timer(Timer timer) noexcept { rest_->timer = std::move(timer); }
  bool belongs_to(core::NodeId node) const noexcept { return agent.load(std::memory_order_relaxed) == node; }

 private:
  struct Rest {
    Message message;  // without its text
    std::unique_ptr<SendOptions> options;
    Timer timer;  // of the deadline
    bool delegated = false;
    std::shared_ptr<core::CallBegin> call;
    bool simulated = false;
  };

  std::string text_;
  std::unique_ptr<Rest> rest_;  // null: the message is a text, and nothing else
};
static_assert(sizeof(Cell) == 64);

// A lock-free stack of free cells over a slab. The head has a tag that changes with every pop, so that a cell
// taken and returned in between is detected. The memory is bounded by the highest number of messages that
// were in mailboxes of the tree at once.
class MessagePool {
 public:
  static constexpr unsigned cell_bits = 28;
  static constexpr std::uint32_t cell_mask = (1U << cell_bits) - 1;
  static constexpr std::uint32_t max_cells = (1U << 27) - 1;  // what Head::newest() can name
  // In Cell::id. A message has at most one of them: the first decides.
  static constexpr std::uint64_t withdrawn = std::uint64_t{1} << 63;  // no turn may begin with it
  static constexpr std::uint64_t begun = std::uint64_t{1} << 62;      // its turn has begun
  static constexpr std::uint64_t marks = withdrawn | begun;
  // In Cell::id of a cell without a message, beside the id of the next one: so it is not the id of a message
  // yet.
  static constexpr std::uint64_t free = std::uint64_t{1} << 61;

  // A cell's number (index + 1), ready for a message. @threadsafe
  std::uint32_t take();
  // The cell of an id, and which message of that cell it stands for: that number rises with each message.
  static constexpr std::uint32_t number_of(MessageId id) noexcept {
    return static_cast<std::uint32_t>(id.value) & cell_mask;
  }
  static constexpr std::uint64_t sequence_of(MessageId id) noexcept { return id.value >> cell_bits; }
  // Before the pool is used: takes the cells of these messages of an earlier run, whose ids they have from
  // now on; no two may be of one cell. All later ids are of `sequence` and beyond. Throws std::bad_alloc.
  void restore(std::vector<MessageId> ids, std::uint64_t sequence);
  // The id of a cell whose message and callbacks were taken stands for no message any more: now the cell may
  // be given back. @threadsafe
  void end_id(Cell& cell) noexcept;
  // The same, and clears the message and the callbacks. @threadsafe
  void release(std::uint32_t number) noexcept;
  // Returns a list of released cells, from `first` to `last`. @threadsafe
  void give(std::uint32_t first, std::uint32_t last) noexcept;
  // Returns one released cell; in batches, so that senders and the loop seldom contend. @loop_thread
  void give_back(Cell& cell) noexcept;

  Cell& operator[](std::uint32_t number) const noexcept { return slab_[number - 1]; }
  // Prefetches a cell, if there is one of that number.
  void prefetch(std::uint32_t number) const noexcept {
    if (number - 1 < slab_.size()) __builtin_prefetch(&(*this)[number], 1);
  }
  // The cell of an id of this pool.
  Cell& cell_of(MessageId id) const noexcept { return (*this)[number_of(id)]; }
  // The id of the message in a cell. @threadsafe
  MessageId id_of(std::uint32_t number) const noexcept {
    return {(*this)[number].id.load(std::memory_order_acquire) & ~marks};
  }
  // The id of the message in that cell, which was taken out of a mailbox. @loop_thread
  static MessageId id_in(const Cell& cell) noexcept {
    return {cell.id.load(std::memory_order_relaxed) & ~marks};
  }
  // The number of that cell. @threadsafe
  static std::uint32_t number_of(const Cell& cell) noexcept {
    return static_cast<std::uint32_t>(cell.id.load(std::memory_order_relaxed)) & cell_mask;
  }
  // True if that message waits, or its turn is in progress. @loop_thread
  bool stands_for(MessageId id) const noexcept {
    const std::uint64_t now = cell_of(id).id.load(std::memory_order_acquire);
    return (now & withdrawn) == 0 && (now & ~marks) == id.value;
  }
  // True if that message is in the cell, waits, and was not withdrawn. @threadsafe
  bool holds(std::uint32_t number, MessageId id) const noexcept {
    return (*this)[number].id.load(std::memory_order_seq_cst) == id.value;
  }
  // Marks the message of that id as withdrawn. False: its turn has begun, or the cell does not hold it any
  // more. @threadsafe
  bool withdraw(std::uint32_t number, MessageId id) noexcept {
    std::uint64_t expected = id.value;
    return (*this)[number].id.compare_exchange_strong(expected, expected | withdrawn,
                                                      std::memory_order_seq_cst);
  }
  // Marks a message whose turn was claimed as begun. False: it was withdrawn before. @loop_thread
  static bool begin(Cell& cell) noexcept {
    std::uint64_t id = cell.id.load(std::memory_order_relaxed);
    return (id & withdrawn) == 0 &&
           cell.id.compare_exchange_strong(id, id | begun, std::memory_order_seq_cst);
  }
  static bool is_withdrawn(const Cell& cell) noexcept {
    return (cell.id.load(std::memory_order_seq_cst) & withdrawn) != 0;
  }
  // True if that message was withdrawn, and its cell was not given back since. @threadsafe
  bool is_withdrawn(MessageId id) const noexcept {
    return find(id) != 0 && cell_of(id).id.load(std::memory_order_seq_cst) == (id.value | withdrawn);
  }
  // The cell in which the message with that id is, or was; 0 if there never was such an id. @threadsafe
  std::uint32_t find(MessageId id) const noexcept {
    return number_of(id) <= slab_.size() ? number_of(id) : 0;
  }

  // Counts messages with MessagePriority::urgent in mailboxes: while there are some, the loop looks for them
  // before it takes a message. @threadsafe
  void count_urgent(int change) noexcept { urgent_.fetch_add(change, std::memory_order_acq_rel); }
  bool has_urgent() const noexcept { return urgent_.load(std::memory_order_acquire) != 0; }

 private:
  static constexpr std::uint32_t batch = 64;

  core::Slab<Cell> slab_;
  std::uint64_t first_id_ = std::uint64_t{1} << cell_bits;  // of new cells, without their number
  std::uint32_t batch_first_ = 0;  // cells returned one by one, not yet on the free list
  std::uint32_t batch_last_ = 0;
  std::uint32_t batch_size_ = 0;
  alignas(64) core::Atomic<std::uint64_t> free_{0};  // tag << 32 | number
  alignas(64) core::Atomic<int> urgent_{0};
};

// Messages that have left a mailbox without a turn, oldest first. Its destructor gives their cells back.
class DroppedMessages {
 public:
  DroppedMessages() noexcept = default;
  DroppedMessages(DroppedMessages&& other) noexcept;
  DroppedMessages& operator=(DroppedMessages&& other) noexcept;
  ~DroppedMessages() {
    if (first_ != 0) give();
  }

  std::size_t count() const noexcept { return count_; }
  void append(MessagePool& pool, std::uint32_t number) noexcept;
  void append(DroppedMessages&& others) noexcept;

  // Calls visit(cell) for each. The visitor may move the message and the callbacks out.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t at = first_; at; at = (*pool_)[at].next.load(std::memory_order_relaxed))
      visit((*pool_)[at]);
  }

 private:
  void give() noexcept;

  MessagePool* pool_ = nullptr;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::size_t count_ = 0;
};

}  // namespace agentcore::detail::mailbox
