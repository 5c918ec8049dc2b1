// The one count of tokens, and everything that uses it.
#include "context/token_count.hpp"

#include "context/trim.hpp"
#include "llm/http/answer_usage.hpp"
#include "llm/router/rate_limiter.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace agentcore;

namespace {

// A request with everything that costs tokens.
ChatRequest full_request() {
  ChatRequest request;
  ChatMessage question = ChatMessage::user("What is in this image?");
  question.items.emplace_back(ContentPart{.url = "https://example.com/cat.png"});
  ChatMessage answer = ChatMessage::assistant("Let me look.");
  answer.append(std::vector<ToolCall>{{"c1", "look", R"({"at":"the cat"})"}});
  test::put_reasoning(answer, {{.data = "The image may show an animal."}});
  ChatMessage result = ChatMessage::tool_result({}, "a cat");
  result.tool_call_id = "c1";
  request.messages = {ChatMessage::system("Be brief."), question, answer, result};
  request.tools = {{"look", "Looks at something.", R"({"type":"object","properties":{"at":{}}})"}};
  return request;
}

// What an agent's turn reports as the prompt of a call that was stopped, and the request of that call.
struct StoppedCall {
  std::uint64_t prompt_tokens = 0;
  ChatRequest request;
};
StoppedCall stopped_call(const Budget& budget) {
  StoppedCall stopped;
  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock, .seed = 1}};
  testing::ScriptedClient llm(runtime, [&](const ChatRequest& request) {
    stopped.request = request;
    testing::ScriptedReply reply;
    reply.silent = true;
    return reply;
  });
  AgentTree tree(runtime, {.llm = &llm});
  AgentSpec spec;
  spec.system_prompt = "Answer in one sentence, and name your sources.";
  spec.limits.budget = budget;
  Agent agent = tree.create(std::move(spec)).value();
  const Subscription ended = tree.on_event([&](const Event& event) {
    if (const auto* turn = event.get<TurnEnded>()) stopped.prompt_tokens = turn->result->usage.prompt_tokens;
  });
  (void)agent.send("What is the weather like in Paris today?");
  runtime.run_until_idle(std::chrono::seconds(1));
  (void)agent.stop();
  runtime.run_until_idle(std::chrono::seconds(1));
  return stopped;
}

}  // namespace

TEST_CASE("a request costs what its messages and tools cost", "[context]") {
  const ChatRequest request = full_request();
  std::uint64_t sum = 0;
  for (const ChatMessage& message : request.messages) sum += detail::context::message_tokens(message);
  const ToolDescription& tool = request.tools[0];
  sum += detail::context::tool_tokens(tool.name, tool.description, tool.parameters);
  CHECK(detail::context::request_tokens(request) == sum);
  CHECK(detail::context::request_tokens({}) == 0);
}

TEST_CASE("trimming, rate limits and a stopped call count the same tokens of one request",
          "[context][llm][router][usage]") {
  const ChatRequest request = full_request();
  const std::uint64_t tokens = detail::context::request_tokens(request);
  CHECK(detail::llm::estimated_tokens(request) == tokens);

  std::vector<std::size_t> each;
  for (const ChatMessage& message : request.messages)
    each.push_back(detail::context::message_tokens(message));
  const ToolDescription& tool = request.tools[0];
  const std::size_t tools = detail::context::tool_tokens(tool.name, tool.description, tool.parameters);
  CHECK(detail::context::trim(request.messages, each, {}, {}, tools, {}).tokens_before == tokens);

  ChatOutcome cancelled = ChatOutcome::cancelled();
  detail::llm::AnswerUsage({}, request).write(cancelled, 200, true, "");
  CHECK(cancelled.usage.prompt_tokens == tokens);
}

TEST_CASE("a stopped turn reports the same count, with and without a budget", "[context][turn][usage]") {
  for (const Budget& budget : {Budget{}, Budget{.tokens = 1'000'000}}) {
    const StoppedCall stopped = stopped_call(budget);
    REQUIRE_FALSE(stopped.request.messages.empty());
    CHECK(stopped.prompt_tokens == detail::context::request_tokens(stopped.request));
  }
}

TEST_CASE("a counter of the host replaces the estimate, and no sum overflows", "[context]") {
  const ChatRequest request = full_request();
  CHECK(detail::context::request_tokens(request, [](std::string_view) -> std::size_t { return 0; }) ==
        4 * detail::context::tokens_around_message + estimated_image_tokens);
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  CHECK(detail::context::request_tokens(request, [](std::string_view) { return most; }) == most);
}
