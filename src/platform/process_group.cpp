#include "platform/process_group.hpp"

namespace agentcore::detail::platform {

void ProcessGroup::lead(ProcessId leader) noexcept {
  const core::Lock lock(mutex_);
  leader_ = leader;
  alive_ = true;
}

bool ProcessGroup::alive() const noexcept {
  const core::Lock lock(mutex_);
  return alive_;
}

// A forked child of the host does not signal the programs of its parent.
void ProcessGroup::signal(Signal signal) noexcept {
  if (home_.is_left()) return;
  const core::Lock lock(mutex_);
  if (alive_) send(signal);
}

// The leader may have left its group; then it is signalled by itself. A second SIGKILL has no effect.
void ProcessGroup::send(Signal signal) const noexcept {
  const bool sent = system_.signal_group(leader_, signal);
  if (!sent || signal == Signal::kill) system_.signal(leader_, signal);
}

std::optional<ExitStatus> ProcessGroup::try_reap() noexcept {
  const core::Lock lock(mutex_);
  if (!alive_) return std::nullopt;
  ExitStatus status;
  ChildState state = system_.look_at(leader_);
  if (state == ChildState::ended) {
    send(Signal::kill);  // while the dead leader still holds the number
    state = system_.reap(leader_, status);
  }
  if (state == ChildState::running || state == ChildState::unknown) return std::nullopt;
  alive_ = false;
  // Gone: the number may belong to another process by now, so there are no more signals.
  return state == ChildState::ended ? status : ExitStatus{};
}

}  // namespace agentcore::detail::platform
