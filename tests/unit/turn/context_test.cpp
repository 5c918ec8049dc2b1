// What a model is sent of a conversation, before every call.
#include "core/utf8.hpp"
#include "support/drive/tool_turn.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

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
    const auto has_text = [&](const ChatMessage& one) {
      return one.content().find(text) != std::string::npos;
    };
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
  CHECK(t.sent().at(0).content() == "Be brief.");
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
    for (const ChatMessage& message : t.sent()) size += message.content().size();
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

TEST_CASE("an event says what a request leaves out", "[turn][context][Y8]") {
  Trimming t;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->open({.id = "w", .content = std::string(50, 'w'), .important = false});
  const Agent agent =
      t.root("a", {.system_prompt = "Be brief.", .tools = tools, .context = context(1200, 600)});
  std::vector<ContextTrimmed> trims;
  const auto events = agent.on<ContextTrimmed>([&](const auto& trimmed) { trims.push_back(trimmed); });
  t.say(agent, "one");
  CHECK(trims.empty());
  for (int i = 0; i < 30 && trims.empty(); ++i) t.say(agent, long_text);
  REQUIRE(trims.size() == 1);
  const ContextTrimmed& trim = trims[0];
  const std::vector<ChatMessage> all = agent.conversation().value();
  REQUIRE(trim.messages.size() >= 2);
  CHECK(trim.messages[0] == 1);  // behind the system prompt
  CHECK(all.at(trim.messages[0]).content() == "one");
  CHECK(all.size() - trim.messages.size() == agent.context().value().size());
  CHECK((trim.turn > 2 && trim.call == 1 && !trim.for_this_turn));
  CHECK(trim.windows == 1);
  CHECK(trim.tokens_before > 1200);
  CHECK(trim.tokens_after <= 600);
}

TEST_CASE("a verb in the event of a trimmed context ends the turn before its request",
          "[turn][context][G1][Q3]") {
  Trimming t;
  const Agent agent = t.root("a", {.context = context(150, 80)});
  const auto events =
      t.tree->on<ContextTrimmed>([&](const ContextTrimmed&) { CHECK(agent.stop().accepted()); });
  std::size_t calls = 0;
  for (int i = 0; i < 6 && t.state("a") == AgentState::idle; ++i) {
    calls = t.llm->calls();
    CHECK(agent.send(long_text).accepted());
    t.settle();
    if (t.llm->find("a")) t.llm->answer("a", long_text);
    t.settle();
  }
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.llm->calls() == calls);
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("a result has at most a quarter of a request, and the conversation keeps all of it",
          "[turn][context][tools][Y8][G15]") {
  Trimming t;
  std::string said;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(
      make_tool({.name = "long"}, [&](const json&, const ToolContext&) { return ToolResult::done(said); }));
  const auto result_of = [&](const std::vector<ChatMessage>& messages, const std::string& id) {
    const auto found = std::ranges::find(messages, id, &ChatMessage::tool_call_id);
    return found == messages.end() ? std::string() : found->content();
  };
  const Agent agent = t.root("a", {.tools = tools, .context = context(800, 700)});
  std::vector<ContextTrimmed> trims;
  const auto events = agent.on<ContextTrimmed>([&](const auto& trimmed) { trims.push_back(trimmed); });
  t.ask(agent, "go");
  said = "begin" + std::string(500, 'x') + "end";
  t.llm->call_tools("a", {{.id = "1", .name = "long"}});
  t.settle();
  const std::string cut = result_of(t.sent(), "1");
  CHECK(cut.size() <= 200 - 4);
  CHECK(cut.size() > 150);
  CHECK(cut.starts_with("beginx"));
  CHECK(cut.ends_with("xend"));
  CHECK(cut.find("\n[... ") != std::string::npos);
  CHECK(cut.find(" bytes left out of the middle ...]\n") != std::string::npos);
  CHECK(result_of(agent.conversation().value(), "1") == said);
  CHECK(agent.context().value() == t.sent());
  REQUIRE(trims.size() == 1);
  CHECK(trims[0].cut_results == std::vector<std::size_t>{2});
  CHECK(trims[0].messages.empty());

  said = std::string(196, 'y');
  t.llm->call_tools("a", {{.id = "2", .name = "long"}});
  t.settle();
  CHECK(result_of(t.sent(), "2") == said);
  CHECK(result_of(t.sent(), "1") == cut);  // as before
  CHECK(trims.size() == 1);
  said = std::string(900, 'z');
  t.llm->call_tools("a", {{.id = "3", .name = "long"}});
  t.settle();
  CHECK(result_of(t.sent(), "1") == cut);
  CHECK(result_of(t.sent(), "3").size() <= 200 - 4);
  REQUIRE(trims.size() == 2);
  CHECK(trims[1].cut_results == std::vector<std::size_t>{6});
  t.llm->answer("a", "done");
  t.settle();
}

TEST_CASE("a result is cut at whole characters, whatever counts them", "[turn][context][tools]") {
  for (const bool estimates : {false, true}) {
    Trimming t;
    std::string said;
    for (int i = 0; i < 300; ++i) said += "\xe5\xb7\xb2";
    const auto tools = std::make_shared<ToolRegistry>();
    tools->add(
        make_tool({.name = "long"}, [&](const json&, const ToolContext&) { return ToolResult::done(said); }));
    ContextOptions options = context(800, 700);
    if (estimates) options = {.max_tokens = 320};
    const Agent agent = t.root("a", {.tools = tools, .context = options});
    t.ask(agent, "go");
    t.llm->call_tools("a", {{.id = "1", .name = "long"}});
    t.settle();
    const std::string& cut = t.sent().back().content();
    CHECK(cut.size() < said.size());
    CHECK(history_from_json(history_to_json(t.sent())).value() == t.sent());
    CHECK(cut.find("\xef\xbf\xbd") == std::string::npos);
    CHECK(detail::core::is_utf8(cut));
    if (estimates) CHECK(estimate_tokens(cut) <= 76);
  }
}

TEST_CASE("without a limit no result is cut", "[turn][context][tools]") {
  Trimming t;
  const std::string said(200'000, 'x');
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(
      make_tool({.name = "long"}, [&](const json&, const ToolContext&) { return ToolResult::done(said); }));
  const Agent agent = t.root("a", {.tools = tools, .context = context(no_limit, 0)});
  t.ask(agent, "go");
  t.llm->call_tools("a", {{.id = "1", .name = "long"}});
  t.settle();
  CHECK(t.sent().back().content() == said);
}

TEST_CASE("a pinned turn is never trimmed", "[turn][context][Y8]") {
  Trimming t;
  ChatMessage remember = ChatMessage::user("remember this");
  remember.pinned = true;
  const Agent agent =
      t.root("a", {.context = context(150, 80), .history = {remember, ChatMessage::assistant("I do")}});
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

TEST_CASE("an event does not name again what an earlier request of the turn left out",
          "[turn][context][Y8]") {
  Trimming t;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->open({.id = "w", .content = std::string(50, 'w'), .important = false});
  tools->add(
      make_tool({.name = "noop"}, [](const json&, const ToolContext&) { return ToolResult::done("ok"); }));
  const Agent agent = t.root("a", {.tools = tools, .context = context(1200, 600)});
  std::vector<ContextTrimmed> trims;
  const auto events = agent.on<ContextTrimmed>([&](const auto& trimmed) { trims.push_back(trimmed); });
  for (int i = 0; i < 30; ++i) {
    t.ask(agent, long_text);
    if (!trims.empty()) break;
    t.llm->answer("a", long_text);
    t.settle();
  }
  REQUIRE(trims.size() == 1);
  CHECK(trims[0].windows == 1);
  const std::size_t calls = t.llm->calls();
  t.llm->call_tools("a", {{.id = "1", .name = "noop"}});
  t.settle();
  CHECK(t.llm->calls() == calls + 1);
  CHECK(trims.size() == 1);
}
