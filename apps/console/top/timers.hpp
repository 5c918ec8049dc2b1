// What is to be done at a later time, on the thread that runs it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace console_app::top {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

class Timers {
 public:
  using Id = std::pair<TimePoint, unsigned long long>;  // the default: no timer

  Id start(TimePoint when, std::function<void()> action) {
    return actions_.emplace(Id{when, ++last_}, std::move(action)).first->first;
  }
  void cancel(Id& id) { actions_.erase(std::exchange(id, {})); }
  std::optional<TimePoint> next() const {
    return actions_.empty() ? std::nullopt : std::optional(actions_.begin()->first.first);
  }
  // False: there was nothing to do.
  bool run(TimePoint now) {
    bool ran = false;
    for (; !actions_.empty() && actions_.begin()->first.first <= now; ran = true)
      actions_.extract(actions_.begin()).mapped()();
    return ran;
  }

 private:
  std::map<Id, std::function<void()>> actions_;
  unsigned long long last_ = 0;
};

}  // namespace console_app::top
