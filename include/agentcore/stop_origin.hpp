// StopOrigin: who ended something by a verb, and why.
#pragma once

#include <agentcore/export.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace agentcore {

/// Who called a verb, and why: the texts of its options, for example StopOptions::caller and
/// StopOptions::reason. The events of all agents that one verb ends share the texts, so a copy costs as much
/// as that of a std::shared_ptr. It may be kept. No history and no request to a model has these texts (G11).
///
///     auto states = tree.on<agentcore::StateChanged>([](const agentcore::StateChanged& change) {
///       if (change.to == agentcore::AgentState::stopped)
///         std::printf("stopped: %.*s\n", static_cast<int>(change.origin.reason().size()),
///                     change.origin.reason().data());
///     });
class AGENTCORE_API StopOrigin {
 public:
  /// An origin without texts.
  StopOrigin() = default;
  /// An origin with these texts. Allocates unless both are empty. Throws std::bad_alloc.
  StopOrigin(std::string caller, std::string reason);

  /// The id of the agent on whose behalf the verb was called. Empty: the host called it. The text is valid as
  /// long as this object, or a copy.
  std::string_view caller() const noexcept { return texts_ ? texts_->caller : std::string_view(); }
  /// The reason that the caller gave; it may be empty. The text is valid as long as this object, or a copy.
  std::string_view reason() const noexcept { return texts_ ? texts_->reason : std::string_view(); }
  /// True if there is a text.
  explicit operator bool() const noexcept { return texts_ != nullptr; }

 private:
  struct Texts {
    std::string caller;
    std::string reason;
  };
  std::shared_ptr<const Texts> texts_;
};

}  // namespace agentcore
