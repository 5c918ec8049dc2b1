// CallPauses: how the clients of model calls learn of a pause.
#pragma once

#include "core/operation_id.hpp"
#include "turn/number_pass.hpp"

#include <agentcore/agent.hpp>
#include <agentcore/pause_token.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace agentcore::detail::turn {

class TurnContext;

// Makes the pause tokens of model calls, and calls the callbacks that clients register with them. All
// @loop_thread, but PauseToken::is_paused().
class CallPauses {
 public:
  // The source of one token.
  class Call;

  explicit CallPauses(TurnContext& context) : context_(context) {}

  // For a call of `agent` whose operation is not known yet: Call::bind() follows. Throws std::bad_alloc.
  std::shared_ptr<Call> make(Agent agent);
  // Agents were paused or unpaused: run() calls all callbacks.
  void notify_all() noexcept;
  // Calls the callbacks that are left, as long as the budget lasts. False: some are left. A callback may do
  // anything.
  bool run(loop::PollBudget& budget);
  bool has_work() const noexcept { return pass_.is_active(); }

 private:
  std::shared_ptr<void> add(std::function<void()> callback);

  TurnContext& context_;
  std::map<std::uint64_t, std::weak_ptr<std::function<void()>>> callbacks_;  // by number
  std::uint64_t added_ = 0;
  std::size_t tidy_at_ = 16;  // the size at which add() removes the entries without an owner
  NumberPass pass_;           // notifies
};

class CallPauses::Call final : public PauseToken::Source {
 public:
  Call(CallPauses& pauses, Agent agent) : pauses_(pauses), agent_(std::move(agent)) {}
  void bind(core::OperationId id) noexcept { id_ = id; }

  bool is_paused() const noexcept override;
  std::shared_ptr<void> on_change(std::function<void()> callback) override;
  void set_waiting(bool waiting) noexcept override;

 private:
  CallPauses& pauses_;  // `agent_` keeps it in memory
  Agent agent_;
  core::OperationId id_;
};

}  // namespace agentcore::detail::turn
