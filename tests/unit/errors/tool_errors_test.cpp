// Errors of tools, windows and programs: the exceptions for the host, and the results that the host and the
// model read.
#include "support/drive/tool_turn.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/subprocess.hpp>
#include <agentcore/window.hpp>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

Tool tool(ToolSpec spec) {
  return make_tool(std::move(spec), [](const json&, const ToolContext&) { return ToolResult::done("done"); });
}

struct ToolTable {
  ErrorRows rows;
  ToolRegistry registry;

  template <typename Function>
  void add_thrown(std::string text, Function&& function) {
    rows.push_back({text, thrown_by(function), Errc::none, text});
  }
  void add(std::string text, Tool refused) {
    add_thrown(std::move(text), [&] { registry.add(std::move(refused)); });
  }
  void open(std::string text, Window window) {
    add_thrown(std::move(text), [&] { registry.open(std::move(window)); });
  }
  void add_schema(std::string why, std::string schema) {
    add("the parameters of the tool 'x': not a usable schema of arguments: " + why,
        tool({.name = "x", .parameters = std::move(schema)}));
  }

  void add_tools() {
    add("ToolSpec::name must be 1 to 64 of the characters A-Z a-z 0-9 _ -, and is 'a b'",
        tool({.name = "a b"}));
    add("the tool 'x' has no function; set Tool::start", {{.name = "x"}, {}});
    add("the description of the tool 'x' is not UTF-8", tool({.name = "x", .description = "\xff"}));
    add("the tool 'x': ToolSpec::timeout is -1 s; it must not be negative",
        tool({.name = "x", .timeout = -1s}));
    registry.add(tool({.name = "twice"}));
    add("a tool, or an action of a window, with the name 'twice' exists already", tool({.name = "twice"}));
  }
  void add_schemas() {
    add_schema("it is not valid JSON", "{");
    add_schema("it is not a JSON object", "[]");
    add_schema("its `type` must be \"object\"", R"({"type":"string"})");
    std::string deep = R"({"type":"object","properties":)";
    for (int i = 0; i < 70; ++i) deep += R"({"a":)";
    add_schema("it is nested deeper than 64 levels", deep + "{}" + std::string(71, '}'));
    add_schema("its $ref \"#/x\" leads nowhere within it; only \"#\" and \"#/...\" are supported",
               R"({"type":"object","properties":{"a":{"$ref":"#/x"}}})");
    add_schema("its `multipleOf` is not a number above 0, or too large",
               R"({"type":"object","properties":{"a":{"multipleOf":0}}})");
  }
  void add_windows() {
    open(
        "Window::id must be 1 to 64 bytes of UTF-8, without '__', control characters and blanks at its ends, "
        "must not be 'launcher' or 'tools', and is 'a__b'",
        {.id = "a__b"});
    open("the text of the window 'w' is not UTF-8", {.id = "w", .content = "\xff"});
    open("the window 'w' has an action 'close', a reserved name; set Window::closable instead",
         {.id = "w", .actions = {tool({.name = "close"})}});
    open("the window 'w' has two actions 'go'",
         {.id = "w", .actions = {tool({.name = "go"}), tool({.name = "go"})}});
    registry.add(tool({.name = "w__go"}));
    open("a tool, or an action of a window, with the name 'w__go' exists already",
         {.id = "w", .actions = {tool({.name = "go"})}});
    registry.open({.id = "doc"});
    open("a window with the id 'doc' is open already", {.id = "doc"});
    add_thrown("the content of the window 'doc' is not UTF-8",
               [&] { static_cast<void>(registry.set_content("doc", "\xff")); });
  }
  void add_makers() {
    const std::string rest = " is empty; pass a function to call";
    const auto pool = std::make_shared<ThreadPool>(1);
    add_thrown("make_tool: the function of 'x'" + rest, [] { make_tool({.name = "x"}, {}); });
    add_thrown("make_blocking_tool: the executor of 'x' is null; pass one, e.g. a ThreadPool", [] {
      make_blocking_tool({.name = "x"}, {}, [](const json&, const ToolContext&) { return ToolResult(); });
    });
    add_thrown("make_blocking_tool: the function of 'x'" + rest,
               [&] { make_blocking_tool({.name = "x"}, pool, {}); });
    add_thrown("Question::timeout is -1 s; it must not be negative", [] { make_ask_human_tool(-1s); });
    add_thrown("SubprocessOptions::command" + rest, [] { make_subprocess_tool({.name = "x"}, {}); });
    SubprocessOptions options;
    options.command = [](const json&) { return SubprocessCommand(); };
    options.kill_grace = -1s;
    add_thrown("SubprocessOptions::kill_grace is -1 s; it must not be negative",
               [&] { make_subprocess_tool({.name = "x"}, options); });
  }
  void add_questions() {
    ToolTurn t;
    t.ask(t.agent());
    t.call({{.id = "x", .name = "held"}});
    const ToolContext context = t.held.calls.at(0).context;
    add_thrown("ToolContext::ask: closed is empty; pass a function to call", [&] { context.ask({}, {}); });
    add_thrown("Question::timeout is -1 s; it must not be negative",
               [&] { context.ask({.timeout = -1s}, [](const Answer&) {}); });
  }
};

// The message of the record of one call of `name`.
Error record_of(std::string name, std::string arguments, std::vector<Tool> tools = {}) {
  ToolTurn t;
  for (Tool& more : tools) t.tools->add(std::move(more));
  t.ask(t.agent());
  t.call({{.id = "x", .name = std::move(name), .arguments = std::move(arguments)}});
  t.answer("answer");
  REQUIRE(t.result->calls.size() == 1);
  return {Errc::none, t.result->calls.at(0).message};
}

Tool program(SubprocessCommand command) {
  SubprocessOptions options;
  options.command = [command = std::move(command)](const json&) { return command; };
  return make_subprocess_tool({.name = "program"}, options);
}

void add_records(ErrorRows& rows) {
  const auto add = [&rows](std::string text, Error record) {
    rows.push_back({text, std::move(record), Errc::none, text});
  };
  add("Tool 'nothing' does not exist", record_of("nothing", "{}"));
  add("the arguments are not valid JSON; write them as one JSON object", record_of("add", "{"));
  add("the arguments are not a JSON object", record_of("add", "[]"));
  add("the call has no arguments: params.a is required", record_of("add", ""));
  add("the call has no arguments; write them as one JSON object, or {} to call the tool without any",
      record_of("look", "",
                {make_tool({.name = "look", .parameters = R"({"type":"object","properties":{"a":{}}})"},
                           [](const json&, const ToolContext&) { return ToolResult(); })}));
  add("the tool failed: boom", record_of("throws", "{}"));
  add("SubprocessCommand::arguments is empty; its first entry must be a program",
      record_of("program", "{}", {program({})}));
  add("cannot start \"/no/such/program\": No such file or directory",
      record_of("program", "{}", {program({.arguments = {"/no/such/program"}})}));
  add("cannot enter the directory \"/no/such/folder\": No such file or directory",
      record_of("program", "{}", {program({.arguments = {"/bin/true"}, .directory = "/no/such/folder"})}));
}

}  // namespace

ErrorRows test::tool_errors() {
  ToolTable table;
  table.add_tools();
  table.add_schemas();
  table.add_windows();
  table.add_makers();
  table.add_questions();
  add_records(table.rows);
  return table.rows;
}

TEST_CASE("every error of tools and windows and programs has its text", "[errors][tools]") {
  check(tool_errors());
}
