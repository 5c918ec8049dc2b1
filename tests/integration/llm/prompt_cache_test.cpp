// What a server can find again of the requests of a conversation: the stand-in compares each request with the
// earlier ones, and reports the part that is the same.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

constexpr const char* two_calls = "/call add {\"a\":1,\"b\":2}\n/call note {}";

// An agent with tools, and a window whose text changes in each turn and in its middle.
struct CachedFixture : TurnFixture {
  explicit CachedFixture(VolatilePlace place) : TurnFixture(5, {}, {.sends_cache_key = true}) {
    tools->add(make_tool({.name = "note", .description = "Writes to the window."},
                         [this](const json&, const ToolContext&) {
                           show("/say Noted.");
                           return ToolResult::done("noted");
                         }));
    tools->open({.id = "notes", .description = "What was noted."});
    AgentSpec spec{.id = "a", .system_prompt = "You take notes.", .tools = tools};
    spec.context.volatile_place = place;
    agent = tree.create(std::move(spec)).value();
  }

  // The last user message dictates the answer: that can be the text of the window, or the question.
  void show(const std::string& text) {
    tools->set_content("notes", "version " + std::to_string(++version) + "\n" + text);
  }

  // One turn with two model calls. Returns the tokens of their prompts that the server had cached.
  std::uint64_t run_turn() {
    show(two_calls);
    REQUIRE(agent.send(std::string("Note this.\n") + two_calls + "\n/then\n/say Noted.").accepted());
    REQUIRE(drive_to_end());
    CHECK(end.result->outcome == TurnOutcome::completed);
    CHECK(end.result->text == "Noted.");
    CHECK(end.result->usage.cache_write_tokens == 0);  // this API reports none
    CHECK(end.result->usage.complete);
    return end.result->usage.cached_tokens;
  }

  // In the stand-in's tokens of four bytes.
  std::uint64_t tool_tokens(std::size_t number) { return request(number)["tools"].dump().size() / 4; }
  // Of the messages that the next request begins with, too: all but the text of the window, which is one
  // message behind them.
  std::uint64_t stable_tokens(std::size_t number) {
    const json body = request(number);
    const std::size_t turns_before = (number - 1) / 2;  // question, calls, two results, answer
    const std::size_t stable = 1 + turns_before * 5 + (number % 2 == 1 ? 1 : 4);
    CHECK(body["messages"].size() == stable + 1);
    std::size_t bytes = body["tools"].dump().size();
    for (std::size_t at = 0; at < stable; ++at) bytes += body["messages"][at].dump().size();
    return bytes / 4;
  }
  static bool is_window(const json& message) {
    return message["content"].get<std::string>().find("version") != std::string::npos;
  }

  Agent agent;
  int version = 0;
};

}  // namespace

TEST_CASE("a server has cached the whole stable part of the request before, in each turn",
          "[openai][turn][cache][integration]") {
  CachedFixture f(VolatilePlace::last_message);
  std::uint64_t before = 0;
  for (std::size_t turn = 1; turn <= 3; ++turn) {
    const std::uint64_t cached = f.run_turn();
    const std::size_t last = 2 * turn;  // the number of its second request
    REQUIRE(f.requests() == last);
    const std::uint64_t in_first = turn == 1 ? 0 : f.stable_tokens(last - 2);
    CHECK(cached == in_first + f.stable_tokens(last - 1));
    CHECK(cached > before);
    CHECK(cached < f.end.result->usage.prompt_tokens);
    before = cached;
  }
  // The bytes before the text of the window begin the next request.
  const std::vector<standin::Record> records = f.server->records();
  for (std::size_t at = 1; at < records.size(); ++at) {
    const std::string& earlier = records[at - 1].request;
    const std::string& later = records[at].request;
    const auto same = std::ranges::mismatch(earlier, later).in1 - earlier.begin();
    const std::size_t window = earlier.rfind(R"(,{"content":"# )");
    REQUIRE(window != std::string::npos);
    CHECK(static_cast<std::size_t>(same) >= window);
    CHECK(json::parse(later)["prompt_cache_key"] == f.request(1)["prompt_cache_key"]);
  }
}

TEST_CASE("a server finds only the tools again if the windows are in the system message",
          "[openai][turn][cache][integration]") {
  CachedFixture f(VolatilePlace::system_prompt);
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    const std::uint64_t cached = f.run_turn();
    CHECK(CachedFixture::is_window(f.request(2 * turn)["messages"][0]));
    CHECK(cached == (turn == 1 ? 1 : 2) * f.tool_tokens(1));
  }
}
