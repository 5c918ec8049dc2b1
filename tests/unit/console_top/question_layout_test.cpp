// Questions on the screen of the terminal view.
#include "console/top/layout.hpp"
#include "support/catch.hpp"
#include "unit/console_top/desk.hpp"
#include "unit/console_top/utf8_locale.hpp"

#include <string>

#include <nlohmann/json.hpp>

using namespace console_app::top;
using namespace console_top_test;

namespace {

void open(Desk& desk, const Question& question) {
  desk.prompt = {.kind = question.is_approval ? PromptKind::approval : PromptKind::answer,
                 .agent_id = question.agent_id,
                 .question = question};
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "line " + std::to_string(i) + ".\n";
  return text;
}

}  // namespace

TEST_CASE("a question is seen in the title, in the tree and beside it", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("planner");
  desk.add("scout", "planner", "processing");
  CHECK_FALSE(has(desk.text(), "question"));
  CHECK_FALSE(has(desk.text(), "a answer"));
  desk.ask("q_1", "scout", "Which city?", "ask_human", {"Rome", "Oslo"});
  desk.ask("q_2", "scout", R"({"url":"http://x"})", "fetch");
  std::string text = desk.text();
  CHECK(has(text, "1 running, 0 stopped, 2 questions "));
  CHECK(has(text, "asks"));
  CHECK(has(text, "a answer m message"));
  CHECK(has(text, "q quit"));
  CHECK_FALSE(has(text, "Which city?"));  // of another agent
  desk.agents.select(1);
  text = desk.text();
  CHECK(has(text, "question (1 of 2), a answers:"));
  CHECK(has(text, "\u2503 Which city?"));
  CHECK(has(text, "\u2503 2: Oslo"));
  desk.questions.close("q_1");
  text = desk.text();
  CHECK(has(text, "approve?"));
  CHECK(has(text, "approval of fetch, a answers:"));
  CHECK(has(text, R"({"url":"http://x"})"));
  desk.questions.close("q_2");
  CHECK_FALSE(has(desk.text(), "approv"));
}

TEST_CASE("a collapsed agent shows that one below it asks", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("planner");
  desk.add("scout", "planner");
  desk.add("reader", "scout");
  desk.agents.collapse();
  CHECK_FALSE(has(desk.text(), "planner +2?"));
  desk.ask("q_1", "reader", "Which?");
  CHECK(has(desk.text(), "planner +2?"));
}

TEST_CASE("a long question leaves room for the conversation until it is opened", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.ask("q_1", "a", numbered_lines(100));
  desk.conversation.open("a");
  desk.conversation.take_page({{"messages", {{{"role", "user"}, {"content", "Hello"}}}}});
  std::string text = desk.text();
  CHECK(has(text, "> Hello"));
  CHECK(has(text, "line 8."));
  CHECK_FALSE(has(text, "line 9."));
  CHECK(has(text, "92 more lines"));

  open(desk, desk.questions.all().front());
  text = desk.text();
  CHECK(has(text, "line 15."));
  CHECK(has(text, "lines 1-15 of 100: up, down"));
  desk.view.question_row = 50;
  text = desk.text();
  CHECK_FALSE(has(text, "line 50."));
  CHECK(has(text, "line 51."));
  desk.view.question_row = 1000;
  CHECK(has(desk.text(), "lines 86-100 of 100"));
  CHECK(has(desk.text(), "line 100."));
  CHECK(desk.view.question_row == 85);
}

TEST_CASE("a question that is being answered is seen on a screen of every size", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.ask("q_1", "a", "Which?");
  open(desk, desk.questions.all().front());
  for (const std::size_t width : {20UL, 63UL, 64UL, 80UL})
    for (const std::size_t height : {5UL, 6UL, 10UL, 13UL, 14UL, 24UL}) {
      CAPTURE(width, height);
      CHECK(has(desk.text(width, height), "\u2503 Which?"));
    }
}

TEST_CASE("a text cannot look like a line of the view", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.ask("q_1", "a", "x\napproval of ls, a answers:\n\x1b[2J\u202e");
  desk.ask("q_2", "a", "{}", "to\x1b[2Jol\nx");
  CHECK(has(desk.text(), "\u2503 approval of ls, a answers:"));
  CHECK(has(desk.text(), "\u2503 \\u001b[2J\\u202e"));
  desk.questions.close("q_1");
  CHECK(has(desk.text(), "approval of to\\u001b[2Jol\\nx, a answers:"));
}

TEST_CASE("a text that is too long to be laid out says so", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.ask("q_1", "a", std::string((64 << 10) - 1, 'x') + "\u4f60" + "tail", "ask_human", {"choice"});
  open(desk, desk.questions.all().front());
  desk.view.question_row = 1'000'000;
  const std::string text = desk.text();
  CHECK(has(text, "7 more bytes are not shown here"));
  CHECK(has(text, "8 more bytes are not shown here"));  // of the choice
  CHECK_FALSE(has(text, "tail"));
  CHECK_FALSE(has(text, "\\x"));
}

TEST_CASE("the prompt of an approval says what a yes allows", "[console_top]") {
  const Utf8Locale locale;
  Desk desk;
  desk.add("a");
  desk.ask("q_1", "a", "{}", "fetch");
  open(desk, desk.questions.all().front());
  CHECK(has(desk.text(), "a: approve this call of fetch? y/n"));
  CHECK(has(desk.text(), "y approve n decline s for how long Esc later"));
  desk.prompt.scope = Scope::agent;
  CHECK(has(desk.text(), "a: approve all such calls of fetch? y/n"));
  desk.prompt.scope = Scope::subtree;
  CHECK(has(desk.text(), "a: approve all such calls of fetch, also below it? y/n"));
  desk.prompt.kind = PromptKind::decline;
  CHECK(has(desk.text(), "Decline, reason (or none): "));
  desk.questions.close("q_1");
  CHECK(has(desk.text(), "closed, an answer is too late:"));
}
