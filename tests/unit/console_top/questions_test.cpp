// The open questions of the terminal view.
#include "console/top/questions.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace console_app::top;

namespace {

Json question(const std::string& id, const std::string& agent, const std::string& text = "Which?") {
  return {{"id", id}, {"kind", "question"}, {"agentId", agent}, {"text", text}, {"choices", {"a", "b"}}};
}

Json asked(const Json& question) {
  return {{"type", "question"}, {"agentId", question["agentId"]}, {"question", question}};
}

std::string ids(const Questions& questions) {
  std::string all;
  for (const Question& each : questions.all()) all += each.id + " ";
  return all;
}

}  // namespace

TEST_CASE("questions are open from their event to the one that closes them", "[console_top]") {
  Questions questions;
  questions.take({{"questions", {question("q_1", "a"), question("q_2", "b")}}});
  questions.apply(asked(question("q_3", "a")));
  CHECK(ids(questions) == "q_1 q_2 q_3 ");
  CHECK(questions.oldest_of("a")->id == "q_1");
  CHECK(questions.count_of("a") == 2);
  CHECK(questions.oldest_of("c") == nullptr);
  questions.apply({{"type", "question_closed"}, {"agentId", "a"}, {"questionId", "q_1"}});
  CHECK(questions.oldest_of("a")->id == "q_3");
  CHECK(questions.all()[1].choices.size() == 2);
}

TEST_CASE("a question that comes twice is one, and keeps its place", "[console_top]") {
  Questions questions;
  questions.take({{"questions", {question("q_1", "a"), question("q_2", "b")}}});
  questions.apply(asked(question("q_1", "a")));
  CHECK(ids(questions) == "q_1 q_2 ");
  questions.take({{"questions", {question("q_2", "b")}}});
  CHECK(ids(questions) == "q_2 ");
}

TEST_CASE("after a restart of the console an id is that of another question", "[console_top]") {
  Questions questions;
  questions.take({{"questions", {question("q_1", "a", "Go?")}}});
  const Question before = questions.all().front();
  CHECK(questions.has(before));
  questions.take({{"questions", {question("q_1", "a", "Delete all?")}}});
  CHECK_FALSE(questions.has(before));
}

TEST_CASE("questions of a wrong shape are no harm", "[console_top]") {
  Questions questions;
  for (const char* text : {"null", "[]", R"({"questions":7})", R"({"questions":[null,7,{},{"id":7}]})"})
    questions.take(Json::parse(text));
  CHECK(questions.all().empty());
  questions.take(Json::parse(R"({"questions":[{"id":"q_1","text":7,"choices":[7,null,"a"]}]})"));
  CHECK(questions.all().front().choices == std::vector<std::string>{"a"});
  questions.apply(Json::parse(R"({"type":"question","question":null})"));
  questions.apply(Json::parse(R"({"type":"question_closed"})"));
  CHECK(questions.all().size() == 1);
}
