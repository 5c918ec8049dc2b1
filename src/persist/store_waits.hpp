// StoreWaits: who waits until what has changed is in the store.
#pragma once

#include "loop/engine.hpp"

#include <agentcore/error.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

// What waits belongs to the commit that is made next, then to that commit until its first attempt ends. All
// @loop_thread.
class StoreWaits {
 public:
  using Done = std::function<void(const Result<void>&)>;
  explicit StoreWaits(loop::Engine& engine) noexcept : engine_(engine) {}

  // Throws std::bad_alloc.
  void add(Done done) { for_next_.push_back(std::move(done)); }
  // A commit has everything that was changed so far.
  void begin_commit() noexcept { for_commit_ = std::exchange(for_next_, {}); }
  // An attempt has ended.
  void end_commit(const Result<void>& result) noexcept { answer(for_commit_, result); }
  // There is nothing to commit, or nothing will be committed any more.
  void end_all(const Result<void>& result) noexcept {
    answer(for_commit_, result);
    answer(for_next_, result);
  }

 private:
  void answer(std::vector<Done>& waiting, const Result<void>& result) noexcept {
    for (const Done& done : std::exchange(waiting, {}))
      engine_.guarded("an answer to a client", [&] { done(result); });
  }

  loop::Engine& engine_;
  std::vector<Done> for_commit_;
  std::vector<Done> for_next_;
};

}  // namespace agentcore::detail::persist
