#include <agentcore/event.hpp>

#include <string>
#include <string_view>

namespace agentcore {
namespace {

// The member of a body that refers to a text which is valid during the callback only; null: the body has
// none. There is an overload for each body, so that a new body does not compile without one.
struct BorrowedText {
  using Place = std::string_view*;
  Place operator()(DeltaReceived& body) const noexcept { return &body.text; }
  Place operator()(ReasoningReceived& body) const noexcept { return &body.text; }
  Place operator()(AgentCreated&) const noexcept { return nullptr; }
  Place operator()(TurnStarted&) const noexcept { return nullptr; }
  Place operator()(Settled&) const noexcept { return nullptr; }
  Place operator()(Discarded&) const noexcept { return nullptr; }
  Place operator()(AgentDeleted&) const noexcept { return nullptr; }
  Place operator()(ToolStarted&) const noexcept { return nullptr; }
  Place operator()(ToolProgress&) const noexcept { return nullptr; }
  Place operator()(ToolEnded&) const noexcept { return nullptr; }
  Place operator()(QuestionAsked&) const noexcept { return nullptr; }
  Place operator()(QuestionClosed&) const noexcept { return nullptr; }
  Place operator()(TaskChanged&) const noexcept { return nullptr; }
  Place operator()(Abandoned&) const noexcept { return nullptr; }
  Place operator()(StateChanged&) const noexcept { return nullptr; }
  Place operator()(TurnEnded&) const noexcept { return nullptr; }
  Place operator()(ToolRefused&) const noexcept { return nullptr; }
  Place operator()(QueueHeld&) const noexcept { return nullptr; }
  Place operator()(PauseChanged&) const noexcept { return nullptr; }
  Place operator()(PauseSettled&) const noexcept { return nullptr; }
  Place operator()(StopPending&) const noexcept { return nullptr; }
  Place operator()(WindowClosed&) const noexcept { return nullptr; }
  Place operator()(MessageDropped&) const noexcept { return nullptr; }
  Place operator()(ModelCallEnded&) const noexcept { return nullptr; }
  Place operator()(Steered&) const noexcept { return nullptr; }
  Place operator()(ConversationChanged&) const noexcept { return nullptr; }
  Place operator()(CompactionChanged&) const noexcept { return nullptr; }
  Place operator()(AgentRestored&) const noexcept { return nullptr; }
  Place operator()(StopPersisted&) const noexcept { return nullptr; }
  Place operator()(MessagePersisted&) const noexcept { return nullptr; }
  Place operator()(ContextTrimmed&) const noexcept { return nullptr; }
};

struct Owned {
  explicit Owned(const detail::EventBody& data) : body(data) {
    std::string_view* const borrowed = std::visit(BorrowedText(), body);
    if (borrowed == nullptr) return;
    text = *borrowed;
    *borrowed = text;
  }
  detail::EventBody body;
  std::string text = {};  // what the body refers to
};

}  // namespace

const Agent& Event::agent() const noexcept {
  return std::visit([](const auto& body) -> const Agent& { return body.agent; }, body_);
}

KeptEvent::KeptEvent(const Event& event) : sequence(event.sequence) {
  const auto owned = std::make_shared<Owned>(detail::event_body(event));
  body_ = {owned, &owned->body};
}

}  // namespace agentcore
