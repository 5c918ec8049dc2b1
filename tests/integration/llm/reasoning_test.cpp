// Reasoning goes back to who made it, over HTTP; and a request that is refused because of it is sent again.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/llm_router.hpp>
#include <agentcore/pause_token.hpp>
#include <agentcore/provider.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const std::string thinking = R"({"id":"m1","type":"message","role":"assistant","model":"claude","content":[)"
                             R"({"type":"thinking","thinking":"Hm.","signature":"s1"},)"
                             R"({"type":"tool_use","id":"c1","name":"look","input":{}},)"
                             R"({"type":"thinking","thinking":"And?","signature":"s2"},)"
                             R"({"type":"tool_use","id":"c2","name":"look","input":{}}],)"
                             R"("stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}})";
const std::string plain =
    R"({"id":"m2","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"So."}],)"
    R"("stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}})";
const std::string refusal = R"({"type":"error","error":{"type":"invalid_request_error","message":)"
                            R"("messages.1.content.0: Invalid `signature` in `thinking` block"}})";

std::string json_answer(const std::string& status, const std::string& body) {
  return http_answer(status, "application/json", body);
}

// A Messages server that gives the answers one after the other, and keeps what it was asked.
struct MessagesServer {
  explicit MessagesServer(std::vector<std::string> answers) : replies(std::move(answers)) {}

  SocketServer::Script script() {
    return [this](Peer& peer) {
      for (std::string request = peer.read_request(); !request.empty(); request = peer.read_request()) {
        std::string reply;
        {
          const std::lock_guard lock(mutex);
          bodies.push_back(json::parse(request.substr(request.find("\r\n\r\n") + 4)));
          reply = replies.at(bodies.size() - 1);
        }
        peer.write(reply);
      }
    };
  }

  const std::vector<std::string> replies;
  std::mutex mutex;
  std::vector<json> bodies;
};

struct Fixture {
  explicit Fixture(std::vector<std::string> answers)
      : messages(std::move(answers)), f(messages.script()), options(f.client_options()) {
    options.dialect = Dialect::anthropic_messages;
    llm = std::make_unique<HttpLlmClient>(*f.runtime, options);
    request.messages = {ChatMessage::user("Why?")};
    request.tools = {{"look", "", ""}};
    request.stream = false;
  }

  ChatOutcome chat(const ChatRequest& asked) {
    ChatRecord heard;
    llm->chat(asked, f.stop.get_token(), heard.sink());
    REQUIRE(f.drive_to_end(heard));
    return heard.outcomes.at(0);
  }
  // The request that follows the answer.
  ChatRequest after(const ChatOutcome& outcome) const {
    ChatRequest next = request;
    std::vector<MessageItem> items;
    std::size_t block = 0, call = 0;
    for (const AnswerPart& part : outcome.order)
      if (part.kind == AnswerPart::Kind::reasoning)
        items.emplace_back(outcome.reasoning.at(block++));
      else if (part.kind == AnswerPart::Kind::tool_call)
        items.emplace_back(outcome.tool_calls.at(call++));
    next.messages.push_back(ChatMessage::assistant(std::move(items)));
    next.messages.push_back(ChatMessage::tool_result("c1", "a"));
    next.messages.push_back(ChatMessage::tool_result("c2", "b"));
    return next;
  }
  // The types of the blocks of the answer in that request.
  std::vector<std::string> sent(std::size_t at) {
    const std::lock_guard lock(messages.mutex);
    std::vector<std::string> types;
    for (const json& entry : messages.bodies.at(at)["messages"])
      if (entry["role"] == "assistant")
        for (const json& block : entry["content"]) types.push_back(block["type"]);
    return types;
  }

  MessagesServer messages;
  LlmFixture f;
  HttpLlmOptions options;
  std::unique_ptr<HttpLlmClient> llm;
  ChatRequest request;
};

const std::vector<std::string> whole{"thinking", "tool_use", "thinking", "tool_use"},
    calls{"tool_use", "tool_use"};

}  // namespace

TEST_CASE("interleaved reasoning goes back in its order", "[llm][anthropic][reasoning][G8]") {
  Fixture f({json_answer("200 OK", thinking), json_answer("200 OK", plain)});
  const ChatOutcome answer = f.chat(f.request);
  REQUIRE(answer.order.size() == 4);
  CHECK(f.chat(f.after(answer)).kind == ChatOutcome::Kind::completed);
  CHECK(f.sent(1) == whole);
  CHECK(f.f.log.find("is not sent") == std::string::npos);
}

TEST_CASE("reasoning does not go back with another model, key or beginning",
          "[llm][anthropic][reasoning][G8]") {
  Fixture f(std::vector<std::string>(2, json_answer("200 OK", thinking)));
  ChatRequest next = f.after(f.chat(f.request));
  SECTION("another model") {
    next.model = "another";
  }
  SECTION("another key") {
    f.options.api_key = "another-key-of-some-length";
    f.llm = std::make_unique<HttpLlmClient>(*f.f.runtime, f.options);
  }
  SECTION("a beginning that was trimmed") {
    next.messages.insert(next.messages.begin(), ChatMessage::user("Before."));
  }
  CHECK(f.chat(next).kind == ChatOutcome::Kind::completed);
  CHECK(f.sent(1) == calls);
  CHECK(f.f.log.find("reasoning of earlier answers is not sent") != std::string::npos);
}

TEST_CASE("a request whose reasoning is refused is sent once more without it",
          "[llm][anthropic][reasoning][integration]") {
  const std::string no = json_answer("400 Bad Request", refusal);
  SECTION("the server takes it then") {
    Fixture f({json_answer("200 OK", thinking), no, json_answer("200 OK", plain)});
    const ChatOutcome outcome = f.chat(f.after(f.chat(f.request)));
    CHECK(outcome.kind == ChatOutcome::Kind::completed);
    CHECK(f.messages.bodies.size() == 3);
    CHECK(f.sent(1) == whole);
    CHECK(f.sent(2) == calls);
  }
  SECTION("the server is one of FastAPI") {
    const std::string invalid = json_answer(
        "422 Unprocessable Entity",
        R"({"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,)"
        R"("assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]}})");
    Fixture f({json_answer("200 OK", thinking), invalid, json_answer("200 OK", plain)});
    CHECK(f.chat(f.after(f.chat(f.request))).kind == ChatOutcome::Kind::completed);
    CHECK(f.sent(1) == whole);
    CHECK(f.sent(2) == calls);
  }
  SECTION("the server refuses that, too") {
    Fixture f({json_answer("200 OK", thinking), no, no});
    const ChatOutcome outcome = f.chat(f.after(f.chat(f.request)));
    CHECK(outcome.kind == ChatOutcome::Kind::failed);
    CHECK(outcome.error.http_status == 400);
    CHECK(f.messages.bodies.size() == 3);
    CHECK(f.llm->open_calls() == 0);
  }
  SECTION("the request had no reasoning") {
    Fixture f({no});
    CHECK(f.chat(f.request).kind == ChatOutcome::Kind::failed);
    CHECK(f.messages.bodies.size() == 1);
  }
  SECTION("the refusal is about something else") {
    Fixture f({json_answer("200 OK", thinking),
               json_answer("400 Bad Request", R"({"error":{"message":"max_tokens is too large"}})")});
    CHECK(f.chat(f.after(f.chat(f.request))).kind == ChatOutcome::Kind::failed);
    CHECK(f.messages.bodies.size() == 2);
  }
}

TEST_CASE("a stop between a refused request and the next ends the call", "[llm][anthropic][reasoning][A1]") {
  Fixture f({json_answer("200 OK", thinking), json_answer("400 Bad Request", refusal)});
  const ChatRequest next = f.after(f.chat(f.request));
  ChatRecord heard;
  f.options.api_key.clear();
  int asked = 0;
  f.options.api_key_source = [&] {
    if (++asked == 2) f.f.stop.request_stop();  // the client asks for a key again
    return api_key;
  };
  f.llm = std::make_unique<HttpLlmClient>(*f.f.runtime, f.options);
  f.llm->chat(next, f.f.stop.get_token(), heard.sink());
  REQUIRE(f.f.drive_to_end(heard));
  CHECK(asked == 2);
  CHECK(heard.cancelled());
  CHECK(f.messages.bodies.size() == 2);
}

TEST_CASE("an abort between a refused request and the next ends the call",
          "[llm][anthropic][reasoning][A5]") {
  Fixture f({json_answer("200 OK", thinking), json_answer("400 Bad Request", refusal)});
  ChatRequest next = f.after(f.chat(f.request));
  next.agent_id = "a";
  ChatRecord heard;
  f.options.api_key.clear();
  int asked = 0;
  f.options.api_key_source = [&] {
    if (++asked == 2) {
      CHECK(f.llm->has_active_request("a"));
      CHECK(f.llm->abort("a"));
      CHECK_FALSE(f.llm->has_active_request("a"));
    }
    return api_key;
  };
  f.llm = std::make_unique<HttpLlmClient>(*f.f.runtime, f.options);
  f.llm->chat(next, f.f.stop.get_token(), heard.sink([&] { CHECK_FALSE(f.llm->has_active_request("a")); }));
  REQUIRE(f.f.drive_to_end(heard));
  CHECK(asked == 2);
  CHECK(heard.cancelled());
  CHECK(f.messages.bodies.size() == 2);
  CHECK(f.llm->open_calls() == 0);
}

TEST_CASE("the second attempt of a call can be aborted", "[llm][anthropic][reasoning][A5][integration]") {
  Fixture f({json_answer("200 OK", thinking), json_answer("400 Bad Request", refusal),
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"});
  ChatRequest next = f.after(f.chat(f.request));
  next.agent_id = "a";
  ChatRecord heard;
  f.llm->chat(next, f.f.stop.get_token(), heard.sink());
  REQUIRE(f.f.drive_until([&] { return f.f.server.requests() == 3; }));
  CHECK(f.llm->has_active_request("a"));
  CHECK(f.llm->abort("a"));
  REQUIRE(f.f.drive_to_end(heard));
  CHECK(heard.cancelled());
}

TEST_CASE("nothing is sent again while the agent is paused", "[llm][anthropic][reasoning][pause]") {
  struct Paused final : PauseToken::Source {
    bool is_paused() const noexcept override { return true; }
    std::shared_ptr<void> on_change(std::function<void()>) override { return nullptr; }
    void set_waiting(bool) noexcept override {}
  };
  Fixture f({json_answer("200 OK", thinking), json_answer("400 Bad Request", refusal)});
  ChatRequest next = f.after(f.chat(f.request));
  next.pause = PauseToken(std::make_shared<Paused>());
  const ChatOutcome outcome = f.chat(next);
  CHECK(outcome.kind == ChatOutcome::Kind::failed);
  CHECK(outcome.error.http_status == 400);
  CHECK(outcome.error.retryable);  // a router makes the call again after the pause
  CHECK(f.messages.bodies.size() == 2);
}

TEST_CASE("a part that a dialect does not take goes to the next route", "[llm][router][parts]") {
  Fixture f({json_answer("200 OK", plain)});
  HttpLlmOptions chat_options = f.f.client_options();
  HttpLlmClient chat(*f.f.runtime, chat_options);
  LlmRouter router(*f.f.runtime, {.routes = {{.client = &chat}, {.client = f.llm.get()}}});
  f.request.messages = {ChatMessage::user("Look."), ChatMessage::assistant("", {{"c1", "look", "{}"}}),
                        ChatMessage::tool_result("c1", "one", {{.data = "aGk=", .media_type = "image/png"}})};
  ChatRecord heard;
  router.chat(f.request, f.f.stop.get_token(), heard.sink());
  REQUIRE(f.f.drive_to_end(heard));
  CHECK(heard.completed());
  CHECK(f.messages.bodies.size() == 1);
}

TEST_CASE("an image for a server that takes only texts goes to the next route", "[llm][router][parts]") {
  Fixture f({json_answer("200 OK", plain)});
  HttpLlmOptions only_texts = f.f.client_options();
  only_texts.takes_images = provider_options("deepseek").value().takes_images;
  HttpLlmClient chat(*f.f.runtime, only_texts);
  LlmRouter router(*f.f.runtime, {.routes = {{.client = &chat}, {.client = f.llm.get()}}});
  f.request.messages = {ChatMessage::user("Look.", {{.data = "aGk=", .media_type = "image/png"}})};
  ChatRecord heard;
  router.chat(f.request, f.f.stop.get_token(), heard.sink());
  REQUIRE(f.f.drive_to_end(heard));
  CHECK(heard.completed());
  CHECK(f.messages.bodies.size() == 1);
}
