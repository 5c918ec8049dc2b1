// Answers that end in the middle, over HTTP: what is kept of them, and what the server is sent of it with the
// next request.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

// A text, or the texts of blocks.
std::string text_of(const json& content) {
  if (content.is_string()) return content;
  std::string text;
  for (const json& block : content) text += block["text"].get<std::string>();
  return text;
}

// "user:hello", "assistant:hi" ... of the request with that number.
std::vector<std::string> sent(TurnFixture& f, std::size_t number) {
  std::vector<std::string> messages;
  const json request = f.request(number);
  for (const json& message : request["messages"])
    messages.push_back(message["role"].get<std::string>() + ":" + text_of(message["content"]));
  return messages;
}

// Sends the first call to one client, and all later ones to another.
class FirstCall final : public LlmClient {
 public:
  FirstCall(LlmClient& first, LlmClient& later) : first_(first), later_(later) {}

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override {
    LlmClient& client = std::exchange(begun_, true) ? later_ : first_;
    client.chat(std::move(request), std::move(stop), std::move(sink));
  }
  bool abort(std::string_view agent_id) override {
    const bool aborted = first_.abort(agent_id);
    return later_.abort(agent_id) || aborted;
  }
  bool has_active_request(std::string_view agent_id) const override {
    return first_.has_active_request(agent_id) || later_.has_active_request(agent_id);
  }

 private:
  LlmClient& first_;
  LlmClient& later_;
  bool begun_ = false;
};

// The answers of the server have no end, unless they are dictated.
struct EndlessFixture : TurnFixture {
  explicit EndlessFixture(Dialect dialect)
      : TurnFixture(0, {}, options_for(dialect)), client(options_for(dialect)) {
    starts = tree.on<TurnStarted>([this](const TurnStarted& started) { message = started.message; });
    deltas = tree.on<DeltaReceived>([this](const DeltaReceived& delta) {
      if (delta.turn == 1 && delta.call == 1) delivered += delta.text;
    });
  }

  HttpLlmOptions client;  // options of a further client
  MessageId message;      // of the last turn
  std::string delivered;  // of the first model call
  Subscription starts, deltas;
};

constexpr const char* again = "And now?\n/say Done.";

// The longest beginning of at most `bytes` bytes that ends with a whole character.
std::string whole_characters(const std::string& text, std::size_t bytes) {
  std::size_t end = std::min(bytes, text.size());
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

TEST_CASE("the delivered part of an answer that a verb ends is sent with the next question",
          "[openai][anthropic][turn][partial][integration][G8]") {
  const std::string mark = GENERATE("aborted", "interrupted", "stopped");
  INFO(mark);
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  const Agent agent = f.ask("Tell me.", {.partial_answers = PartialAnswers::keep});
  REQUIRE(f.drive_until([&] { return f.delivered.size() > 40; }));
  if (mark == "aborted") CHECK(agent.abort().took_effect());
  if (mark == "interrupted") CHECK(agent.interrupt().took_effect());
  if (mark == "stopped") CHECK(agent.stop().took_effect());
  REQUIRE(f.drive_to_end());
  CHECK(f.server_saw(one_client_gone));
  CHECK(f.end.result->partial == f.delivered);
  CHECK(written(agent.conversation().value()) ==
        "user:Tell me.!" + mark + ", assistant:" + f.delivered + "!" + mark);

  if (mark == "stopped") REQUIRE(agent.resume().took_effect());
  REQUIRE(agent.send(again).accepted());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.end.result->text == "Done.");
  CHECK(is_valid_history(agent.conversation().value()));
  REQUIRE(f.requests() == 2);
  CHECK(f.server_saw([](const standin::Stats& stats) { return stats.completed == 1; }));
  CHECK(f.server->records().at(1).status == 200);
  CHECK(sent(f, 2) ==
        std::vector<std::string>{"user:Tell me.", "assistant:" + f.delivered, "user:" + std::string(again)});
  CHECK(f.request(2)["messages"][1].size() == 2);  // the mark is not sent
}

TEST_CASE("the delivered part of an answer whose server closed the connection is sent with the next question",
          "[openai][anthropic][turn][partial][integration][G8]") {
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  f.client.max_tokens = 20;
  HttpLlmClient closing(f.runtime, f.client_options(f.client, {"x-standin-fault: close-mid-stream"}));
  FirstCall client(closing, f.llm);
  const Agent agent = f.ask("Tell me.", {.llm = &client, .partial_answers = PartialAnswers::keep});
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::failed);
  CHECK(f.end.result->error.code == Errc::network_error);
  CHECK(f.server_saw([](const standin::Stats& stats) { return stats.server_closed == 1; }));
  CHECK(f.server->records().at(0).tokens == 10);
  CHECK(std::ranges::count(f.delivered, ' ') == 9);  // all that the server has sent
  CHECK(f.end.result->partial == f.delivered);
  CHECK(written(agent.conversation().value()) ==
        "user:Tell me.!failed, assistant:" + f.delivered + "!failed");

  REQUIRE(agent.send(again).accepted());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(sent(f, 2) ==
        std::vector<std::string>{"user:Tell me.", "assistant:" + f.delivered, "user:" + std::string(again)});
}

TEST_CASE("the delivered part of an answer that is ended by a steered message is sent before that message",
          "[openai][anthropic][turn][partial][integration][G8]") {
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  const Agent agent = f.ask("Tell me.", {.partial_answers = PartialAnswers::keep});
  REQUIRE(f.drive_until([&] { return f.delivered.size() > 40; }));
  CHECK(agent.steer(again, {.when = SteerWhen::now}).ended_call);
  REQUIRE(f.drive_to_end());
  CHECK(f.server_saw(one_client_gone));
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.end.result->text == "Done.");
  CHECK(sent(f, 2) ==
        std::vector<std::string>{"user:Tell me.", "assistant:" + f.delivered, "user:" + std::string(again)});
  CHECK(written(agent.conversation().value()) ==
        "user:Tell me., assistant:" + f.delivered + "!steered, user+:" + again + ", assistant:Done.");
}

TEST_CASE("nothing of an interrupted answer is sent if partial answers are dropped",
          "[openai][anthropic][turn][partial][integration][G8]") {
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  const Agent agent = f.ask("Tell me.");
  REQUIRE(f.drive_until([&] { return f.delivered.size() > 40; }));
  CHECK(agent.interrupt().took_effect());
  REQUIRE(f.drive_to_end());
  REQUIRE(agent.send(again).accepted());
  REQUIRE(f.drive_to_end());
  CHECK(sent(f, 2) == std::vector<std::string>{"user:Tell me.", "user:" + std::string(again)});
}

TEST_CASE("exactly the acknowledged part of an answer is sent with the next question",
          "[openai][anthropic][turn][partial][integration][G8]") {
  const PartialAnswers policy = GENERATE(PartialAnswers::keep, PartialAnswers::keep_acknowledged);
  const std::size_t bytes = GENERATE(range(0U, 13U), values({1U << 20U}));
  INFO(to_string(policy) << ", " << bytes << " bytes");
  std::string text;  // characters of one to four bytes
  for (int i = 0; i < 1000; ++i) text += "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  const Agent agent = f.ask("Tell me.\n/say " + text, {.partial_answers = policy});
  REQUIRE(f.drive_until([&] { return f.delivered.size() > 20; }));
  CHECK(agent.acknowledge({f.message, 1, bytes}).code() == Errc::none);
  CHECK(agent.interrupt().took_effect());
  REQUIRE(f.drive_to_end());
  REQUIRE(text.starts_with(f.delivered));
  const std::string kept = whole_characters(f.delivered, bytes);
  CHECK(f.end.result->partial == kept);

  REQUIRE(agent.send(again).accepted());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  std::vector<std::string> messages = {"user:Tell me.\n/say " + text};
  if (!kept.empty()) messages.push_back("assistant:" + kept);
  messages.push_back("user:" + std::string(again));
  CHECK(sent(f, 2) == messages);
}

TEST_CASE("without an acknowledgement a policy for voice sends nothing of an interrupted answer",
          "[openai][anthropic][turn][partial][integration][G8]") {
  EndlessFixture f(GENERATE(Dialect::openai_chat, Dialect::anthropic_messages));
  const Agent agent = f.ask("Tell me.", {.partial_answers = PartialAnswers::keep_acknowledged});
  REQUIRE(f.drive_until([&] { return f.delivered.size() > 40; }));
  CHECK(agent.interrupt().took_effect());
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->partial.empty());
  REQUIRE(agent.send(again).accepted());
  REQUIRE(f.drive_to_end());
  CHECK(sent(f, 2) == std::vector<std::string>{"user:Tell me.", "user:" + std::string(again)});
}
