// Tools and windows: what may be registered, what a model receives of them, and the effects of their actions.
#include "tools/registry.hpp"

#include "context/token_count.hpp"
#include "support/drive/tool_turn.hpp"

#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

Tool says(std::string name, ToolResult result) {
  return make_tool({.name = std::move(name)}, [result](const json&, const ToolContext&) { return result; });
}

// A window "doc" whose action `go` gives `result`.
Window doc(ToolResult result = ToolResult::done("gone")) {
  Window window;
  window.id = "doc";
  window.actions.push_back(says("go", std::move(result)));
  return window;
}

std::string error_of(const ToolRegistry& registry, std::string_view window, std::string_view action) {
  return registry.impl().find(window, action).error;
}

// Its registry has a launch handler, which writes down what it gets.
struct Launching : ToolTurn {
  std::vector<std::string> launched;
  std::function<void()> on_launch;

  Launching() {
    tools = std::make_shared<ToolRegistry>(
        [this](ToolRegistry&, const Agent& who, std::string_view app, std::string_view target) {
          launched.push_back(who.id() + " " + std::string(app) + " " + std::string(target));
          if (on_launch) on_launch();
        });
  }
  // Runs one action; returns what the model receives.
  std::string act(std::string name, std::string arguments = "{}") {
    ask((*this)["a"].exists() ? (*this)["a"] : agent());
    call({{.name = std::move(name), .arguments = std::move(arguments)}});
    const std::string told = (*this)["a"].conversation().value().back().content();
    answer("done");
    return told;
  }
};

// A result that opens an application.
ToolResult launching(std::string app, std::string target = {}, bool close_source = false) {
  ToolResult result = ToolResult::done("gone");
  result.launch = Launch{std::move(app), std::move(target)};
  result.close_source = close_source;
  return result;
}

}  // namespace

TEST_CASE("a missing window or action or parameter is named in fixed words", "[tools][Y9]") {
  ToolRegistry registry;
  Window fixed = doc();
  fixed.closable = false;
  registry.open(std::move(fixed));
  CHECK(error_of(registry, "x", "go") == "Window 'x' does not exist");
  CHECK(error_of(registry, "x", "close") == "Window 'x' does not exist");
  CHECK(error_of(registry, "doc", "close") == "Window 'doc' cannot be closed");
  CHECK(error_of(registry, "launcher", "close") == "Window 'launcher' cannot be closed");
  CHECK(error_of(registry, "doc", "a") == "Action 'a' does not exist on window 'doc'");
  CHECK(error_of(registry, "", "a") == "Tool 'a' does not exist");
  CHECK(error_of(registry, "tools", "a") == "Tool 'a' does not exist");
  CHECK(error_of(registry, "doc", "go").empty());
}

TEST_CASE("both protocols report the same errors to the model", "[tools][turn][Y9]") {
  for (const ToolProtocol protocol : {ToolProtocol::native, ToolProtocol::text}) {
    ToolTurn t;
    Window fixed = doc();
    fixed.closable = false;
    t.tools->open(std::move(fixed));
    t.ask(t.agent({.tool_protocol = protocol}));
    const std::vector<std::pair<std::string, std::string>> asked{
        {"gone", "save"}, {"doc", "close"}, {"doc", "save"}};
    if (protocol == ToolProtocol::native) {
      std::vector<ToolCall> calls;
      for (const auto& [window, action] : asked) calls.push_back({.name = window + "__" + action});
      t.call(calls);
    } else {
      json list = json::array();
      for (const auto& [window, action] : asked)
        list.push_back({{"window_id", window}, {"action_id", action}});
      t.answer("<tool_call>" + json{{"calls", list}}.dump() + "</tool_call>");
    }
    const auto messages = t["a"].conversation().value();
    REQUIRE(messages.size() == 5);
    CHECK(messages[2].content() == "error: Window 'gone' does not exist");
    CHECK(messages[3].content() == "error: Window 'doc' cannot be closed");
    CHECK(messages[4].content() == "error: Action 'save' does not exist on window 'doc'");
  }
}

TEST_CASE("names and ids that cannot be called are refused", "[tools][Y9]") {
  ToolRegistry registry;
  const ToolResult ok = ToolResult::done("ok");
  for (const char* name : {"", "a b", "a.b", "\xc3\xa4"})
    CHECK_THROWS_AS(registry.add(says(name, ok)), std::invalid_argument);
  CHECK_THROWS_AS(registry.add(says(std::string(65, 'x'), ok)), std::invalid_argument);
  CHECK_NOTHROW(registry.add(says(std::string(64, 'x'), ok)));
  CHECK_THROWS_AS(registry.add({{.name = "empty"}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(registry.open({.id = "empty", .actions = {{{.name = "empty"}, {}}}}),
                  std::invalid_argument);
  CHECK_THROWS_AS(registry.add({{.name = "bad", .parameters = "{"}, says("bad", ok).start}),
                  std::invalid_argument);
  CHECK_THROWS_AS(registry.add({{.name = "bad", .description = "\xff"}, says("bad", ok).start}),
                  std::invalid_argument);

  for (const char* id : {"", " ", "a__b", "launcher", "tools", "\xff", " a", "a ", "a\nb", "\ta", "a\x7f"}) {
    CAPTURE(id);
    CHECK_THROWS_AS(registry.open({.id = id}), std::invalid_argument);
  }
  CHECK_THROWS_AS(registry.open({.id = std::string(65, 'x')}), std::invalid_argument);
  CHECK_NOTHROW(registry.open({.id = "Tab 1 \xc3\xa4"}));
  CHECK_THROWS_AS(registry.open({.id = "Tab 1 \xc3\xa4"}), std::invalid_argument);
  CHECK_THROWS_AS(registry.open({.id = "x", .content = "\xff"}), std::invalid_argument);
  CHECK_THROWS_AS(registry.set_content("Tab 1 \xc3\xa4", "\xff"), std::invalid_argument);
  CHECK_FALSE(registry.set_content("nobody", "x"));
}

TEST_CASE("a tool without a function is refused when it is made", "[tools][Y9]") {
  CHECK_THROWS_AS(make_tool({.name = "empty"}, {}), std::invalid_argument);
  CHECK_THROWS_AS(make_blocking_tool({.name = "empty"}, std::make_shared<ThreadPool>(1), {}),
                  std::invalid_argument);
  CHECK_THROWS_AS(make_subprocess_tool({.name = "empty"}, {}), std::invalid_argument);
}

TEST_CASE("a pattern that cannot be used is refused with the tool and the place and the reason",
          "[tools][Y9]") {
  ToolRegistry registry;
  Tool tool = says("find", ToolResult::done("ok"));
  tool.spec.parameters = R"({"type":"object","properties":{"k":{"pattern":"a(?=b)c"}}})";
  std::string why;
  try {
    registry.add(std::move(tool));
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  INFO(why);
  for (const char* part : {"'find'", "\"a(?=b)c\"", "#/properties/k/pattern"})
    CHECK(why.find(part) != std::string::npos);
  CHECK(registry.names().empty());
}

TEST_CASE("the action name close is reserved and action names are unique", "[tools][Y9]") {
  ToolRegistry registry;
  for (const bool closable : {true, false}) {
    Window window{.id = "w", .closable = closable};
    window.actions.push_back(says("close", ToolResult::done("x")));
    CHECK_THROWS_AS(registry.open(std::move(window)), std::invalid_argument);
  }
  Window twice = doc();
  twice.actions.push_back(says("go", ToolResult::done("x")));
  CHECK_THROWS_AS(registry.open(std::move(twice)), std::invalid_argument);
  CHECK(registry.windows().empty());
}

TEST_CASE("no two tools get the same name", "[tools][Y9]") {
  const ToolResult ok = ToolResult::done("ok");
  ToolRegistry registry;
  registry.open(doc());
  CHECK_THROWS_AS(registry.add(says("doc__go", ok)), std::invalid_argument);
  CHECK_THROWS_AS(registry.add(says("launcher__open", ok)), std::invalid_argument);
  registry.add(says("w__go", ok));
  CHECK_THROWS_AS(registry.add(says("w__go", ok)), std::invalid_argument);
  Window w{.id = "w"};
  w.actions.push_back(says("go", ok));
  CHECK_THROWS_AS(registry.open(w), std::invalid_argument);
  Window one{.id = "v"}, two{.id = "v_"};
  one.actions.push_back(says("_go", ok));
  two.actions.push_back(says("go", ok));
  registry.open(one);
  CHECK_THROWS_AS(registry.open(two), std::invalid_argument);
}

TEST_CASE("the launcher exists from the first window on and is always first", "[tools][K10]") {
  ToolRegistry registry;
  CHECK(registry.windows().empty());
  registry.open({.id = "b"});
  registry.open({.id = "a"});
  CHECK(registry.windows() == std::vector<std::string>{"launcher", "b", "a"});
  CHECK_FALSE(registry.close("launcher"));
  CHECK(registry.close("b"));
  CHECK_FALSE(registry.close("b"));
  CHECK(registry.windows() == std::vector<std::string>{"launcher", "a"});
  const ToolRegistry launching([](ToolRegistry&, const Agent&, std::string_view, std::string_view) {});
  CHECK(launching.windows() == std::vector<std::string>{"launcher"});
}

TEST_CASE("an action's result launches an application", "[tools][K9]") {
  Launching t;
  t.tools->open(doc(launching("notes", R"({"page":3})")));
  CHECK(t.act("doc__go") == "gone");
  CHECK(t.launched == std::vector<std::string>{R"(a notes {"page":3})"});
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher", "doc"});
}

TEST_CASE("an action that failed launches nothing", "[tools][K9]") {
  Launching t;
  ToolResult failed = launching("notes", {}, true);
  failed.success = false;
  t.tools->open(doc(failed));
  CHECK(t.act("doc__go") == "error: gone");
  CHECK(t.launched.empty());
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher", "doc"});
}

// What a tool that is not an app may return. The author of the text is unknown: it may come from a page that
// was fetched or a program that was run.
constexpr std::string_view text_like_a_launch =
    R"({"action":"launch","app":"notes","target":{"page":3},"close_source":true})";

TEST_CASE("no text in the result of a tool opens or closes a window", "[tools][K9][K10]") {
  const std::string text(text_like_a_launch);
  Launching t;
  ToolResult result = ToolResult::done(text, text);
  result.summary = text;
  t.tools->open(doc(result));
  t.tools->add(says("fetch", result));
  CHECK(t.act("doc__go") == text + "\n" + text);
  CHECK(t.act("fetch") == text + "\n" + text);
  CHECK(t.launched.empty());
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher", "doc"});
}

TEST_CASE("no text that a program writes opens or closes a window", "[tools][subprocess][K9][K10]") {
  const std::string text(text_like_a_launch);
  Launching t;
  t.tools->open(doc(ToolResult::done("", "")));
  t.tools->add(make_subprocess_tool({.name = "run"}, {.command = [&](const json&) {
                                      return SubprocessCommand{.arguments = {"printf", "%s", text}};
                                    }}));
  t.ask(t.agent());
  const std::size_t asked = t.llm->calls();
  t.call({{.name = "run"}});
  REQUIRE(t.drive([&] { return t.llm->calls() > asked; }));
  REQUIRE(t["a"].conversation().value().back().content() == text + "\n{\"exit_code\":0}");
  CHECK(t.launched.empty());
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher", "doc"});
}

TEST_CASE("the window of a launch closes while the launcher stays open", "[tools][K9][K10]") {
  Launching t;
  t.tools->open(doc(launching("notes", {}, true)));
  t.on_launch = [&] { CHECK(t.tools->windows().back() == "doc"); };  // only afterwards
  t.act("doc__go");
  CHECK(t.launched == std::vector<std::string>{"a notes "});
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher"});
  t.on_launch = {};
  const std::string told = t.act("launcher__open", R"({"app":"mail","target":"inbox"})");
  CHECK(told == "launched mail");
  CHECK(t.result->success());
  CHECK(t.result->calls.at(0).success);
  CHECK(t.launched.back() == R"(a mail "inbox")");
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher"});
}

TEST_CASE("close_source closes a closable window without a launch", "[tools][K10]") {
  for (const bool closable : {true, false}) {
    Launching t;
    ToolResult closing = ToolResult::done("gone");
    closing.close_source = true;
    Window window = doc(closing);
    window.closable = closable;
    t.tools->open(std::move(window));
    t.act("doc__go");
    CHECK(t.tools->windows().size() == (closable ? 1 : 2));
  }
}

TEST_CASE("a window that a launch reopened under the same id stays", "[tools][K10]") {
  Launching t;
  t.tools->open(doc(launching("doc", {}, true)));
  t.on_launch = [&] {
    t.tools->close("doc");
    t.tools->open(doc());
  };
  t.act("doc__go");
  CHECK(t.tools->windows() == std::vector<std::string>{"launcher", "doc"});
}

TEST_CASE("a failed launch makes the action fail", "[tools][K12]") {
  Launching t;
  t.tools->open(doc(launching("", {}, true)));
  CHECK(t.act("doc__go") == "error: launch command missing app name");
  CHECK_FALSE(t.result->calls.at(0).success);
  CHECK(t.tools->windows().back() == "doc");  // its source stays
  t.tools->close("doc");
  t.tools->open(doc(launching("notes")));
  t.on_launch = [] { throw std::runtime_error("no such program"); };
  CHECK(t.act("doc__go").find("error: launch failed: no such program") == 0);
  CHECK(t.result->success());  // the turn went on

  ToolTurn none;
  none.tools->open(doc(launching("notes")));
  none.ask(none.agent());
  none.call({{.name = "doc__go"}});
  CHECK(none["a"].conversation().value().back().content().find(
            "error: launch failed: this host opens no applications") == 0);
}

TEST_CASE("a launch handler may stop the agent and destroy the tree", "[tools][K9][G1]") {
  for (const bool whole_tree : {false, true}) {
    Launching t;
    t.check_at_end = !whole_tree;
    t.tools->open(doc(launching("notes")));
    const Agent agent = t.agent();
    t.ask(agent);
    t.on_launch = [&] {
      if (whole_tree)
        t.tree.reset();
      else
        CHECK(agent.stop().took_effect());
    };
    t.call({{.name = "doc__go"}, {.name = "doc__go"}});
    CHECK(t.launched.size() == 1);
    CHECK(t.llm->calls() == 1);
    if (!whole_tree) CHECK(t.state("a") == AgentState::stopped);
  }
}

TEST_CASE("nothing is launched for an agent that an observer has just stopped", "[tools][K9][G1]") {
  Launching t;
  Window window{.id = "doc"};
  window.actions.push_back({{.name = "held"}, t.held.start()});
  t.tools->open(std::move(window));
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "doc__held"}});
  REQUIRE(t.held.calls.size() == 1);
  t.held.calls[0].context.ask({.text = "Sure?"}, [](const Answer&) {});
  const Subscription stops = t.tree->on_event([&](const Event& event) {
    if (event.get<QuestionClosed>()) static_cast<void>(agent.stop());
  });
  t.held.calls[0].done(launching("notes"));
  t.settle();
  CHECK(t.seen.count("closed a q_1 cancelled") == 1);
  CHECK(t.launched.empty());
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a window closes by itself after an action that succeeded", "[tools][K10]") {
  for (const bool closable : {true, false}) {
    for (const bool success : {true, false}) {
      ToolTurn t;
      Window window = doc(success ? ToolResult::done("ok") : ToolResult::failed("no"));
      window.auto_close_on_action = true;
      window.closable = closable;
      t.tools->open(std::move(window));
      t.ask(t.agent());
      t.call({{.name = "doc__go"}});
      CHECK(t.tools->windows().size() == (success ? 1 : 2));
    }
  }
}

TEST_CASE("a model closes a window with a summary", "[tools][K10]") {
  ToolTurn t;
  t.tools->open(doc());
  t.ask(t.agent());
  t.call({{.name = "doc__close", .arguments = R"({"summary":"read it"})"},
          {.name = "doc__close", .arguments = "{}"}});
  CHECK(t.history() ==
        "user:question, assistant:[doc__close call_1_1][doc__close call_1_2], tool:call_1_1=closed, "
        "tool:call_1_2=error: Window 'doc' does not exist");
  t.answer("done");
  CHECK(t.result->calls.at(0).summary == "read it");
  CHECK(t.result->calls.at(0).window_id == "doc");
  CHECK(t.result->calls.at(0).tool == "close");
}

TEST_CASE("a tool that is removed while it runs is kept by its call", "[tools][Y9]") {
  ToolTurn t;
  Window window{.id = "doc"};
  window.actions.push_back({{.name = "held"}, t.held.start()});
  t.tools->open(std::move(window));
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "doc__held"}});
  REQUIRE(t.held.calls.size() == 2);
  CHECK(t.tools->remove("held"));
  CHECK_FALSE(t.tools->remove("held"));
  CHECK(t.tools->close("doc"));
  for (auto& call : t.held.calls) call.done(ToolResult::done("still there"));
  t.settle();
  CHECK(t["a"].conversation().value().back().content() == "still there");
  CHECK(t.llm->call(1).request.tools.size() == 3);  // add, throws, launcher__open
  CHECK(t.tools->names() == std::vector<std::string>{"add", "throws"});
}

TEST_CASE("native names are valid for providers and distinct", "[tools][Y9]") {
  using detail::tools::native_name;
  CHECK(native_name("", "add") == "add");
  CHECK(native_name("doc", "go") == "doc__go");
  // The longest that providers accept stays as it is.
  CHECK(native_name("", std::string(64, 'x')) == std::string(64, 'x'));
  CHECK(native_name(std::string(31, 'x'), std::string(31, 'y')) ==
        std::string(31, 'x') + "__" + std::string(31, 'y'));
  const std::vector<std::string> names{native_name("a b", "go"),
                                       native_name("a.b", "go"),
                                       native_name("a_b", "go"),
                                       native_name("\xc3\xa4", "go"),
                                       native_name("\xc3\xb6", "go"),
                                       native_name(std::string(64, 'x'), std::string(64, 'y')),
                                       native_name(std::string(64, 'x'), std::string(63, 'y') + "z")};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK(names[i].size() <= 64);
    CHECK(names[i].find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
          std::string::npos);
    for (std::size_t k = 0; k < i; ++k) CHECK(names[i] != names[k]);
  }
}

TEST_CASE("a window of any id is called by its native name", "[tools][Y9]") {
  ToolTurn t;
  Window window = doc();
  window.id = "My \xc3\xa4 window";
  t.tools->open(std::move(window));
  t.ask(t.agent());
  t.call({{.name = detail::tools::native_name("My \xc3\xa4 window", "go")}});
  CHECK(t["a"].conversation().value().back().content() == "gone");
}

TEST_CASE("the windows stand behind a system message that stays the same", "[tools][turn][Y8]") {
  for (const ToolProtocol protocol : {ToolProtocol::native, ToolProtocol::text}) {
    ToolTurn t;
    t.ask(t.agent({.system_prompt = "Be brief.", .tool_protocol = protocol}));
    CHECK(t.llm->call(0).request.tail.empty());
    t.tools->open(doc());
    t.tools->set_content("doc", "Dear Sir");
    t.answer("read");
    t.ask(t["a"], "again");
    const ChatRequest& first = t.llm->call(0).request;
    const ChatRequest& second = t.llm->call(1).request;
    CHECK(second.messages.at(0) == first.messages.at(0));
    CHECK(second.messages.at(1) == first.messages.at(1));
    const bool lists_actions = second.tail.find("Actions with window_id \"doc\"") != std::string::npos;
    CHECK(lists_actions == (protocol == ToolProtocol::text));
    CHECK(second.tail.find("## Window launcher\n") < second.tail.find("## Window doc\n"));
    CHECK(second.tail.ends_with("Dear Sir\n"));
    CHECK(detail::context::request_tokens(second) >
          detail::context::request_tokens({.messages = second.messages, .tools = second.tools}));
  }
}

TEST_CASE("the system message has the windows in their state at each call, if the agent wants that",
          "[tools][turn][Y8]") {
  for (const ToolProtocol protocol : {ToolProtocol::native, ToolProtocol::text}) {
    ToolTurn t;
    Window window = doc();
    window.description = "A letter.";
    window.content = "Dear Sir";
    t.tools->open(std::move(window));
    t.ask(t.agent({.system_prompt = "Be brief.",
                   .tool_protocol = protocol,
                   .context = {.volatile_place = VolatilePlace::system_prompt}}));
    CHECK(t.llm->call(0).request.tail.empty());
    const ChatMessage first = t.llm->call(0).request.messages.at(0);
    CHECK(first.role == Role::system);
    CHECK(first.content().find("Be brief.\n\n") == 0);
    CHECK(first.content().find("## Window launcher\n") <
          first.content().find("## Window doc\nA letter.\nDear Sir\n"));
    CHECK(first.content().find("## Window doc") != std::string::npos);
    const auto& tools = t.llm->call(0).request.tools;
    CHECK(tools.size() == (protocol == ToolProtocol::native ? 6 : 0));
    if (protocol == ToolProtocol::native) {
      CHECK(tools.at(4).name == "doc__go");
      CHECK(tools.at(4).description == "On window doc.");
      CHECK(tools.at(5).name == "doc__close");
    } else {
      CHECK(first.content().find("Actions with window_id \"doc\":\n- go (no params)\n- close") !=
            std::string::npos);
    }
    t.tools->set_content("doc", "Dear Madam");
    t.answer("read");
    t.ask(t["a"], "again");
    const ChatMessage second = t.llm->call(1).request.messages.at(0);
    CHECK(second.content().find("Dear Madam") != std::string::npos);
    CHECK(second.content().find("Dear Sir") == std::string::npos);
    CHECK(t["a"].conversation().value().at(0).content() == "Be brief.");
  }
}

TEST_CASE("an event tells which call closed a window and why", "[tools][windows][X40][K10]") {
  Launching t;
  std::vector<std::string> closed;
  const auto windows = t.tree->on<WindowClosed>([&](const WindowClosed& window) {
    CHECK(t.tools->windows() == std::vector<std::string>{"launcher"});  // it is closed already
    closed.push_back(window.agent.id() + " " + std::to_string(window.turn) + " " + window.call_id + " " +
                     window.window_id + " " + std::string(to_string(window.reason)));
  });
  using Lines = std::vector<std::string>;
  SECTION("the action close") {
    t.tools->open(doc());
    t.act("doc__close");
    CHECK(closed == Lines{"a 1 call_1_1 doc action"});
    CHECK(to_json(*t.result).find("closeSource\":true") == std::string::npos);
    CHECK(t.seen.index("window-closed a doc action") < t.seen.index("tool-end a call_1_1 completed ok"));
    t.act("doc__close");  // there is none any more
    CHECK(closed.size() == 1);
  }
  SECTION("close_source") {
    ToolResult closing = ToolResult::done("gone");
    closing.close_source = true;
    t.tools->open(doc(closing));
    t.act("doc__go");
    CHECK(closed == Lines{"a 1 call_1_1 doc by_result"});
  }
  SECTION("auto_close_on_action") {
    Window window = doc();
    window.auto_close_on_action = true;
    window.closable = false;
    t.tools->open(std::move(window));
    t.act("doc__go");
    CHECK(closed == Lines{"a 1 call_1_1 doc after_action"});
  }
  SECTION("a result of the host") {
    t.tools->open(doc());
    t.tools->add({{.name = "held"}, t.held.start()});
    t.ask(t.agent());
    t.call({{.name = "held"}, {.id = "x", .name = "doc__close", .arguments = "{}"}});
    CHECK(closed == Lines{});
    CHECK(t["a"].complete_call("x", ToolResult::done("by hand")).took_effect());
    t.settle();
    CHECK(closed == Lines{});
    CHECK(t.tools->windows().size() == 2);
  }
  SECTION("not for a window that stays open") {
    ToolResult closing = ToolResult::done("gone");
    closing.close_source = true;
    Window window = doc(closing);
    window.closable = false;
    t.tools->open(std::move(window));
    t.act("doc__go");
    CHECK(closed == Lines{});
    CHECK(t.tools->close("doc"));  // by the host
    CHECK(closed == Lines{});
  }
}

TEST_CASE("an observer of a closed window may end the turn", "[tools][windows][Q3]") {
  for (const bool stops : {true, false}) {
    Launching t;
    t.check_at_end = stops;
    t.tools->open(doc());
    const auto windows = t.tree->on<WindowClosed>([&](const WindowClosed& window) {
      if (stops)
        CHECK(window.agent.stop().took_effect());
      else
        t.tree.reset();
    });
    t.ask(t.agent());
    t.call({{.name = "doc__close", .arguments = "{}"}});
    t.settle();
    CHECK(t.tools->windows().size() == 1);
    if (stops) CHECK(t.state("a") == AgentState::stopped);
  }
}
