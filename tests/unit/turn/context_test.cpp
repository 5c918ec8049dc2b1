// What a model is sent of a conversation, before every call.
#include "support/drive/tool_turn.hpp"

#include <algorithm>
#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::size_t bytes(std::string_view text) {
  return text.size();
}

ContextOptions context(std::size_t max, std::size_t target) {
  return {.max_tokens = max, .target_tokens = target, .min_conversation_tokens = 1, .count_tokens = bytes};
}

const std::string long_text(40, 'x');

struct Trimming : TreeFixture {
  const std::vector<ChatMessage>& sent() const { return llm->call(llm->calls() - 1).request.messages; }
  std::size_t sent_with(std::string_view text) const {
    const bool in_tail = llm->call(llm->calls() - 1).request.tail.find(text) != std::string::npos;
    const auto has_text = [&](const ChatMessage& one) { return one.content.find(text) != std::string::npos; };
    return static_cast<std::size_t>(std::count_if(sent().begin(), sent().end(), has_text)) +
           (in_tail ? 1 : 0);
  }
  void say(const Agent& agent, const std::string& text) {
    ask(agent, text);
    llm->answer(agent.id(), "re " + text);
    settle();
  }
};

}  // namespace

TEST_CASE("old turns are trimmed from the request but stay in the conversation", "[turn][context][Y8][K4]") {
  Trimming t;
  const Agent agent = t.root("a", {.system_prompt = "Be brief.", .context = context(200, 120)});
  for (const char* name : {"one", "two", "three", "four"}) t.say(agent, name + long_text);
  CHECK(t.sent_with("one") == 0);
  CHECK(t.sent_with("four") == 1);
  CHECK(t.sent().at(0).content == "Be brief.");
  CHECK(t.sent_with("Be brief.") == 1);
  CHECK(agent.conversation().value().size() == 9);
  CHECK(is_valid_history(t.sent()));
  CHECK(t.logged("context trimmed agent=a"));

  const auto sent = t.sent();
  t.ask(agent, "short");
  CHECK(agent.context().value() == t.sent());
  CHECK(t.sent_with("one") == 0);  // also not when there is room again
  CHECK(t.sent().size() <= sent.size() + 2);
}

TEST_CASE("a short history is sent unchanged and without a limit nothing is trimmed", "[turn][context][Y8]") {
  for (const ContextOptions& options : {context(100'000, 1), context(no_limit, 0)}) {
    Trimming t;
    const Agent agent = t.root("a", {.context = options});
    for (int i = 0; i < 5; ++i) t.say(agent, long_text);
    CHECK(t.sent().size() == 9);
    CHECK(agent.context().value() == agent.conversation().value());
    CHECK_FALSE(t.logged("context trimmed"));
  }
}

TEST_CASE("the context is trimmed before every call of a turn", "[turn][context][tools][Y8][K4][K5]") {
  Trimming t;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "long"},
                       [](const json&, const ToolContext&) { return ToolResult::done(long_text); }));
  const Agent agent =
      t.root("a", {.system_prompt = "Be brief.", .tools = tools, .context = context(250, 150)});
  t.say(agent, "an old turn");
  t.ask(agent, "the question");
  bool trimmed = false;
  for (int i = 1; i <= 8; ++i) {
    t.llm->call_tools("a", {{.id = "call " + std::to_string(i), .name = "long"}});
    t.settle();
    CAPTURE(written(t.sent()));
    std::size_t size = 0;
    for (const ChatMessage& message : t.sent()) size += message.content.size();
    CHECK(size <= 250);
    CHECK(is_valid_history(t.sent()));
    CHECK(t.sent_with("the question") == 1);
    CHECK(t.sent_with("Be brief.") == 1);
    CHECK(t.sent().back().tool_call_id == "call " + std::to_string(i));
    CHECK(t.sent() == agent.context().value());
    trimmed = trimmed || t.sent().size() < agent.conversation().value().size();
  }
  CHECK(trimmed);
  CHECK(t.sent_with("an old turn") == 0);
  CHECK(agent.conversation().value().size() == 1 + 2 + 1 + 8 * 2);
}

TEST_CASE("a pinned turn is never trimmed", "[turn][context][Y8]") {
  Trimming t;
  ChatMessage remember{Role::user, "remember this"};
  remember.pinned = true;
  const Agent agent =
      t.root("a", {.context = context(150, 80), .history = {remember, {Role::assistant, "I do"}}});
  for (int i = 0; i < 4; ++i) t.say(agent, long_text);
  CHECK(t.sent_with("remember this") == 1);
  CHECK(t.sent_with("I do") == 1);
  CHECK(t.sent().size() < agent.conversation().value().size() - 1);
}

TEST_CASE("no model call starts if the token counter stops its agent", "[turn][context][G1][Q3]") {
  Trimming t;
  ContextOptions options = context(50, 20);
  options.count_tokens = [&](std::string_view text) {
    static_cast<void>(t["a"].stop());
    return text.size();
  };
  const Agent agent = t.root("a", {.context = options});
  CHECK(agent.send("question").accepted());
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
  CHECK(written(agent.conversation().value()) == "user:question!stopped");
}

TEST_CASE("the whole history is sent if the token counter throws", "[turn][context][Y8][G16]") {
  Trimming t;
  ContextOptions options = context(50, 20);
  bool broken = true;
  options.count_tokens = [&](std::string_view text) {
    if (broken) throw std::runtime_error("no idea");
    return text.size();
  };
  const Agent agent = t.root("a", {.context = options});
  for (int i = 0; i < 3; ++i) t.say(agent, long_text);
  CHECK(t.sent().size() == 5);
  CHECK(t.logged("no idea"));
  broken = false;
  t.ask(agent, "short");
  CHECK(t.sent().size() == 1);
}

TEST_CASE("unimportant windows are trimmed before important ones and pinned ones never",
          "[turn][context][tools][Y8]") {
  for (const ToolProtocol protocol : {ToolProtocol::native, ToolProtocol::text}) {
    Trimming t;
    const auto tools = std::make_shared<ToolRegistry>();
    tools->open({.id = "pinned", .content = "P" + std::string(400, 'p'), .pinned = true, .important = false});
    tools->open({.id = "main", .content = "M" + std::string(400, 'm')});
    tools->open({.id = "aside", .content = "A" + std::string(5000, 'a'), .important = false});
    const Agent agent =
        t.root("a", {.tools = tools, .tool_protocol = protocol, .context = context(5000, 4000)});
    t.ask(agent, "question");
    CHECK(t.sent_with("Ppp") == 1);
    CHECK(t.sent_with("Mmm") == 1);
    CHECK(t.sent_with("Aaa") == 0);
    CHECK(t.sent_with("## Window aside") == 0);
    CHECK(t.sent_with("## Window launcher") == 1);
    t.llm->answer("a", "ok");
    t.settle();
    // A window that is opened anew is a new one.
    CHECK(tools->close("aside"));
    tools->open({.id = "aside", .content = "short now", .important = false});
    t.ask(agent, "again");
    CHECK(t.sent_with("short now") == 1);
    CHECK(t.sent_with("Mmm") == 1);
  }
}

TEST_CASE("the context of a new agent is its system prompt", "[turn][context][Y8]") {
  Trimming t;
  const Agent agent = t.root("a", {.system_prompt = "Be brief."});
  CHECK(written(agent.context().value()) == "system:Be brief.");
  CHECK_FALSE(Agent{}.context());
}
