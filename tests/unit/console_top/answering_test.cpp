// The keys that answer a question in the terminal view.
#include "console/top/answering.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace console_app::top;

namespace {

constexpr KeyPress enter{Key::enter}, escape{Key::escape}, tab{Key::character, '\t'};

// Nothing is sent: Http::run() is not called.
struct Keyboard {
  Http http = {};
  Api api{http, Settings()};
  Questions questions = {};
  Prompt prompt = {};
  Note note = {};
  Answering answering{api, questions, prompt, note};

  void ask(const std::string& id, bool is_approval, const std::vector<std::string>& choices = {}) {
    questions.apply({{"type", "question"},
                     {"question",
                      {{"id", id},
                       {"kind", is_approval ? "approval" : "question"},
                       {"agentId", "scout"},
                       {"choices", choices}}}});
    answering.open(questions.all().back());
  }
  void press(KeyPress key) { answering.press(key); }
  void type(const std::string& text) {
    for (const char c : text) press({Key::character, static_cast<char32_t>(c)});
  }
  std::string line() const { return prompt.line.text(); }
};

}  // namespace

TEST_CASE("a digit picks a choice, Tab the next one", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", false, {"Rome", "Oslo\n1", "7"});
  keyboard.type("2");
  CHECK(keyboard.line() == "Oslo\n1");
  keyboard.type("1");
  CHECK(keyboard.line() == "Rome");
  keyboard.press(tab);
  keyboard.press(tab);
  CHECK(keyboard.line() == "7");
  keyboard.press(tab);
  CHECK(keyboard.line() == "Rome");
  keyboard.type("!1");
  CHECK(keyboard.line() == "Rome!1");
  keyboard.press({Key::character, control('U')});
  keyboard.type("9");  // there is none
  CHECK(keyboard.line() == "9");
  keyboard.press({Key::character, control('U')});
  keyboard.type(" 2 days");
  CHECK(keyboard.line() == " 2 days");
}

TEST_CASE("without choices a digit is text", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", false);
  keyboard.type("12");
  CHECK(keyboard.line() == "12");
}

TEST_CASE("an answer that was not sent is there when its question is opened again", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", false);
  keyboard.type("Ro");
  keyboard.press(escape);
  CHECK(keyboard.prompt.kind == PromptKind::none);
  CHECK(keyboard.note.text == "not answered: a opens it again");
  keyboard.ask("q_2", false);
  CHECK(keyboard.line().empty());
  keyboard.answering.open(keyboard.questions.all().front());
  CHECK(keyboard.line() == "Ro");
  keyboard.press({Key::character, control('D')});
  keyboard.type("no time");
  CHECK(keyboard.prompt.kind == PromptKind::decline);
  keyboard.press(escape);
  CHECK(keyboard.prompt.kind == PromptKind::answer);
  CHECK(keyboard.line() == "Ro");
}

TEST_CASE("an empty answer is not sent", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", false);
  keyboard.type("  ");
  keyboard.press(enter);
  CHECK(keyboard.prompt.kind == PromptKind::answer);
  keyboard.type("x");
  keyboard.press(enter);
  CHECK(keyboard.prompt.kind == PromptKind::none);
}

TEST_CASE("only y approves, and s changes for how long", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", true);
  keyboard.type("axYdrm1 ");
  keyboard.press(enter);
  CHECK(keyboard.prompt.kind == PromptKind::approval);
  CHECK(keyboard.prompt.scope == Scope::once);
  keyboard.type("s");
  CHECK(keyboard.prompt.scope == Scope::agent);
  keyboard.type("s");
  CHECK(keyboard.prompt.scope == Scope::subtree);
  keyboard.type("s");
  CHECK(keyboard.prompt.scope == Scope::once);
  keyboard.type("n");
  CHECK(keyboard.prompt.kind == PromptKind::decline);
  keyboard.press(escape);
  keyboard.type("y");
  CHECK(keyboard.prompt.kind == PromptKind::none);
}

TEST_CASE("an answer to a question that is closed is too late", "[console_top]") {
  Keyboard keyboard;
  for (const bool is_approval : {false, true}) {
    keyboard.ask("q_1", is_approval);
    keyboard.questions.close("q_1");
    keyboard.note = {};
    keyboard.type(is_approval ? "y" : "Rome");
    if (!is_approval) keyboard.press(enter);
    CHECK(keyboard.note.text == "scout: too late, this question is closed");
    CHECK(keyboard.note.failed);
  }
}

TEST_CASE("an answer never goes to another question with the same id", "[console_top]") {
  Keyboard keyboard;
  keyboard.ask("q_1", true);
  keyboard.questions.take({{"questions", {{{"id", "q_1"}, {"kind", "approval"}, {"agentId", "other"}}}}});
  keyboard.type("y");
  CHECK(keyboard.note.text == "scout: too late, this question is closed");
  CHECK(keyboard.questions.all().size() == 1);
}
