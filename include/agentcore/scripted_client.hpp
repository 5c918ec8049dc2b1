// ScriptedClient: an LlmClient without a network, for tests and demos.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agentcore {

// What a scripted model does with one call: wait, say its deltas one by one, then end.
struct ScriptedReply {
  std::vector<std::string> deltas = {};
  std::vector<std::string> reasoning = {};  // said before the first delta, all at once
  std::vector<ToolCall> tool_calls = {};    // in the outcome
  Duration first_delay{0};                  // before the first delta; 0: in the next poll()
  Duration interval{0};                     // between deltas, and before the outcome; 0: one delta per poll()
  FinishReason finish_reason = FinishReason::complete;
  Usage usage = {};
  Error error = {};     // a code other than `none`: the call fails with it after the deltas
  bool silent = false;  // after the deltas nothing more: the call ends only when it is stopped
  bool deaf = false;    // ignores the stop token, as a careless client would: for tests of late results
};

// Answers every call by the script: the queued replies in order, then the responder, then an echo of the last
// message, word by word. Driven by the Runtime's clock, so a manual clock makes it deterministic.
// All functions are @loop_thread but abort() and has_active_request().
class ScriptedClient final : public LlmClient {
 public:
  using Responder = std::function<ScriptedReply(const ChatRequest&)>;

  explicit ScriptedClient(Runtime& runtime, Responder responder = {});
  ~ScriptedClient() override;
  ScriptedClient(const ScriptedClient&) = delete;
  ScriptedClient& operator=(const ScriptedClient&) = delete;

  // Adds a reply for the next call that has none. Throws std::invalid_argument for a negative delay. A reply
  // of the responder with a negative delay fails its call with `invalid_config`.
  void enqueue(ScriptedReply reply);

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  std::size_t calls() const noexcept;       // started so far
  std::size_t open_calls() const noexcept;  // without an outcome yet

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore
