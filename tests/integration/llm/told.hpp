// Told: everything that a run with a model says to anybody, as one text to be searched.
#pragma once

#include "support/recorder_lines.hpp"

#include <agentcore/agentcore.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agentcore::test {

struct Told {
  std::string text;

  void add(std::string_view more) { text.append(more).append("\n"); }

  void add(const Error& error) { add(error.message); }
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
    std::visit([this](const auto& body) { add_body(body); }, event.body);
  }
  // The lines as they are, and what is in them.
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
  void add_body(const AgentCreated&) {}
  void add_body(const AgentDeleted&) {}
  void add_body(const TurnStarted&) {}
  void add_body(const Settled&) {}
  void add_body(const DeltaReceived& delta) { add(delta.text); }
  void add_body(const ReasoningReceived& thought) { add(thought.text); }
  void add_body(const Discarded& discarded) { add(discarded.what); }
  void add_body(const ToolProgress& progress) { add(progress.text); }
  void add_body(const QuestionAsked& asked) { add(asked.question); }
  void add_body(const QuestionClosed& closed) { add(closed.question_id); }
  void add_body(const TurnEnded& end) {
    add(end.text);
    add(end.error);
    if (end.result) add(to_json(*end.result));
  }
  void add_body(const ToolStarted& started) {
    for (const auto& part : {started.call_id, started.window_id, started.tool, started.arguments}) add(part);
  }
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
    add(abandoned.what);
    add(abandoned.name);
    add(abandoned.id);
  }
};

// A client that hears what another one says.
class Listening final : public LlmClient {
 public:
  Listening(LlmClient& client, Told& told) : client_(client), told_(told) {}
  void chat(ChatRequest request, StopToken stop, ChatSink sink) override {
    client_.chat(std::move(request), std::move(stop),
                 ChatSink(std::make_unique<Ear>(told_, std::move(sink))));
  }
  bool abort(std::string_view agent_id) override { return client_.abort(agent_id); }
  bool has_active_request(std::string_view agent_id) const override {
    return client_.has_active_request(agent_id);
  }

 private:
  class Ear final : public ChatSink::Receiver {
   public:
    Ear(Told& told, ChatSink sink) : told_(told), sink_(std::move(sink)) {}
    void on_delta(std::string_view text) override {
      told_.add(text);
      sink_.delta(text);
    }
    void on_reasoning(std::string_view text) override {
      told_.add(text);
      sink_.reasoning(text);
    }
    void on_rate_limit(const RateLimit& limit) override { sink_.rate_limit(limit); }
    void on_outcome(ChatOutcome outcome) override {
      told_.add(outcome);
      sink_.finish(std::move(outcome));
    }

   private:
    Told& told_;
    ChatSink sink_;
  };

  LlmClient& client_;
  Told& told_;
};

}  // namespace agentcore::test
