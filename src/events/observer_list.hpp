// ObserverList: the callbacks of one kind, in the order of subscribing.
#pragma once

#include <agentcore/subscription.hpp>

#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <utility>

namespace agentcore::events {

// Callbacks may subscribe and unsubscribe while they run, themselves included, and may destroy what holds the
// list: a callback that is running is destroyed only after it has returned. Unsubscribing takes
// constant time and never allocates. All @loop_thread.
template <typename Argument>
class ObserverList : public std::enable_shared_from_this<ObserverList<Argument>> {
 public:
  using Callback = std::function<void(const Argument&)>;

  bool empty() const noexcept { return live_ == 0; }
  std::size_t size() const noexcept { return live_; }

  Subscription add(Callback callback) {
    auto entry = std::make_shared<Entry>(Entry{std::move(callback)});
    // Made first: if this throws, no entry without a Subscription remains in the list.
    Subscription subscription([list = this->weak_from_this(), weak = std::weak_ptr(entry)] {
      const auto alive = list.lock();
      const auto gone = weak.lock();
      if (alive && gone) alive->remove(*gone);
    });
    entries_.push_back(entry);
    entry->place = std::prev(entries_.end());
    entry->live = true;
    ++live_;
    return subscription;
  }

  // Calls each callback that was there at the start and still is, through `guard`, which contains what it
  // throws.
  template <typename Guard>
  void notify(const Argument& argument, Guard&& guard) {
    if (entries_.empty()) return;
    const auto last = std::prev(entries_.end());  // stays valid: no entry leaves the list while depth_ > 0
    ++depth_;
    for (auto at = entries_.begin();; ++at) {
      if ((*at)->live) guard([&callback = (*at)->callback, &argument] { callback(argument); });
      if (at == last) break;
    }
    if (--depth_ == 0 && live_ != entries_.size()) sweep();
  }

  void clear() noexcept {
    for (auto& entry : entries_) entry->live = false;
    live_ = 0;
    if (depth_ == 0) sweep();
  }

 private:
  struct Entry;
  using Entries = std::list<std::shared_ptr<Entry>>;
  struct Entry {
    Callback callback;
    bool live = false;  // in the list, and subscribed
    typename Entries::iterator place = {};
  };

  void remove(Entry& entry) noexcept {
    if (!std::exchange(entry.live, false)) return;
    --live_;
    if (depth_ != 0) return;  // swept when the callbacks have returned
    Entries dead;
    dead.splice(dead.begin(), entries_, entry.place);
  }

  // Destroys the dead ones, last of all: what they captured may call back into this list.
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
  int depth_ = 0;
};

}  // namespace agentcore::events
