// What a server can find again of the requests of a conversation: the stand-in compares each request with the
// earlier ones, and reports the part that is the same.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

constexpr const char* two_calls = "/call add {\"a\":1,\"b\":2}\n/call note {}";

// The prompt of a request in the parts in which the stand-in caches it.
std::vector<std::string> parts_of(const json& body, Dialect dialect) {
  std::vector<std::string> parts;
  if (dialect == Dialect::openai_chat) {
    parts.push_back(body["tools"].dump());
    for (const json& message : body["messages"]) parts.push_back(message.dump());
    return parts;
  }
  const auto add = [&](std::string before, json block) {
    block.erase("cache_control");
    parts.push_back(std::move(before) + block.dump());
  };
  for (const json& tool : body["tools"]) add("", tool);
  for (const json& block : body["system"]) add("system", block);
  for (const json& message : body["messages"]) {
    std::string role = message["role"];
    for (const json& block : message["content"]) add(std::exchange(role, {}), block);
  }
  return parts;
}

// The tokens of the first `count` parts.
std::uint64_t tokens_of(const std::vector<std::string>& parts, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < count; ++at) bytes += parts[at].size();
  return bytes / 4;
}

// An agent with tools, and a window whose text changes in each turn and in its middle.
struct CachedFixture : TurnFixture {
  CachedFixture(Dialect the_dialect, VolatilePlace place)
      : TurnFixture(5, {}, options_for(the_dialect)), dialect(the_dialect) {
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

  // One turn with two model calls. Returns their usage.
  Usage run_turn() {
    show(two_calls);
    REQUIRE(agent.send(std::string("Note this.\n") + two_calls + "\n/then\n/say Noted.").accepted());
    REQUIRE(drive_to_end());
    CHECK(end.result->outcome == TurnOutcome::completed);
    CHECK(end.result->text == "Noted.");
    CHECK(end.result->usage.complete);
    return end.result->usage;
  }

  std::size_t tool_parts(std::size_t number) {
    return dialect == Dialect::openai_chat ? 1 : request(number)["tools"].size();
  }
  // Of what the next request begins with, too: all but the text of the window, which is the last part.
  std::uint64_t stable_tokens(std::size_t number) {
    const bool chat = dialect == Dialect::openai_chat;
    const std::size_t calls = chat ? 1 : 2;  // one message with both, or two blocks
    const std::size_t turns_before = (number - 1) / 2;
    const std::size_t stable =
        tool_parts(number) + 1 + turns_before * (calls + 4) + (number % 2 == 1 ? 1 : calls + 3);
    const std::vector<std::string> all = parts_of(request(number), dialect);
    CHECK(all.size() == stable + 1);
    CHECK(is_window(all.back()));
    return tokens_of(all, stable);
  }
  static bool is_window(const std::string& part) { return part.find("version") != std::string::npos; }

  Dialect dialect;
  Agent agent;
  int version = 0;
};

}  // namespace

TEST_CASE("a server has cached the whole stable part of the request before, in each turn",
          "[openai][anthropic][turn][cache][integration]") {
  const Dialect dialect = GENERATE(Dialect::openai_chat, Dialect::anthropic_messages);
  INFO(to_string(dialect));
  CachedFixture f(dialect, VolatilePlace::last_message);
  std::uint64_t before = 0, stable_before = 0;
  for (std::size_t turn = 1; turn <= 3; ++turn) {
    const Usage usage = f.run_turn();
    const std::size_t last = 2 * turn;  // the number of its second request
    REQUIRE(f.requests() == last);
    CHECK(usage.cached_tokens == stable_before + f.stable_tokens(last - 1));
    CHECK(usage.cached_tokens > before);
    CHECK(usage.cached_tokens < usage.prompt_tokens);
    // Chat completions do not report what is written.
    const std::uint64_t stable = f.stable_tokens(last);
    CHECK(usage.cache_write_tokens == (dialect == Dialect::openai_chat ? 0 : stable - stable_before));
    before = usage.cached_tokens;
    stable_before = stable;
  }
}

TEST_CASE("a request begins with the bytes of the one before, up to the text of the windows",
          "[openai][turn][cache][integration]") {
  CachedFixture f(Dialect::openai_chat, VolatilePlace::last_message);
  for (int turn = 1; turn <= 3; ++turn) f.run_turn();
  const std::vector<standin::Record> records = f.server->records();
  REQUIRE(records.size() == 6);
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
          "[openai][anthropic][turn][cache][integration]") {
  const Dialect dialect = GENERATE(Dialect::openai_chat, Dialect::anthropic_messages);
  INFO(to_string(dialect));
  CachedFixture f(dialect, VolatilePlace::system_prompt);
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    const Usage usage = f.run_turn();
    const std::size_t tools = f.tool_parts(1);
    const std::vector<std::string> parts = parts_of(f.request(2 * turn), dialect);
    CHECK(CachedFixture::is_window(parts[tools]));
    CHECK(usage.cached_tokens == (turn == 1 ? 1 : 2) * tokens_of(parts, tools));
  }
}

TEST_CASE("the cache of Anthropic is found behind an answer with many calls",
          "[anthropic][turn][cache][integration]") {
  TurnFixture f(5, {}, options_for(Dialect::anthropic_messages));
  std::string question = "Add.";
  for (int call = 0; call < 12; ++call) question += "\n/call add {\"a\":1,\"b\":2}";
  f.ask(question, {.system_prompt = "You add."});
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.end.result->calls.size() == 12);
  REQUIRE(f.requests() == 2);
  const json second = f.request(2);
  CHECK(second["messages"][1]["content"].size() + second["messages"][2]["content"].size() == 24);
  const auto first = parts_of(f.request(1), Dialect::anthropic_messages);
  CHECK(f.end.result->usage.cached_tokens == tokens_of(first, first.size()));
}
