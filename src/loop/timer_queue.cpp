#include "loop/timer_queue.hpp"

#include <utility>

namespace agentcore::detail::loop {

std::uint64_t TimerQueue::add(TimePoint when, std::function<void()> function, TimerUse use) {
  // First, because it may throw: a slot that is taken must get into the heap.
  if (heap_.size() == heap_.capacity()) heap_.reserve(heap_.size() * 2 + 8);
  const std::uint32_t slot = free_slot();
  slots_[slot].function = std::move(function);
  slots_[slot].use = use;
  if (use == TimerUse::watch) ++watches_;
  heap_.push_back({when, next_order_++, slot});
  sift_up(heap_.size() - 1);
  return (std::uint64_t{slots_[slot].generation} << 32U) | slot;
}

bool TimerQueue::cancel(std::uint64_t id) noexcept {
  const auto slot = static_cast<std::uint32_t>(id);
  if (slot >= slots_.size() || slots_[slot].generation != id >> 32U) return false;
  // No caller holds an id of a free slot's generation; checked all the same, because an id is just a number.
  const std::size_t place = slots_[slot].place;
  if (place >= heap_.size() || heap_[place].slot != slot) return false;
  const std::function<void()> dropped = remove(place);
  return true;
}

std::optional<TimePoint> TimerQueue::next() const noexcept {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().when;
}

std::optional<TimePoint> TimerQueue::next_after(TimePoint now) const noexcept {
  std::optional<TimePoint> found = next();
  if (!found || *found > now) return found;
  found.reset();
  for (const Entry& entry : heap_)
    if (entry.when > now && (!found || entry.when < *found)) found = entry.when;
  return found;
}

std::function<void()> TimerQueue::take_due(TimePoint now, std::uint64_t mark) noexcept {
  if (!is_due(now, mark)) return nullptr;
  return remove(0);
}

void TimerQueue::clear() noexcept {
  // One by one, from the end: a function that is destroyed may cancel others. What it adds is dropped too.
  while (!heap_.empty()) const std::function<void()> dropped = remove(heap_.size() - 1);
}

std::uint32_t TimerQueue::free_slot() {
  if (free_.empty()) {
    // Room for every slot to come back, so that remove() never allocates.
    if (free_.capacity() <= slots_.size()) free_.reserve(slots_.size() * 2 + 8);
    slots_.emplace_back();
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void TimerQueue::put(std::size_t place, const Entry& entry) noexcept {
  heap_[place] = entry;
  slots_[entry.slot].place = static_cast<std::uint32_t>(place);
}

void TimerQueue::sift_up(std::size_t place) noexcept {
  const Entry entry = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!before(entry, heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void TimerQueue::sift_down(std::size_t place) noexcept {
  const Entry entry = heap_[place];
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], entry)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

std::function<void()> TimerQueue::remove(std::size_t place) noexcept {
  const std::uint32_t slot = heap_[place].slot;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) {
    put(place, last);
    sift_up(place);
    sift_down(slots_[last.slot].place);
  }
  std::function<void()> function = std::exchange(slots_[slot].function, nullptr);
  if (slots_[slot].use == TimerUse::watch) --watches_;
  // A slot whose generations are used up is not used again: its ids would repeat.
  if (++slots_[slot].generation != 0) free_.push_back(slot);
  return function;
}

}  // namespace agentcore::detail::loop
