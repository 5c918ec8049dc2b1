// AnswerCheck: which texts match a response format, and the reasons why others do not.
#include "turn/answer_check.hpp"

#include "support/catch.hpp"

#include <memory>
#include <string>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

using Kind = ResponseFormat::Kind;

const std::string person = R"({"type":"object","required":["age"],"additionalProperties":false,
  "properties":{"age":{"type":"integer"},"names":{"type":"array","items":{"type":"string"}}}})";

std::shared_ptr<const AnswerCheck> check_of(const std::string& schema) {
  AnswerChecks checks;
  auto made = checks.get({.kind = Kind::json_schema, .schema = schema});
  REQUIRE(made);
  return *made;
}

std::string problem_of(const std::string& text) {
  return check_of(person)->problem_of(text);
}

std::string problem_of_object(const std::string& text) {
  return AnswerCheck().problem_of(text);
}

}  // namespace

TEST_CASE("the reason for an answer that does not match names the place", "[turn][X52]") {
  CHECK(problem_of(R"({"age":7})") == "");
  CHECK(problem_of(" \n{\"age\":7,\"names\":[\"a\"]}\n") == "");
  CHECK(problem_of("{}") == "answer.age is required");
  CHECK(problem_of(R"({"age":"7"})") == "answer.age must be integer");
  CHECK(problem_of(R"({"age":7,"names":["a",1]})") == "answer.names[1] must be string");
  CHECK(problem_of(R"({"age":7,"x":1})") == "answer.x is not allowed");
  CHECK(problem_of("[]") == "answer must be object");
}

TEST_CASE("a text that is not JSON does not match", "[turn][X52]") {
  CHECK(problem_of("") == "the answer is empty");
  CHECK(problem_of(" \r\n\t") == "the answer is empty");
  CHECK(problem_of("seven") == "the answer is not valid JSON: there is an error at byte 1 of 5");
  CHECK(problem_of("{\"age\":7} done") == "the answer is not valid JSON: there is an error at byte 11 of 14");
  CHECK(problem_of("{\"age\":7") == "the answer is not valid JSON: there is an error at byte 9 of 8");
  CHECK(problem_of("{\"age\":1e999}") == "the answer is not valid JSON: a number is out of range");
  CHECK(problem_of("{\"age\":7,\"names\":[\"\xff\"]}").find("not valid JSON") != std::string::npos);
}

TEST_CASE("an answer that is one Markdown code fence of JSON matches", "[turn][X52]") {
  CHECK(problem_of("```json\n{\"age\":7}\n```") == "");
  CHECK(problem_of(" \n```JSON \r\n\n{\"age\":7}\r\n  ``` \n") == "");
  CHECK(problem_of("```\n{\"age\":7,\"names\":[\"```\"]}\n```") == "");
  CHECK(problem_of("```json\n{\"age\":\"7\"}\n```") == "answer.age must be integer");
  CHECK(problem_of("```json\n\n```") == "the answer is empty");
}

TEST_CASE("an answer with words around a Markdown code fence is refused with this reason", "[turn][X52]") {
  const std::string fenced =
      "the answer is not valid JSON: it has a Markdown code fence (```); it must be the JSON alone";
  CHECK(problem_of("```json\n{\"age\":7}\n``` That is it.") == fenced);
  CHECK(problem_of("```json\n{\"age\":7}\n```\n```json\n{\"age\":7}\n```") == fenced);
  CHECK(problem_of("```yaml\nage: 7\n```") == fenced);
  CHECK(problem_of("```json\n{\"age\":7}```") == fenced);
  CHECK(problem_of("Here it is:\n  ```\n{\"age\":7}\n  ```\n") == fenced);
  CHECK(problem_of_object("``` {} ```") == fenced);
  CHECK(problem_of("the ``` of a line") == "the answer is not valid JSON: there is an error at byte 2 of 17");
  CHECK(problem_of(R"({"age":7,"names":["```json"]})") == "");
}

TEST_CASE("without a schema any JSON object matches", "[turn][X52]") {
  CHECK(problem_of_object("{}") == "");
  CHECK(problem_of_object(R"({"a":[1,{"b":null}]})") == "");
  for (const char* const other : {"[]", "7", "null", "\"text\"", "true"})
    CHECK(problem_of_object(other) == "the answer is not a JSON object");
  CHECK(problem_of_object("{} {}").find("not valid JSON") != std::string::npos);
}

TEST_CASE("a schema may describe answers that are no objects", "[turn][X52]") {
  const auto check = check_of(R"({"type":"array","items":{"type":"integer"}})");
  CHECK(check->problem_of("[1,2]") == "");
  CHECK(check->problem_of("[1,\"2\"]") == "answer[1] must be integer");
}

TEST_CASE("a deep or a long answer is refused with a short reason", "[turn][X52][G15]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto any = check_of(R"({"description":"anything"})");
  CHECK(any->problem_of(nested(64)) == "");
  CHECK(any->problem_of(nested(65)) == "the answer is nested deeper than 64 levels");
  CHECK(any->problem_of(nested(1'000'000)) == "the answer is nested deeper than 64 levels");
  const std::string long_name(100'000, 'x');
  const std::string reason = problem_of("{\"age\":7,\"" + long_name + "\":1}");
  CHECK(reason.find("answer.xxx") == 0);
  CHECK(reason.size() < 1000);
  const auto no_texts = check_of(R"({"items":{"not":{"type":"string"}}})");
  std::string many = "[0";
  for (int i = 1; i < 1'000'000; ++i) many += ",0";
  CHECK(no_texts->problem_of(many + "]") == "answer takes too long to check: make it smaller");
}

TEST_CASE("the correction has the reason and the form of the answer", "[turn][X52]") {
  CHECK(check_of(person)->correction("answer.age is required") ==
        "Your last answer was not accepted: answer.age is required. Answer again, with nothing but JSON that "
        "matches the required schema: no words before or after it, and no Markdown.");
  CHECK(AnswerCheck().correction("the answer is empty") ==
        "Your last answer was not accepted: the answer is empty. Answer again, with nothing but one JSON "
        "object: no words before or after it, and no Markdown.");
}

TEST_CASE("a check is made once per schema and only where answers are checked", "[turn][X52]") {
  AnswerChecks checks;
  const auto get = [&checks](const ResponseFormat& format) {
    auto made = checks.get(format);
    REQUIRE(made);
    return *std::move(made);
  };
  CHECK(get({}) == nullptr);
  CHECK(get({.kind = Kind::json_schema, .schema = person, .validate = false}) == nullptr);
  CHECK(get({.kind = Kind::json_object, .validate = false}) == nullptr);
  const auto first = get({.kind = Kind::json_schema, .schema = person});
  CHECK(first == get({.kind = Kind::json_schema, .name = "person", .schema = person, .strict = false}));
  CHECK(first != get({.kind = Kind::json_schema, .schema = "{\"type\":\"object\"}"}));
  const auto object = get({.kind = Kind::json_object, .schema = "ignored"});
  REQUIRE(object);
  CHECK(object != first);
  CHECK(object == get({.kind = Kind::json_object}));
}

TEST_CASE("a check is freed with its last agent", "[turn][X52][G13]") {
  AnswerChecks checks;
  std::weak_ptr<const AnswerCheck> freed;
  for (int i = 0; i < 200; ++i) {
    const auto check =
        checks.get({.kind = Kind::json_schema, .schema = "{\"maxLength\":" + std::to_string(i) + "}"});
    REQUIRE(check);
    CHECK(freed.expired());
    freed = *check;
    CHECK(checks.size() <= 17);
  }
}

TEST_CASE("a schema whose agents have all gone is compiled once for the next ones", "[turn][X52]") {
  AnswerChecks checks;
  const ResponseFormat format{.kind = Kind::json_schema, .schema = person};
  CHECK(*checks.get(format));
  const auto next = *checks.get(format);
  CHECK(next == *checks.get(format));
}
