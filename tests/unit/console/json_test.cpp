// How the console writes JSON, and that a failed allocation in the middle ends nothing.
#include "console/events/json.hpp"

#include "console/http/request.hpp"
#include "console/routes/arguments.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore::detail::console;

namespace {

Request with_body(std::string body) {
  Request request;
  request.headers = {{"content-type", "application/json"}};
  request.body = std::move(body);
  return request;
}

std::string code_of(const std::string& body) {
  try {
    const Arguments arguments(with_body(body), {"a", "b"});
    return arguments.text_or("a", "-");
  } catch (const Refused& refused) {
    return std::string(refused.code);
  }
}

}  // namespace

TEST_CASE("the console writes each kind of JSON value", "[console][json]") {
  const Json json = {{"null", nullptr},
                     {"true", true},
                     {"false", false},
                     {"large", std::numeric_limits<std::uint64_t>::max()},
                     {"below", -5},
                     {"cost", 0.25},
                     {"none", std::numeric_limits<double>::quiet_NaN()},
                     {"text", "a \"b\"\n\xff"},
                     {"list", std::vector<std::string>{"x", "y"}},
                     {"inner", {{"a", 1}, {"b", Json::array()}}},
                     {"raw", Json::of_text("[1]")}};
  CHECK(
      json.text() ==
      R"({"null":null,"true":true,"false":false,"large":18446744073709551615,"below":-5,"cost":0.25,"none":null,)"
      "\"text\":\"a \\\"b\\\"\\n\xef\xbf\xbd\","
      R"("list":["x","y"],"inner":{"a":1,"b":[]},"raw":[1]})");
  CHECK(nlohmann::json::accept(json.text()));
}

TEST_CASE("a member that is set again keeps its place", "[console][json]") {
  Json json = {{"a", nullptr}, {"b", 2}};
  json.set("a", 1);
  json.set("c", 3);
  CHECK(json.text() == R"({"a":1,"b":2,"c":3})");
  CHECK(Json(nullptr).is_null());
  CHECK_FALSE(json.is_null());
}

TEST_CASE("an array counts its elements", "[console][json]") {
  Json list = Json::array();
  CHECK(list.text() == "[]");
  list.push_back(1);
  list.push_back({{"a", "b"}});
  CHECK(list.size() == 2);
  CHECK(list.text() == R"([1,{"a":"b"}])");
}

TEST_CASE("only the outermost members of a body are arguments", "[console][json]") {
  CHECK(code_of(R"({"a":"x"})") == "x");
  CHECK(code_of(R"({"a":"x","a":"y"})") == "y");
  CHECK(code_of(R"({"a":null})") == "-");
  CHECK(code_of(R"({"b":{"c":"x","d":["a"]},"a":"z"})") == "z");
  CHECK(code_of(R"({"c":{"a":"x"}})") == "unknown_field");
  CHECK(code_of(R"(["a","x"])") == "invalid_request");
  CHECK(code_of(R"([{"a":"x"}])") == "invalid_request");
  CHECK(code_of(R"("a")") == "invalid_request");
  CHECK(code_of(R"({"a":"x")") == "invalid_json");
  CHECK(code_of(R"({"a":["x"]})") == "invalid_request");
  CHECK(code_of(R"({"a":1})") == "invalid_request");
}
