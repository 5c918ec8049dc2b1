#include <agentcore/llm_client.hpp>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace agentcore {

namespace {

// The receiver of callers that pass two functions.
class FunctionReceiver final : public ChatSink::Receiver {
 public:
  FunctionReceiver(std::function<void(std::string_view)> on_delta,
                   std::function<void(ChatOutcome)> on_outcome)
      : on_delta_(std::move(on_delta)), on_outcome_(std::move(on_outcome)) {}

  void on_delta(std::string_view text) override {
    if (on_delta_) on_delta_(text);
  }
  void on_outcome(ChatOutcome outcome) override {
    if (on_outcome_) on_outcome_(std::move(outcome));
  }

 private:
  std::function<void(std::string_view)> on_delta_;
  std::function<void(ChatOutcome)> on_outcome_;
};

// The text as a string; empty if there is no memory for it.
std::string copied(const char* text) noexcept {
  try {
    return text;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

template <typename Call>
std::optional<std::string> thrown_by(Call&& call) noexcept {
  try {
    call();
    return std::nullopt;
  } catch (const std::exception& error) {
    return copied(error.what());
  } catch (...) {
    return copied("not a std::exception");
  }
}

// The call may still run at the provider, so its usage is not known. Without memory the error has no message.
ChatOutcome lost_call(Errc code, std::string_view what, std::string_view more = {}) noexcept {
  ChatOutcome outcome;
  outcome.kind = ChatOutcome::Kind::failed;
  outcome.usage.complete = false;
  outcome.error.code = code;
  try {
    outcome.error.message.append(what).append(more);
  } catch (const std::bad_alloc&) {
    outcome.error.message.clear();
  }
  return outcome;
}

}  // namespace

// A receiver must not be destroyed while one of its functions runs. The receiver points to the stack frame of
// its running call; a sink that finishes meanwhile moves the receiver into that frame, which destroys it.
struct ChatSink::Receiver::Frame {
  std::unique_ptr<Receiver> finished;
};

ChatSink::ChatSink(std::unique_ptr<Receiver> receiver) noexcept : receiver_(std::move(receiver)) {
}

ChatSink::ChatSink(std::function<void(std::string_view)> on_delta,
                   std::function<void(ChatOutcome)> on_outcome)
    : receiver_(std::make_unique<FunctionReceiver>(std::move(on_delta), std::move(on_outcome))) {
}

ChatSink& ChatSink::operator=(ChatSink&& other) noexcept {
  if (this == &other) return *this;
  // The old receiver gets its outcome last: its function may destroy this sink.
  ChatSink old;
  old.receiver_ = std::exchange(receiver_, std::move(other.receiver_));
  return *this;
}

ChatSink::~ChatSink() {
  if (receiver_)
    finish(lost_call(Errc::client_dropped_call, "the LlmClient destroyed its ChatSink without an outcome"));
}

// After the call, only `receiver` is used: this sink may be destroyed.
template <typename Call>
void ChatSink::tell(const char* what, Call&& call) {
  Receiver* const receiver = receiver_.get();
  Receiver::Frame frame;
  Receiver::Frame* const outer =
      std::exchange(receiver->frame_, receiver->frame_ ? receiver->frame_ : &frame);
  const auto thrown = thrown_by([&] { call(*receiver); });
  if (thrown && !receiver->spent_) receiver->end(lost_call(Errc::callback_failed, what, *thrown));
  receiver->frame_ = outer;
}

void ChatSink::delta(std::string_view text) {
  if (!*this || text.empty()) return;
  tell("on_delta threw: ", [text](Receiver& receiver) { receiver.on_delta(text); });
}

void ChatSink::reasoning(std::string_view text) {
  if (!*this || text.empty()) return;
  tell("on_reasoning threw: ", [text](Receiver& receiver) { receiver.on_reasoning(text); });
}

void ChatSink::rate_limit(const RateLimit& limit) {
  if (!*this) return;
  tell("on_rate_limit threw: ", [&limit](Receiver& receiver) { receiver.on_rate_limit(limit); });
}

void ChatSink::finish(ChatOutcome outcome) {
  std::unique_ptr<Receiver> receiver = std::move(receiver_);
  if (!receiver) return;
  if (!receiver->spent_) receiver->end(std::move(outcome));
  if (receiver->frame_) receiver->frame_->finished = std::move(receiver);
}

void ChatSink::Receiver::end(ChatOutcome outcome) noexcept {
  spent_ = true;
  try {
    on_outcome(std::move(outcome));
  } catch (...) {  // no receiver is left for the error
  }
}

}  // namespace agentcore
