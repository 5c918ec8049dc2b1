// The screen of the terminal view, without a terminal.
#include "console/top/layout.hpp"

#include "console/top/text.hpp"
#include "support/catch.hpp"
#include "unit/console_top/desk.hpp"
#include "unit/console_top/utf8_locale.hpp"

#include <string>

#include <nlohmann/json.hpp>

using namespace console_app::top;
using namespace console_top_test;

TEST_CASE("the screen shows agents, states and queues", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("planner", "", "waiting_llm", 2);
  desk.add("scout", "planner", "stopped");
  const std::string text = desk.text();
  CHECK(has(text, "2 agents, 1 running, 1 stopped"));
  CHECK(has(text, "\u25be planner"));
  CHECK(has(text, "model"));
  CHECK(has(text, "    scout"));
  CHECK(has(text, "stopped"));
  CHECK(has(text, "waiting for the model, 2 in the queue"));
  CHECK(has(text, "q quit"));
  desk.agents.collapse();
  CHECK(has(desk.text(), "\u25b8 planner +1"));
}

TEST_CASE("every size of a screen is filled exactly", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  std::string parent;
  for (int i = 0; i < 40; ++i) {
    const std::string id = "\u4f60\u597d\x1b[2J\n" + std::to_string(i);
    desk.add(id, parent, "processing", i * 1000);
    parent = id;
  }
  desk.agents.select(39);
  desk.conversation.open(parent);
  desk.conversation.take_page(
      {{"agentId", parent},
       {"messages",
        {{{"role", "user"}, {"content", "a \x1b\u4f60\u597d " + std::string(200, 'x')}},
         {{"role", "tool"}, {"content", "\u202e\r\n\t"}}}}});
  desk.note.text = "\x1b]0;title\x07 " + std::string(100, 'n');
  const std::string hostile =
      "\x1b]0;t\x07\u202e \r\n\t" + std::string(2'500, 'q');  // more than the largest screen
  desk.ask("q_1", parent, hostile, "ask_human", {hostile, "\u4f60\u597d"});
  desk.ask("q_2", parent, hostile, "\x1b[2J\u4f60\u597d tool");
  for (const PromptKind kind : {PromptKind::none, PromptKind::message, PromptKind::search, PromptKind::stop,
                                PromptKind::answer, PromptKind::approval, PromptKind::decline}) {
    desk.prompt = {.kind = kind, .agent_id = parent, .line = LineEditor("\u4f60\u597d text that is long")};
    desk.prompt.question = desk.questions.all()[kind == PromptKind::approval ? 1 : 0];
    desk.prompt.scope = Scope::subtree;
    for (std::size_t width = 1; width < 100; width += width < 40 ? 1 : 7) {
      for (const std::size_t height : {1UL, 2UL, 3UL, 4UL, 5UL, 8UL, 17UL, 24UL}) {
        const Frame frame = desk.frame(width, height);
        bool fits = frame.lines.size() == height;
        for (const Line& line : frame.lines) fits = fits && columns(line.text()) == width;
        for (const Line& line : frame.lines)
          for (const char byte : line.text()) fits = fits && static_cast<unsigned char>(byte) >= 0x20;
        if (frame.cursor_column) fits = fits && *frame.cursor_column <= width && frame.cursor_row < height;
        CAPTURE(width, height, static_cast<int>(kind));
        if (!fits) FAIL_CHECK("a line does not fit");
      }
    }
  }
  CHECK(desk.frame(0, 0).lines.empty());
}

TEST_CASE("only the rows that are seen are laid out", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  for (int i = 0; i < 10'000; ++i) desk.add("w" + std::to_string(i));
  CHECK(tree_lines(desk.agents, desk.questions, {40, 20}, desk.view.first_row).size() == 20);
  desk.agents.select(5000);
  std::string text = desk.text();
  CHECK(has(text, "w5000 "));
  CHECK(has(text, "w4980 "));
  desk.agents.select(4990);  // is seen already: nothing moves
  CHECK(desk.text() == desk.text());
  CHECK(has(desk.text(), "w4980 "));
  desk.agents.select(0);
  CHECK(has(desk.text(), "w0 "));
}

TEST_CASE("questions name the agent and what they reach", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("planner");
  desk.prompt = {.kind = PromptKind::stop, .agent_id = "planner"};
  CHECK(has(desk.text(), "Stop planner: all below it, too? y/n"));
  desk.prompt.reach = "3 agents";
  CHECK(has(desk.text(), "Stop planner: 3 agents? y/n"));
  desk.prompt.kind = PromptKind::erase;
  CHECK(has(desk.text(), "Delete planner: 3 agents? y/n"));
}

TEST_CASE("the model and the role of an agent are shown if there is room", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.agents.upsert({{"id", "planner"}, {"model", "gpt-\x1b"}, {"role", "system"}});
  CHECK(has(desk.text(), "\u2502 planner gpt-\\u001b, system "));
  desk.agents.upsert({{"id", "planner"}, {"model", ""}, {"role", "user"}});
  CHECK(has(desk.text(), "\u2502 planner user "));
  desk.agents.upsert({{"id", "planner"}, {"model", ""}, {"role", "normal"}});
  CHECK(has(desk.text(), "\u2502 planner  "));
  desk.agents.upsert({{"id", std::string(60, 'p')}, {"model", "gpt"}});
  desk.agents.select(1);
  CHECK_FALSE(has(desk.text(), "gpt"));
}

TEST_CASE("keys that do not fit are left out, but not the one that quits", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  for (const std::size_t width : {16UL, 40UL, 64UL, 80UL}) {
    CHECK(has(desk.text(width), "q quit"));
    CHECK(has(desk.text(width), "m message"));
  }
}

TEST_CASE("a connection that is lost is a clear line", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.connected = false;
  CHECK(has(desk.text(), "connecting"));
  desk.problem = "no answer from http://h: Could not connect";
  CHECK(has(desk.text(), "NOT CONNECTED"));
  CHECK(has(desk.text(), desk.problem));
}

TEST_CASE("the end of what is typed is seen, with its cursor", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.prompt = {
      .kind = PromptKind::message, .agent_id = "a", .line = LineEditor(std::string(200, 'x') + "end")};
  const Frame frame = desk.frame(80, 24);
  REQUIRE(frame.cursor_column);
  CHECK(*frame.cursor_column == 79);
  CHECK(frame.cursor_row == 22);
  CHECK(has(frame.lines[22].text(), "Message to a: \u2026x"));
  CHECK(has(frame.lines[22].text(), "xend"));
}

TEST_CASE("a line is edited by characters, not by bytes", "[console_top]") {
  LineEditor line("a\u4f60\U0001f600");
  line.erase_before();
  CHECK(line.text() == "a\u4f60");
  line.move(-1);
  line.insert(U'\u00e9');
  CHECK(line.text() == "a\u00e9\u4f60");
  CHECK(line.before() == "a\u00e9");
  line.insert(0x1b);
  line.insert(0xd800);
  CHECK(line.text() == "a\u00e9\u4f60");
  line.erase_after();
  line.move_to_begin();
  line.erase_before();
  line.erase_after();
  CHECK(line.text() == "\u00e9");
  line.erase_all();
  CHECK(line.text().empty());
}
