// FakeClient: a model client without a model. A test decides what each call delivers and when, and what
// happens when a call is stopped.
#pragma once

#include "support/checked.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

namespace agentcore::test {

// What a FakeClient does when the stop token of a call is triggered.
enum class OnStop {
  post,     // ends the call in the next poll, like a correct client
  at_once,  // ends it from within the stop callback
  deaf,     // ignores the stop token: the call ends when the test ends it
};

// Records every call. A call stays open until the test, `on_chat` or a stop ends it. All is @loop_thread but
// the stop callback, which runs on the thread that stops.
class FakeClient final : public LlmClient {
 public:
  struct Call {
    // Runs when the stop token is triggered. Allocates nothing.
    struct OnTrigger {
      FakeClient* client;
      std::weak_ptr<Call> call;
      void operator()() const;
    };

    ChatRequest request;
    StopToken stop;
    ChatSink sink;
    OnStop on_stop = OnStop::post;
    std::size_t number = 0;
    std::optional<std::stop_callback<OnTrigger>> callback = {};

    bool open() const { return static_cast<bool>(sink); }
  };
  using OnChat = std::function<void(FakeClient&, Call&)>;

  // Without a Runtime nothing can be posted: stopped calls stay open.
  FakeClient() : on_stop(OnStop::deaf) {}
  explicit FakeClient(OnChat behaviour) : on_stop(OnStop::deaf), on_chat(std::move(behaviour)) {}
  explicit FakeClient(Runtime& runtime);
  ~FakeClient() override;
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;

  OnStop on_stop = OnStop::post;       // for later calls
  OnChat on_chat;                      // runs inside chat()
  std::function<void()> when_stopped;  // runs in the stop callback of each call, on the stopping thread

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  // The next `calls` calls of chat() allocate nothing.
  void reserve(std::size_t calls);
  // Removes the calls that have ended, with their records. Pointers to them become invalid.
  void forget_ended();

  // The newest open call of that agent, or null.
  CheckedPointer<Call*> find(std::string_view agent_id) const;
  // All open calls, oldest first.
  std::vector<Call*> open_calls() const;
  // By its number, from 0; throws if there is none.
  Call& call(std::size_t number) const;
  // The number of calls so far, removed ones included.
  std::size_t calls() const { return started_; }
  // True if all requests so far had a valid history.
  bool histories_were_valid() const;

  void delta(std::string_view agent_id, std::string_view text);
  void reason(std::string_view agent_id, std::string_view text);
  // Delivers `text`, if any, and completes the newest open call of that agent.
  void answer(std::string_view agent_id, std::string_view text);
  // The same with an answer that has tool calls.
  void call_tools(std::string_view agent_id, std::vector<ToolCall> calls, std::string_view text = {});
  void fail(std::string_view agent_id, Errc code = Errc::network_error);

  // Ends the stopped calls; completes all open calls.
  void cancel_stopped();
  void answer_all();
  static void complete(Call& call) { finish(call, ChatOutcome::completed(FinishReason::complete)); }
  static void finish(Call& call, ChatOutcome outcome);

 private:
  std::shared_ptr<detail::loop::Engine> engine_;
  std::vector<std::shared_ptr<Call>> calls_;  // by number; without removed ones
  std::vector<std::shared_ptr<Call>> spare_;  // made by reserve()
  std::size_t started_ = 0;
  bool forgotten_were_valid_ = true;
};

}  // namespace agentcore::test
