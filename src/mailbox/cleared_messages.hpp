// ClearedMessages: messages that a verb has dropped, and that the loop has not taken out of the mailbox yet.
#pragma once

#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"
#include "mailbox/message_pool.hpp"

#include <agentcore/message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace agentcore::detail::mailbox {

// A verb drops messages when it returns; its second half, on the loop thread, takes them out of the mailbox.
// In between they count no more as waiting. A tree has one of these; most of the time it is empty, and each
// question reads one atomic value. @threadsafe
class ClearedMessages {
  struct Cleared {
    std::optional<std::uint32_t> up_to;  // all messages up to that position of the mailbox
    MessageId withdrawn;                 // or this one
    std::uint64_t number = 0;            // of the verb: see count()
    std::uint32_t gone = 0;              // later messages that have left the mailbox, see note_taken()
  };
  using Marks = std::multimap<core::NodeId, Cleared>;

 public:
  // What one verb has dropped. It is empty until prepare().
  class Mark {
   public:
    // Makes room for add(). Throws std::bad_alloc.
    void prepare(core::NodeId agent) {
      Marks one;
      one.emplace(agent, Cleared());
      prepared_ = one.extract(one.begin());
    }

   private:
    friend class ClearedMessages;
    Marks::node_type prepared_;
    std::optional<Marks::iterator> place_;
  };

  // The verb has taken effect. No effect if `mark` is not prepared.
  void add(Mark& mark, std::optional<std::uint32_t> up_to, MessageId withdrawn) noexcept {
    if (mark.prepared_.empty()) return;
    const core::Lock lock(mutex_);
    const std::uint64_t number = count_.load(std::memory_order_relaxed) + 1;
    mark.prepared_.mapped() = {.up_to = up_to, .withdrawn = withdrawn, .number = number};
    mark.place_ = marks_.insert(std::move(mark.prepared_));
    size_.store(marks_.size(), std::memory_order_release);
    count_.store(number, std::memory_order_release);
  }
  // How many verbs have dropped messages: none of these drops what is sent from now on. @threadsafe
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  // The loop takes the messages out: calls take_out(), and forgets the mark. Both are one step for left().
  template <typename TakeOut>
  void remove(Mark& mark, TakeOut&& take_out) noexcept {
    if (!mark.place_) return take_out();
    const core::Lock lock(mutex_);
    take_out();
    marks_.erase(*std::exchange(mark.place_, std::nullopt));
    size_.store(marks_.size(), std::memory_order_release);
  }

  // The loop has taken the message at `position` out of the mailbox, and others of the agent stay.
  // @loop_thread
  void note_taken(core::NodeId agent, std::uint32_t position) noexcept {
    count_gone(agent, [position](std::uint32_t up_to) { return !is_within(position, up_to); });
  }
  // The loop has put that message back, which counts as a further one for the position of the mailbox.
  // @loop_thread
  void note_put_back(core::NodeId agent, std::uint32_t position) noexcept {
    count_gone(agent, [position](std::uint32_t up_to) { return is_within(position, up_to); });
  }

  // The loop puts a message in front of all others, whose position would be `newest`. It was sent when
  // count() was `sent_at`: a verb that came after that drops it with the others. Returns its position.
  // @loop_thread
  std::uint32_t place_in_front(core::NodeId agent, std::uint64_t sent_at, std::uint32_t newest) noexcept {
    if (empty()) return newest;
    const core::Lock lock(mutex_);
    const auto [first, last] = marks_.equal_range(agent);
    std::uint32_t position = newest;
    for (auto at = first; at != last; ++at)
      if (at->second.up_to && at->second.number > sent_at) position = *at->second.up_to;
    for (auto at = first; at != last; ++at)
      if (at->second.up_to && is_within(position, *at->second.up_to)) ++at->second.gone;
    return position;
  }

  bool empty() const noexcept { return size_.load(std::memory_order_acquire) == 0; }
  struct Mailbox {
    std::size_t messages = 0;
    std::uint32_t position = 0;  // its end
  };
  // How many of the messages of a mailbox are left. look() returns what is in it.
  template <typename Look>
  std::size_t left(const MessagePool& pool, core::NodeId agent, Look&& look) const noexcept {
    if (empty()) return look().messages;
    const core::Lock lock(mutex_);
    auto [waiting, position] = look();
    const auto [first, last] = marks_.equal_range(agent);
    for (auto at = first; at != last; ++at)
      if (const Cleared& cleared = at->second; cleared.up_to)
        waiting = std::min<std::size_t>(waiting, position - *cleared.up_to - cleared.gone);
    for (auto at = first; at != last && waiting != 0; ++at) {
      const Cleared& cleared = at->second;
      if (cleared.up_to || !pool.is_withdrawn(cleared.withdrawn)) continue;
      if (!covers(first, last, pool.cell_of(cleared.withdrawn).position.load(std::memory_order_relaxed)))
        --waiting;
    }
    return waiting;
  }
  // True if the message at `position` of the mailbox is dropped.
  bool covers(core::NodeId agent, std::uint32_t position) const noexcept {
    if (empty()) return false;
    const core::Lock lock(mutex_);
    const auto [first, last] = marks_.equal_range(agent);
    return covers(first, last, position);
  }

 private:
  static bool is_within(std::uint32_t position, std::uint32_t up_to) noexcept {
    return static_cast<std::int32_t>(up_to - position) >= 0;
  }
  static bool covers(Marks::const_iterator first, Marks::const_iterator last,
                     std::uint32_t position) noexcept {
    return std::any_of(first, last, [position](const auto& mark) {
      return mark.second.up_to && is_within(position, *mark.second.up_to);
    });
  }
  template <typename IsOne>
  void count_gone(core::NodeId agent, IsOne&& is_one) noexcept {
    if (empty()) return;
    const core::Lock lock(mutex_);
    const auto [first, last] = marks_.equal_range(agent);
    for (auto at = first; at != last; ++at)
      if (at->second.up_to && is_one(*at->second.up_to)) ++at->second.gone;
  }

  mutable core::Mutex mutex_;
  Marks marks_ AGENTCORE_GUARDED_BY(mutex_);
  core::Atomic<std::size_t> size_{0};
  core::Atomic<std::uint64_t> count_{0};
};

}  // namespace agentcore::detail::mailbox
