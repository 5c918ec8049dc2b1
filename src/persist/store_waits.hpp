// StoreWaits: who waits until what has changed is in the store.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/error.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

// What waits belongs to the commit that is made next, then to that commit until its first attempt ends. What
// waits for a stop is answered earlier if a full store has the stop, and nothing else. All @loop_thread.
class StoreWaits {
 public:
  using Done = std::function<void(const Result<void>&)>;
  explicit StoreWaits(loop::Engine& engine) noexcept : engine_(engine) {}

  // `stop_of`: the id of the agent that was stopped or deleted; "": all agents. Throws std::bad_alloc.
  void add(Done done, std::optional<std::string> stop_of) {
    waiting_.push_back({std::move(done), std::move(stop_of), Of::next_commit});
  }
  // A commit has everything that was changed so far. `has_resumes`: but not the agents that a resume is still
  // to open; only what waits for a stop does not wait for them.
  void begin_commit(bool has_resumes) noexcept {
    for (Waiting& one : waiting_)
      if (one.of == Of::next_commit && (one.stop_of || !has_resumes)) one.of = Of::commit;
  }
  // Something waits for a commit that is not made yet.
  bool has_next() const noexcept {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [](const Waiting& one) { return one.of == Of::next_commit; });
  }
  // An attempt has ended.
  void end_commit(const Result<void>& result) noexcept {
    answer([](const Waiting& one) { return one.of == Of::commit; }, result);
  }
  // The same, because the store is full. Stops are written now, by commits of their own.
  void end_full_commit(const Error& error) noexcept {
    for (Waiting& one : waiting_)
      if (one.of == Of::commit && one.stop_of) one.of = Of::stops;
    end_commit(error);
  }
  bool has_stops() const noexcept { return std::any_of(waiting_.begin(), waiting_.end(), is_stop); }
  // A full store has the stops and deletes for which is_stored(id) is true.
  template <typename IsStored>
  void end_stops(IsStored&& is_stored) noexcept {
    answer([&](const Waiting& one) { return is_stop(one) && is_stored(*one.stop_of); }, {});
  }
  // It has none of the others.
  void fail_stops(const Error& error) noexcept { answer(is_stop, error); }
  // There is nothing to commit, or nothing will be committed any more.
  void end_all(const Result<void>& result) noexcept {
    answer([](const Waiting&) { return true; }, result);
  }

 private:
  enum class Of : std::uint8_t { next_commit, commit, stops };
  struct Waiting {
    Done done;
    std::optional<std::string> stop_of;
    Of of;
  };
  static bool is_stop(const Waiting& one) noexcept { return one.stop_of && one.of != Of::commit; }

  template <typename Is>
  void answer(Is&& is, const Result<void>& result) noexcept {
    for (;;) {
      const auto found = std::find_if(waiting_.begin(), waiting_.end(), is);
      if (found == waiting_.end()) return;
      const Done done = std::move(found->done);
      waiting_.erase(found);
      engine_.guarded("an answer to a client", [&] { done(result); });
    }
  }

  loop::Engine& engine_;
  std::vector<Waiting> waiting_;
};

}  // namespace agentcore::detail::persist
