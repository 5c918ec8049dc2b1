// ObserverList: callbacks, in the order of subscribing.
#pragma once

#include <agentcore/subscription.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <utility>

namespace agentcore::detail::events {

// Callbacks may subscribe and unsubscribe while they run, themselves included, and may destroy the owner of
// the list: a running callback is destroyed only after it has returned. Unsubscribing takes constant time and
// never allocates. All @loop_thread.
template <typename Argument>
class ObserverList : public std::enable_shared_from_this<ObserverList<Argument>> {
 public:
  using Callback = std::function<void(const Argument&)>;

  // A set of kinds of arguments, one bit for each.
  using Kinds = std::uint64_t;
  static constexpr Kinds all_kinds = ~Kinds{0};

  bool empty() const noexcept { return live_ == 0; }
  std::size_t size() const noexcept { return live_; }
  // The kinds that at least one callback wants.
  Kinds kinds() const noexcept { return kinds_; }

  Subscription add(Callback callback, Kinds kinds = all_kinds) {
    auto entry = std::make_shared<Entry>(Entry{std::move(callback), kinds});
    // Created first: if this throws, no entry without a Subscription remains in the list.
    Subscription subscription([list = this->weak_from_this(), weak = std::weak_ptr(entry)] {
      const auto alive = list.lock();
      const auto gone = weak.lock();
      if (alive && gone) alive->remove(*gone);
    });
    entries_.push_back(entry);
    entry->place = std::prev(entries_.end());
    entry->live = true;
    ++live_;
    count(kinds, 1);
    return subscription;
  }

  // Calls each callback for arguments of this kind that was there at the start and still is, through `guard`,
  // which catches its exceptions.
  template <typename Guard>
  void notify(const Argument& argument, Guard&& guard, Kinds kind = all_kinds) {
    if (entries_.empty()) return;
    const auto last = std::prev(entries_.end());  // stays valid: no entry leaves the list while depth_ > 0
    ++depth_;
    for (auto at = entries_.begin();; ++at) {
      if ((*at)->live && ((*at)->kinds & kind) != 0)
        guard([&callback = (*at)->callback, &argument] { callback(argument); });
      if (at == last) break;
    }
    if (--depth_ == 0 && live_ != entries_.size()) sweep();
  }

  void clear() noexcept {
    for (auto& entry : entries_) entry->live = false;
    live_ = 0;
    kinds_ = 0;
    callbacks_of_ = {};
    if (depth_ == 0) sweep();
  }

 private:
  struct Entry;
  using Entries = std::list<std::shared_ptr<Entry>>;
  struct Entry {
    Callback callback;
    Kinds kinds = all_kinds;
    bool live = false;  // in the list, and subscribed
    typename Entries::iterator place = {};
  };

  // Counts one callback more, or less, for each of these kinds.
  void count(Kinds kinds, int change) noexcept {
    for (std::size_t bit = 0; bit < callbacks_of_.size(); ++bit) {
      if ((kinds >> bit & 1U) == 0) continue;
      callbacks_of_[bit] += static_cast<std::uint32_t>(change);
      if (callbacks_of_[bit] != 0)
        kinds_ |= Kinds{1} << bit;
      else
        kinds_ &= ~(Kinds{1} << bit);
    }
  }

  void remove(Entry& entry) noexcept {
    if (!std::exchange(entry.live, false)) return;
    --live_;
    count(entry.kinds, -1);
    if (depth_ != 0) return;  // removed when the callbacks have returned
    Entries dead;
    dead.splice(dead.begin(), entries_, entry.place);
  }

  // Destroys the unsubscribed entries, last of all: their captures may call back into this list.
  void sweep() noexcept {
    Entries dead;
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto next = std::next(at);
      if (!(*at)->live) dead.splice(dead.end(), entries_, at);
      at = next;
    }
  }

  Entries entries_;
  std::size_t live_ = 0;
  Kinds kinds_ = 0;
  std::array<std::uint32_t, std::numeric_limits<Kinds>::digits> callbacks_of_ = {};  // by the bit of the kind
  int depth_ = 0;
};

}  // namespace agentcore::detail::events
