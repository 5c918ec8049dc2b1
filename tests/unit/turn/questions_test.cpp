// The index of open questions: what is asked about one agent or operation costs no look at the others.
#include "turn/questions.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <utility>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

detail::core::OperationId id(std::uint64_t serial) {
  return {0, serial};
}

AskedQuestion question(detail::core::NodeId agent, std::uint64_t operation, std::string text = {}) {
  AskedQuestion asked;
  asked.agent = agent;
  asked.operation = id(operation);
  asked.question.text = std::move(text);
  return asked;
}

}  // namespace

TEST_CASE("the questions of one operation are taken oldest first and others stay", "[turn][questions]") {
  Questions questions;
  questions.add(question(1, 5, "first"));
  questions.add(question(2, 6, "other agent"));
  questions.add(question(1, 7, "other operation"));
  questions.add(question(1, 5, "second"));
  CHECK(questions.count(1) == 3);
  CHECK(questions.count(2) == 1);
  CHECK(questions.count(3) == 0);
  auto taken = questions.take_of(1, id(5));
  REQUIRE(taken);
  CHECK(taken->question.text == "first");
  CHECK(questions.was_closed("q_1"));
  taken = questions.take_of(1, id(5));
  REQUIRE(taken);
  CHECK(taken->question.text == "second");
  CHECK_FALSE(questions.take_of(1, id(5)));
  CHECK_FALSE(questions.take_of(2, id(5)));
  CHECK(questions.size() == 2);
}

TEST_CASE("an answered question is not found by its operation", "[turn][questions]") {
  Questions questions;
  questions.add(question(1, 5));
  CHECK(questions.take("q_1"));
  CHECK_FALSE(questions.take("q_1"));
  CHECK_FALSE(questions.take_of(1, id(5)));
  CHECK(questions.count(1) == 0);
  questions.add(question(1, 5));
  questions.clear();
  CHECK_FALSE(questions.take_of(1, id(5)));
  CHECK(questions.size() == 0);
}

TEST_CASE("closing the questions of many agents visits each question once", "[turn][questions]") {
  constexpr std::uint32_t agents = 20'000;
  Questions questions;
  for (std::uint32_t i = 1; i <= agents; ++i) questions.add(question(i, i));
  for (std::uint32_t i = agents; i > 0; --i) {
    CHECK(questions.count(i) == 1);
    REQUIRE(questions.take_of(i, id(i)));
    CHECK_FALSE(questions.take_of(i, id(i)));
  }
  CHECK(questions.size() == 0);
  CHECK(questions.looks() <= 5 * agents);
}

TEST_CASE("only the id of a question is one", "[turn][questions]") {
  Questions questions;
  questions.add(question(1, 5));
  questions.add(question(1, 6));
  CHECK(questions.take("q_2"));
  CHECK(questions.find("q_1"));
  CHECK(questions.was_closed("q_2"));
  for (const char* const id : {"q_01", "q_02", "q_0", "q_3", "q_", "q_1 ", "Q_1", "1", ""}) {
    CAPTURE(id);
    CHECK_FALSE(questions.find(id));
    CHECK_FALSE(questions.was_closed(id));
    CHECK_FALSE(questions.take(id));
  }
}

TEST_CASE("the hash of a question has its text and its choices, each apart", "[turn][questions]") {
  const auto hash = [](std::string text, std::vector<std::string> choices) {
    OpenQuestion asked;
    asked.text = std::move(text);
    asked.choices = std::move(choices);
    return question_hash(asked);
  };
  CHECK(hash("Why?", {"a", "b"}) == hash("Why?", {"a", "b"}));
  CHECK(hash("Why?", {"a", "b"}) != hash("Why?", {"a", "c"}));
  CHECK(hash("Why?", {"a", "b"}) != hash("Why?", {"ab"}));
  CHECK(hash("Why?", {"a", "b"}) != hash("Why?", {"a"}));
  CHECK(hash("Why?", {}) != hash("Why", {"?"}));
}

TEST_CASE("a store keeps the questions of a turn's calls, and not those of earlier turns' tasks",
          "[turn][questions]") {
  Questions questions;
  for (const std::uint64_t turn : {1U, 2U, 2U}) {
    AskedQuestion asked = question(1, 4 + turn);
    asked.turn = turn;
    questions.add(std::move(asked));
  }
  questions.add(question(2, 9));
  const auto restorable = questions.restorable(1, 2);
  REQUIRE(restorable.size() == 2);
  CHECK(restorable[0].number == 2);
  CHECK(restorable[1].number == 3);
}
