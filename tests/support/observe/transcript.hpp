// Transcript: everything that a run with a model reports anywhere, as one text to be searched.
#pragma once

#include "support/clients/forwarding_client.hpp"
#include "support/observe/recorder_lines.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agentcore::test {

struct Transcript {
  std::string text;

  void add(std::string_view more) { text.append(more).append("\n"); }

  void add(const StopOrigin& origin) {
    add(origin.caller());
    add(origin.reason());
  }
  void add(const ChatError& error) { add(error.message); }
  void add(const ToolResult& result) {
    for (const auto& part : {result.message, result.data, result.summary}) add(part);
  }
  void add(const OpenQuestion& question) {
    for (const auto& part : {question.id, question.agent_id, question.call_id, question.tool, question.text})
      add(part);
    for (const auto& choice : question.choices) add(choice);
  }
  void add(const ChatOutcome& outcome) {
    add(outcome.error);
    add(outcome.model);
    for (const auto& call : outcome.tool_calls)
      for (const auto& part : {call.id, call.name, call.arguments, call.window_id, call.action_id}) add(part);
    for (const auto& block : outcome.reasoning) add(block.data);
  }
  void add(const RetryNotice& notice) {
    add(notice.agent_id);
    add(notice.error);
  }
  void add(const LogRecord& record) {
    add(record.message);
    for (const auto& field : record.fields) {
      add(field.key);
      add(field.value);
    }
  }
  // Every type of event has its line below: without one this does not compile.
  void add(const Event& event) {
    add(event.agent().id());
    std::visit([this](const auto& body) { add_body(body); }, detail::event_body(event));
  }
  // The lines unchanged, and their decoded contents.
  void add(const RecorderLines& lines) {
    add(lines.text);
    for (const HttpExchange& exchange : lines.exchanges()) {
      for (const auto& part :
           {exchange.url, exchange.request_body, exchange.content_type, exchange.end_message})
        add(part);
      for (const auto& header : exchange.request_headers) add(header);
      for (const auto& header : exchange.headers) add(header);
      std::string body;
      for (const auto& piece : exchange.body) body += piece.bytes;
      add(body);
    }
  }

 private:
  // These have no text.
  template <typename Body>
  requires std::is_same_v<Body, AgentCreated> || std::is_same_v<Body, TurnStarted>
  void add_body(const Body&) {}
  void add_body(const DeltaReceived& delta) { add(delta.text); }
  void add_body(const ReasoningReceived& reasoning) { add(reasoning.text); }
  void add_body(const Discarded& discarded) {
    add(to_string(discarded.kind));
    add(to_string(discarded.reason));
  }
  void add_body(const ToolProgress& progress) { add(progress.text); }
  void add_body(const QuestionAsked& asked) { add(asked.question); }
  void add_body(const QuestionClosed& closed) { add(closed.question_id); }
  void add_body(const StateChanged& change) { add(change.origin); }
  void add_body(const Settled& settled) { add(settled.origin); }
  void add_body(const AgentDeleted& deleted) { add(deleted.origin); }
  void add_body(const QueueHeld&) {}
  void add_body(const PauseChanged& change) { add(change.origin); }
  void add_body(const PauseSettled&) {}
  void add_body(const StopPending& pending) {
    add(to_string(pending.when));
    add(pending.origin);
  }
  void add_body(const WindowClosed& closed) {
    add(closed.call_id);
    add(closed.window_id);
    add(to_string(closed.reason));
  }
  void add_body(const MessageDropped& dropped) {
    for (const auto& part : {dropped.message.text, dropped.message.sender, dropped.message.kind}) add(part);
  }
  void add_body(const TurnEnded& end) {
    add(end.result->text);
    add(end.result->error);
    add(to_json(*end.result));
  }
  void add_body(const ToolStarted& started) {
    for (const auto& part : {started.call_id, started.window_id, started.tool, started.arguments}) add(part);
  }
  void add_body(const ToolRefused& refused) {
    for (const auto& part :
         {refused.call_id, refused.window_id, refused.tool, refused.arguments, refused.reason})
      add(part);
  }
  void add_body(const ModelCallEnded& ended) { add(ended.reason); }
  void add_body(const Steered& steered) { add(steered.message.text); }
  void add_body(const ConversationChanged& changed) { add(to_string(changed.change)); }
  void add_body(const CompactionChanged& changed) { add(changed.error); }
  void add_body(const ContextTrimmed&) {}
  void add_body(const AgentRestored& restored) { add(restored.unbound); }
  void add_body(const StopPersisted& stop) { add(stop.agent_id); }
  void add_body(const MessagePersisted&) {}
  void add_body(const ToolEnded& ended) {
    add(ended.call_id);
    add(ended.result);
  }
  void add_body(const TaskChanged& task) {
    add(task.task_id);
    add(task.tool);
    add(task.result);
  }
  void add_body(const Abandoned& abandoned) {
    add(to_string(abandoned.kind));
    add(abandoned.tool);
    add(abandoned.call_id);
  }
};

// A client that passes calls on to another one, and adds its deliveries to the transcript.
class TranscribedClient {
 public:
  TranscribedClient(LlmClient& client, Transcript& transcript)
      : client_(client, [&transcript](const ChatRequest&, const StopToken&, ChatSink& sink) {
          sink = ChatSink(std::make_unique<Copy>(transcript, std::move(sink)));
        }) {}
  LlmClient& client() { return client_; }

 private:
  class Copy final : public ChatSink::Receiver {
   public:
    Copy(Transcript& transcript, ChatSink sink) : transcript_(transcript), sink_(std::move(sink)) {}
    void on_delta(std::string_view text) override {
      transcript_.add(text);
      sink_.delta(text);
    }
    void on_reasoning(std::string_view text) override {
      transcript_.add(text);
      sink_.reasoning(text);
    }
    void on_rate_limit(const RateLimit& limit) override { sink_.rate_limit(limit); }
    void on_outcome(ChatOutcome outcome) override {
      transcript_.add(outcome);
      sink_.finish(std::move(outcome));
    }

   private:
    Transcript& transcript_;
    ChatSink sink_;
  };

  ForwardingClient client_;
};

}  // namespace agentcore::test
