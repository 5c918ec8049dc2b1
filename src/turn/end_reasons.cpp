#include "turn/end_reasons.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::turn {

bool EndReasons::end_turn(core::Node& node, core::PackedState from, core::PackedState to,
                          const StopOrigin& origin) noexcept {
  if (!origin) return node.replace(from, to);
  // Held during the replacement: so find() sees the entry if the verb has taken effect, and only then.
  const core::Lock lock(mutex_);
  const bool added = add({node.id(), to.epoch(), Kind::turn, origin});
  if (node.replace(from, to)) return true;
  if (added) entries_.pop_back();
  count_.store(entries_.size(), std::memory_order_seq_cst);
  return false;
}

void EndReasons::add_subtree(core::NodeId agent, std::uint32_t interrupt, const StopOrigin& origin) noexcept {
  if (!origin) return;
  const core::Lock lock(mutex_);
  add({agent, interrupt, Kind::subtree, origin});
}

bool EndReasons::add(Entry entry) noexcept {
  try {
    entries_.push_back(std::move(entry));
  } catch (const std::bad_alloc&) {
    return false;
  }
  count_.store(entries_.size(), std::memory_order_seq_cst);
  return true;
}

template <typename Matches>
void EndReasons::remove_if(Matches&& matches) noexcept {
  if (count_.load(std::memory_order_seq_cst) == 0) return;
  const core::Lock lock(mutex_);
  std::erase_if(entries_, matches);
  count_.store(entries_.size(), std::memory_order_seq_cst);
}

void EndReasons::remove(core::NodeId agent, std::uint32_t epoch) noexcept {
  remove_if([=](const Entry& entry) {
    return entry.kind == Kind::turn && entry.agent == agent && entry.number == epoch;
  });
}

void EndReasons::set_read(std::uint32_t interrupt) noexcept {
  if (count_.load(std::memory_order_seq_cst) == 0) return;
  const core::Lock lock(mutex_);
  for (Entry& entry : entries_)
    if (entry.kind == Kind::subtree && entry.number == interrupt) entry.kind = Kind::read_subtree;
}

void EndReasons::remove_read() noexcept {
  remove_if([](const Entry& entry) { return entry.kind == Kind::read_subtree; });
}

StopOrigin EndReasons::find(const core::Node& node) const noexcept {
  if (count_.load(std::memory_order_seq_cst) == 0) return {};
  const core::Lock lock(mutex_);
  // The oldest: what comes later found the turn ended.
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return covers(entry, node); });
  return found == entries_.end() ? StopOrigin() : found->origin;
}

std::size_t EndReasons::count(const core::References& refers) const noexcept {
  const core::Lock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [&](const Entry& entry) { return refers(entry.agent); }));
}

bool EndReasons::covers(const Entry& entry, const core::Node& node) noexcept {
  if (entry.kind == Kind::turn) return entry.agent == node.id() && entry.number == node.load().epoch();
  if (entry.number <= node.turn_mark.load(std::memory_order_relaxed)) return false;  // the turn began later
  const core::Node* up = &node;
  while (up && up->id() != entry.agent) up = up->parent.load(std::memory_order_relaxed);
  return up;
}

}  // namespace agentcore::detail::turn
