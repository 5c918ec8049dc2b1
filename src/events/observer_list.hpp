// ObserverList: the callbacks of one kind, in the order of subscribing.
#pragma once

#include <agentcore/subscription.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace agentcore::events {

// Callbacks may subscribe and unsubscribe while they run, themselves included, and may destroy what holds the
// list: a callback that is running is destroyed only after it has returned. All @loop_thread.
template <typename Argument>
class ObserverList : public std::enable_shared_from_this<ObserverList<Argument>> {
 public:
  using Callback = std::function<void(const Argument&)>;

  bool empty() const noexcept { return live_ == 0; }
  std::size_t size() const noexcept { return live_; }

  Subscription add(Callback callback) {
    auto entry = std::make_shared<Entry>(Entry{std::move(callback)});
    entries_.push_back(entry);
    ++live_;
    return Subscription([list = this->weak_from_this(), weak = std::weak_ptr(entry)] {
      const auto alive = list.lock();
      const auto gone = weak.lock();
      if (alive && gone) alive->remove(*gone);
    });
  }

  // Calls each callback that was there at the start and still is, through `guard`, which contains what it
  // throws.
  template <typename Guard>
  void notify(const Argument& argument, Guard&& guard) {
    const std::size_t count = entries_.size();
    ++depth_;
    for (std::size_t i = 0; i < count; ++i)
      if (entries_[i]->live) guard([&callback = entries_[i]->callback, &argument] { callback(argument); });
    if (--depth_ == 0 && live_ != entries_.size()) sweep();
  }

  void clear() {
    for (auto& entry : entries_) entry->live = false;
    live_ = 0;
    if (depth_ == 0) sweep();
  }

 private:
  struct Entry {
    Callback callback;
    bool live = true;
  };

  void remove(Entry& entry) {
    if (!std::exchange(entry.live, false)) return;
    --live_;
    if (depth_ == 0) sweep();
  }

  // Destroys the dead ones, last of all: what they captured may call back into this list.
  void sweep() {
    std::vector<std::shared_ptr<Entry>> kept;
    std::vector<std::shared_ptr<Entry>> dead;
    for (auto& entry : entries_) (entry->live ? kept : dead).push_back(std::move(entry));
    entries_ = std::move(kept);
  }

  std::vector<std::shared_ptr<Entry>> entries_;
  std::size_t live_ = 0;
  int depth_ = 0;
};

}  // namespace agentcore::events
