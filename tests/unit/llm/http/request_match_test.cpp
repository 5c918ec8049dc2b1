// Requests that are compared with recorded ones.
#include "llm/http/request_match.hpp"

#include "support/catch.hpp"

#include <string>

using agentcore::detail::llm::asks_the_same;
using agentcore::detail::llm::difference_of;

TEST_CASE("requests are the same if they are the same JSON", "[llm][recording]") {
  CHECK(asks_the_same(R"({"a":1,"b":[true,null]})", R"({"b": [true, null], "a": 1})"));
  CHECK_FALSE(asks_the_same(R"({"a":[1,2]})", R"({"a":[2,1]})"));
  CHECK_FALSE(asks_the_same(R"({"a":1})", R"({"a":1,"b":2})"));
  CHECK_FALSE(asks_the_same(R"({"a":1,"b":2})", R"({"a":1})"));
  CHECK_FALSE(asks_the_same(R"({"a":"1"})", R"({"a":1})"));
  CHECK(asks_the_same("no JSON", "no JSON"));
  CHECK_FALSE(asks_the_same("no JSON", "no json"));
}

TEST_CASE("a secret that was removed from a recording is equal to any text", "[llm][recording][secrets]") {
  const std::string recorded = R"({"text":"key [removed] and [removed]."})";
  CHECK(asks_the_same(recorded, R"({"text":"key sk-1 and sk-2."})"));
  CHECK(asks_the_same(recorded, recorded));
  CHECK_FALSE(asks_the_same(recorded, R"({"text":"key sk-1 or sk-2."})"));
  CHECK_FALSE(asks_the_same(recorded, R"({"text":"key sk-1 and sk-2"})"));
  CHECK_FALSE(asks_the_same(recorded, R"({"text":"a key sk-1 and sk-2."})"));
}

TEST_CASE("a difference names each place and both values", "[llm][recording]") {
  CHECK(difference_of(R"({"m":[{"c":"x"}],"t":0.5})", R"({"m":[{"c":"y"}]})") ==
        R"(m[0].c: recorded "x", asked "y"; t: recorded 0.5, not asked)");
  CHECK(difference_of(R"({"m":[1]})", R"({"m":[1,2],"n":[]})") ==
        "m: recorded 1 entries, asked 2; n: not recorded, asked []");
  CHECK(difference_of(R"({"a":1,"b":1,"c":1,"d":1})", R"({"a":2,"b":2,"c":2,"d":2})") ==
        "a: recorded 1, asked 2; b: recorded 1, asked 2; c: recorded 1, asked 2; and more");
  CHECK(difference_of("x", "y") == R"(the body: recorded "x", asked "y")");
}

TEST_CASE("a long value is shown around its first difference", "[llm][recording]") {
  const std::string before(200, 'a'), after(200, 'b');
  const std::string text =
      difference_of(R"({"c":")" + before + "X" + after + "\"}", R"({"c":")" + before + "Y" + after + "\"}");
  CHECK(text.find("aaaX" + std::string(10, 'b')) != std::string::npos);
  CHECK(text.find("aaaY" + std::string(10, 'b')) != std::string::npos);
  CHECK(text.size() < 200);
}
