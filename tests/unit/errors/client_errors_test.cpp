// Errors of calls that the library reports for any client: of the ChatSink, and of the ScriptedClient.
#include "support/observe/chat_record.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/runtime.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <memory>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A receiver each of whose functions throws.
class Throwing final : public ChatSink::Receiver {
 public:
  explicit Throwing(Error& error) : error_(error) {}
  void on_delta(std::string_view) override { throw std::runtime_error("boom"); }
  void on_reasoning(std::string_view) override { throw std::runtime_error("boom"); }
  void on_rate_limit(const RateLimit&) override { throw 1; }
  void on_outcome(ChatOutcome outcome) override { error_ = outcome.error; }

 private:
  Error& error_;
};

template <typename Deliver>
Error error_after(Deliver&& deliver) {
  Error error;
  ChatSink sink(std::make_unique<Throwing>(error));
  deliver(sink);
  return error;
}

Error error_of(testing::ScriptedClient::Responder responder) {
  Runtime runtime;
  testing::ScriptedClient client(runtime, std::move(responder));
  ChatRecord heard;
  client.chat(ask("a"), {}, heard.sink());
  return heard.error();
}

Error error_of_second_call() {
  Runtime runtime;
  testing::ScriptedClient client(runtime);
  ChatRecord first, second;
  client.chat(ask("a"), {}, first.sink());
  client.chat(ask("a"), {}, second.sink());
  const Error error = second.error();
  CHECK(client.abort("a"));
  CHECK(runtime.run_until_idle());
  return error;
}

Error error_of_stopped_call() {
  Runtime runtime;
  testing::ScriptedClient client(runtime);
  ChatRecord heard;
  client.chat(ask("a"), {}, heard.sink());
  CHECK(client.abort("a"));
  CHECK(runtime.run_until_idle());
  return heard.error();
}

}  // namespace

ErrorRows test::client_errors() {
  testing::ScriptedReply negative;
  negative.interval = std::chrono::seconds(-1);
  return {
      {"a sink without an outcome", error_after([](ChatSink& sink) { sink = ChatSink(); }),
       Errc::client_dropped_call, "the LlmClient destroyed its ChatSink without an outcome"},
      {"on_delta() throws", error_after([](ChatSink& sink) { sink.delta("x"); }), Errc::callback_failed,
       "on_delta threw: boom"},
      {"on_reasoning() throws", error_after([](ChatSink& sink) { sink.reasoning("x"); }),
       Errc::callback_failed, "on_reasoning threw: boom"},
      {"on_rate_limit() throws no std::exception", error_after([](ChatSink& sink) { sink.rate_limit({}); }),
       Errc::callback_failed, "on_rate_limit threw: not a std::exception"},
      {"a responder that throws",
       error_of([](const ChatRequest&) -> testing::ScriptedReply { throw std::runtime_error("boom"); }),
       Errc::callback_failed,
       "the responder of the ScriptedClient threw an exception; its message is in the log"},
      {"a reply with a negative delay", error_of([&](const ChatRequest&) { return negative; }),
       Errc::invalid_config, "ScriptedReply::interval is -1 s; it must not be negative"},
      {"a second call of an agent", error_of_second_call(), Errc::request_in_progress,
       "this agent has a model call open in this client; abort it or wait for its end"},
      {"a call that was stopped", error_of_stopped_call(), Errc::cancelled, "the call was stopped"},
  };
}

TEST_CASE("every error that any client may report has its text", "[errors][llm]") {
  check(client_errors());
}
