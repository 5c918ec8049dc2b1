#include "schema/schema.hpp"

#include "schema/pattern.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::schema;
using nlohmann::json;

namespace {

std::shared_ptr<const Schema> parsed_schema(const std::string& text) {
  auto parsed = Schema::parse(text);
  INFO((parsed ? "" : parsed.error().message));
  REQUIRE(parsed);
  return *parsed;
}

// The reason that the model receives for these arguments.
std::string check(const std::string& schema_text, const json& arguments) {
  return parsed_schema(schema_text)->check(arguments);
}

// The same for a parameter k of that schema.
std::string check_k(const std::string& schema_text, const json& value) {
  return check(R"({"properties":{"k":)" + schema_text + "}}", {{"k", value}});
}

// Why the host's schema is refused.
std::string refusal(const std::string& text) {
  const auto parsed = Schema::parse(text);
  if (parsed) return {};
  CHECK(parsed.error().code == Errc::invalid_config);
  return parsed.error().message.substr(std::string("not a usable schema of arguments: ").size());
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

json nested(std::size_t depth) {
  json value = json::object();
  for (std::size_t i = 1; i < depth; ++i) value = json{{"k", std::move(value)}};
  return value;
}

}  // namespace

TEST_CASE("the reason for an invalid parameter has fixed words", "[tools][Y9]") {
  const std::string text = R"({"type":"object","required":["k"],"additionalProperties":false,"properties":{
    "k":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
    "a":{"type":"array"},"o":{"type":"object"}}})";
  CHECK(check(text, {{"k", "x"}}) == "");
  CHECK(check(text, {{"k", "x"}, {"i", 1}, {"n", 0.5}, {"b", true}, {"a", {1}}, {"o", {{"x", 1}}}}) == "");
  CHECK(check(text, json::object()) == "params.k is required");
  CHECK(check(text, {{"k", "x"}, {"z", 1}}) == "params.z is not allowed");
  CHECK(check(text, {{"k", 1}}) == "params.k must be string");
  CHECK(check(text, {{"k", nullptr}}) == "params.k must be string");
  CHECK(check(text, {{"k", "x"}, {"i", "1"}}) == "params.i must be integer");
  CHECK(check(text, {{"k", "x"}, {"i", 1.5}}) == "params.i must be integer");
  CHECK(check(text, {{"k", "x"}, {"i", 1.0}}) == "");
  CHECK(check(text, {{"k", "x"}, {"n", "1"}}) == "params.n must be number");
  CHECK(check(text, {{"k", "x"}, {"b", 1}}) == "params.b must be boolean");
  CHECK(check(text, {{"k", "x"}, {"a", json::object()}}) == "params.a must be array");
  CHECK(check(text, {{"k", "x"}, {"o", json::array()}}) == "params.o must be object");
  CHECK(check(text, json::array()) == "params must be object");
  CHECK(check_k(R"({"type":["string","null"]})", 1) == "params.k must be null or string");
}

TEST_CASE("a reason names the place in the arguments", "[tools][Y9]") {
  const std::string list = R"({"items":{"required":["name"],"properties":{"name":{"type":"string"}}}})";
  CHECK(check_k(list, json::parse(R"([{"name":"a"},{"name":"b"},{}])")) == "params.k[2].name is required");
  CHECK(check_k(list, json::parse(R"([{"name":1}])")) == "params.k[0].name must be string");
  CHECK(check(R"({"additionalProperties":false})", {{"a \"b\"\n", 1}}) ==
        R"(params["a \"b\"\n"] is not allowed)");
  CHECK(check(R"({"additionalProperties":false})", {{std::string(63, 'a') + "\u00e4", 1}}) ==
        "params[\"" + std::string(63, 'a') + "...\"] is not allowed");
}

TEST_CASE("a reason names the values that would fit", "[tools][Y9]") {
  CHECK(check_k(R"({"enum":["red","green",3,null]})", "blue") ==
        R"(params.k: must be one of "green", "red", 3, null)");
  CHECK(check_k(R"({"enum":["red"]})", "red") == "");
  CHECK(check_k(R"({"const":{"a":1}})", 2) == R"(params.k: must be {"a":1})");
  CHECK(check_k(R"({"minimum":2})", 1.5) == "params.k: must be at least 2");
  CHECK(check_k(R"({"maximum":2.5})", 3) == "params.k: must be at most 2.5");
  CHECK(check_k(R"({"exclusiveMinimum":2})", 2) == "params.k: must be more than 2");
  CHECK(check_k(R"({"exclusiveMaximum":2})", 2) == "params.k: must be less than 2");
  CHECK(check_k(R"({"multipleOf":3})", 7) == "params.k: must be a multiple of 3");
  CHECK(check_k(R"({"multipleOf":2})", 2.5) == "params.k: must be a multiple of 2");
  CHECK(check_k(R"({"multipleOf":0.01})", 4.35) == "");
  CHECK(check_k(R"({"minLength":2})", "\u00e4") == "params.k: must have at least 2 characters");
  CHECK(check_k(R"({"maxLength":1})", "\u00e4") == "");
  CHECK(check_k(R"({"maxLength":1})", "ab") == "params.k: must have at most 1 character");
  if (Pattern::is_supported())
    CHECK(check_k(R"({"pattern":"^a+$"})", "b") == "params.k: must match the pattern ^a+$");
  CHECK(check_k(R"({"minItems":1})", json::array()) == "params.k: must have at least 1 item");
  CHECK(check_k(R"({"maxItems":1})", {1, 2}) == "params.k: must have at most 1 item");
  CHECK(check_k(R"({"uniqueItems":true})", {1, "1", 1}) == "params.k: its items must all differ");
  CHECK(check_k(R"({"minProperties":1})", json::object()) == "params.k: must have at least 1 member");
  CHECK(check_k(R"({"format":"date"})", "31.5.2024") ==
        "params.k: must be a date as in RFC 3339, like 2024-05-31");
  CHECK(check_k(R"({"format":"date"})", 7) == "");
  CHECK(check_k(R"({"not":{"type":"string"}})", "x") == "params.k: must not be of this form");
}

TEST_CASE("the reason of alternatives says why each does not fit", "[tools][Y9]") {
  CHECK(check_k(R"({"anyOf":[{"type":"string"},{"required":["x"],"type":"object"}]})", json::object()) ==
        "params.k: fits none of the alternatives: params.k must be string; params.k.x is required");
  CHECK(contains(check_k(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})", 1), "fits more than one"));
  CHECK(check_k(R"({"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":5}})", 4) ==
        "params.k: must be at least 5");
}

TEST_CASE("an empty schema text allows no arguments", "[tools][Y9]") {
  CHECK(parsed_schema("")->check(json::object()) == "");
  CHECK(parsed_schema("")->check({{"k", 1}}) ==
        "params.k is not allowed: the tool takes no arguments; call it with {}");
  CHECK(parsed_schema("{}")->check({{"k", 1}}) == "");
}

TEST_CASE("a schema that cannot be used is refused with the reason", "[tools][Y9]") {
  CHECK(refusal("{") == "it is not valid JSON");
  CHECK(refusal("\xff") == "it is not valid JSON");
  CHECK(refusal("[]") == "it is not a JSON object");
  CHECK(refusal("true") == "it is not a JSON object");
  CHECK(refusal(R"({"type":"string"})") == "its `type` must be \"object\"");
  CHECK(refusal(R"({"type":["object","null"]})") == "its `type` must be \"object\"");
  CHECK(contains(refusal(R"({"properties":{"k":{"type":"text"}}})"), "text"));
  CHECK(contains(refusal(R"({"properties":{"k":{"multipleOf":0}}})"), "multipleOf"));
  CHECK(contains(refusal(R"({"properties":{"k":{"multipleOf":-1}}})"), "multipleOf"));
  CHECK(refusal(R"({"required":true})") != "");
  CHECK(contains(refusal(R"({"propertyNames":{"maxLength":1},"properties":{"k":{"$ref":"#"}}})"),
                 "propertyNames"));
}

TEST_CASE("members that only look like keywords are ignored", "[tools][Y9]") {
  const std::string text = R"({"properties":{"pattern":{"enum":["("]},"$ref":{"type":"integer"}},
    "default":{"pattern":"(","$ref":"http://x"}})";
  CHECK(check(text, {{"pattern", "("}, {"$ref", 1}}) == "");
  CHECK(check(text, {{"$ref", "x"}}) == "params[\"$ref\"] must be integer");
}

TEST_CASE("a $ref is followed only within the schema", "[tools][Y9][G15]") {
  for (const std::string ref :
       {"http://localhost/x", "file:///etc/passwd", "other.json", "other.json#/a", "#anchor",
        "#/definitions/none", "#/definitions//a", "#/definitions/%zz", "#/required/9", ""})
    CHECK(contains(
        refusal(R"({"required":["k"],"definitions":{"a":{}},"properties":{"k":{"$ref":")" + ref + "\"}}}"),
        "leads nowhere within it"));
  CHECK(contains(refusal(R"({"$ref":"#"})"), "type"));
  CHECK(contains(refusal(R"({"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},
    "properties":{"k":{"$ref":"#/definitions/a"}}})"),
                 "leads nowhere"));
  const std::string good =
      R"({"definitions":{"a/b":{"type":"integer"}},"properties":{"k":{"$ref":"#/definitions/a~1b"}}})";
  CHECK(check(good, {{"k", 1}}) == "");
  CHECK(check(good, {{"k", "x"}}) == "params.k must be integer");
}

TEST_CASE("schemas and arguments have a limit of nesting", "[tools][G15]") {
  const auto deep_schema = [](std::size_t levels) {
    std::string text = "{}";
    for (std::size_t i = 1; i < levels; ++i) text = R"({"not":)" + text + "}";
    return text;
  };
  CHECK(refusal(deep_schema(max_schema_depth)) == "");
  CHECK(refusal(deep_schema(max_schema_depth + 1)) == "it is nested deeper than 64 levels");
  CHECK(refusal(std::string(1'000'000, '[') + std::string(1'000'000, ']')) == "it is not a JSON object");
  const std::string recursive = R"({"type":"object","properties":{"k":{"$ref":"#"}}})";
  CHECK(check(recursive, nested(max_schema_depth)) == "");
  CHECK(check(recursive, nested(max_schema_depth + 1)) == "params is nested deeper than 64 levels");
  CHECK(check("{}", nested(100'000)) == "params is nested deeper than 64 levels");
}

TEST_CASE("a long chain of references is followed or refused", "[tools][G15]") {
  const auto chain = [](std::size_t links) {
    json text{{"definitions", json::object()}, {"$ref", "#/definitions/0"}};
    for (std::size_t i = 0; i < links; ++i)
      text["definitions"][std::to_string(i)] =
          json{{"properties", {{"k", {{"$ref", "#/definitions/" + std::to_string(i + 1)}}}}}};
    text["definitions"][std::to_string(links)] = json{{"type", "object"}};
    return text.dump();
  };
  CHECK(refusal(chain(127)) == "");
  CHECK(contains(refusal(chain(129)), "too many references"));
  CHECK(contains(refusal(chain(100'000)), "too many references"));
}

TEST_CASE("the check against a recursive schema ends", "[tools][G15]") {
  CHECK(check(R"({"properties":{"k":{"allOf":[{"$ref":"#/properties/k"}]}}})", {{"k", 1}}) ==
        "params is nested too deeply for its schema");
  CHECK(check(R"({"not":{"$ref":"#"}})", json::object()) == "params is nested too deeply for its schema");
}

TEST_CASE("a check takes a bounded number of steps", "[tools][G15]") {
  const std::string doubling =
      R"({"anyOf":[{"properties":{"k":{"$ref":"#"}},"required":["x"]},{"properties":{"k":{"$ref":"#"}},"required":["y"]}]})";
  CHECK(contains(check(doubling, nested(60)), "takes too long to check"));
  const std::string many = R"({"properties":{"k":{"items":{"not":{"type":"string"}}}}})";
  CHECK(check(many, {{"k", std::vector<int>(100'000, 1)}}) == "");
  CHECK(contains(check(many, {{"k", std::vector<int>(1'000'000, 1)}}), "takes too long to check"));
}

TEST_CASE("uniqueItems of a long list is checked in few steps", "[tools][G15]") {
  json list = json::array();
  for (int i = 0; i < 100'000; ++i) list.push_back(i);
  CHECK(check_k(R"({"uniqueItems":true})", list) == "");
  list.push_back(0);
  CHECK(contains(check_k(R"({"uniqueItems":true})", list), "must all differ"));
  // As doubles the first two equal the third, as integers they differ: no order.
  CHECK(contains(check_k(R"({"uniqueItems":true})", {9007199254740993, 9007199254740992, 9007199254740992.0}),
                 "differ"));
}

TEST_CASE("a pattern that cannot be used is refused with its place and the reason", "[tools][Y9]") {
  const std::string why = Pattern::is_supported() ? "look-ahead" : "has no RE2";
  const auto refused = [&](const std::string& text, const std::string& place) {
    const std::string words = refusal(text);
    INFO(words);
    return words.find("the pattern \"a(?=b)c\" at " + place + " cannot be used: ") == 0 &&
           words.find(why) != std::string::npos;
  };
  CHECK(refused(R"({"properties":{"k":{"pattern":"a(?=b)c"}}})", "#/properties/k/pattern"));
  CHECK(refused(R"({"properties":{"a/b~":{"pattern":"a(?=b)c"}}})", "#/properties/a~1b~0/pattern"));
  CHECK(refused(R"({"patternProperties":{"a(?=b)c":{}}})", "#/patternProperties"));
  CHECK(refused(R"({"propertyNames":{"pattern":"a(?=b)c"}})", "#/propertyNames/pattern"));
  CHECK(refused(R"({"anyOf":[{},{"items":{"pattern":"a(?=b)c"}}]})", "#/anyOf/1/items/pattern"));
  CHECK(refused(R"({"definitions":{"d":{}},"$defs":{"e":{"pattern":"a(?=b)c"}},
    "properties":{"k":{"$ref":"#/$defs/e"}}})",
                "#/$defs/e/pattern"));
  CHECK(refusal(R"({"properties":{"k":{"pattern":")" + std::string(10'000, '(') + "\"}}}").size() < 600);
}

TEST_CASE("patternProperties and propertyNames match with patterns", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  const std::string text =
      R"({"patternProperties":{"^\\u00e4":{"type":"integer"}},"propertyNames":{"pattern":"^.{2,3}$"}})";
  CHECK(check(text, {{"\u00e4b", 1}}) == "");
  CHECK(check(text, {{"\u00e4b", "x"}}) == "params[\"\u00e4b\"] must be integer");
  CHECK(contains(check(text, {{"long", 1}}), "its name is not allowed"));
}

TEST_CASE("patterns are matched with short strings only", "[tools][G15]") {
  if (!Pattern::is_supported()) return;
  const std::string evil = R"({"pattern":"^(a+)+$"})";
  CHECK(check_k(evil, std::string(max_matched_bytes, 'a')) == "");
  CHECK(contains(check_k(evil, std::string(max_matched_bytes - 1, 'a') + "!"), "must match the pattern"));
  CHECK(check_k(evil, std::string(max_matched_bytes + 1, 'a')) ==
        "params.k: is too long to be matched with its pattern");
  CHECK(contains(check(R"({"patternProperties":{"^(a|b)*$":{}}})", {{std::string(1'000'000, 'a'), 1}}),
                 "is too long to be matched"));
  CHECK(contains(check_k(R"({"format":"date"})", std::string(1'000'000, '1')), "must be a date"));
  CHECK(contains(check_k(R"({"format":"date-time"})", std::string(max_matched_bytes, '1')),
                 "must be a date-time"));
}

// With std::regex one such string took ten seconds, and three such strings took a minute.
TEST_CASE("no text makes a pattern slow", "[tools][G15]") {
  if (!Pattern::is_supported()) return;
  const std::string slow = R"({"pattern":"(\\w{1,30}[ -]?){1,30}!"})";
  const std::string text(max_matched_bytes, 'a');
  CHECK(contains(check_k(slow, text), "must match the pattern"));
  const auto list = [&](std::size_t count) {
    return check_k(R"({"items":{"not":)" + slow + "}}", std::vector<std::string>(count, text));
  };
  CHECK(list(3) == "");
  CHECK(list(100) == "params takes too long to check: make it smaller");
}

TEST_CASE("usual patterns cost next to nothing", "[tools][G15]") {
  if (!Pattern::is_supported()) return;
  const std::vector<std::string> words(1000, std::string(100, 'a'));
  CHECK(check_k(R"({"items":{"pattern":"^[a-z][a-z0-9_-]*$"}})", words) == "");
  CHECK(check_k(R"({"items":{"pattern":"^.{1,1000}$"}})",
                std::vector<std::string>(5, std::string(1000, 'a'))) == "");
}

TEST_CASE("the keyword id has no meaning", "[tools][G15]") {
  const std::string text = R"({"id":"urn:)" + std::string(100'000, 'a') +
                           R"(","properties":{"id":{"id":"http://x/y","type":"integer"}}})";
  CHECK(check(text, {{"id", 1}}) == "");
  CHECK(check(text, {{"id", "x"}}) == "params.id must be integer");
}

TEST_CASE("dates and times are those of RFC 3339", "[tools][Y9]") {
  const auto fits = [](const std::string& format, const std::string& text) {
    return check_k(R"({"format":")" + format + "\"}", text).empty();
  };
  for (const char* good : {"2024-02-29", "0000-12-31", "2023-04-30"}) CHECK(fits("date", good));
  for (const char* bad : {"2023-02-29", "2024-13-01", "2024-00-01", "2024-01-00", "24-01-01", "2024-1-01",
                          "2024-01-01 ", "2024-01", "", "+024-01-01", "2024/01/01"})
    CHECK_FALSE(fits("date", bad));
  for (const char* good : {"00:00:00Z", "23:59:60z", "12:30:15.123456789+02:00", "12:30:15-23:59"})
    CHECK(fits("time", good));
  for (const char* bad : {"24:00:00Z", "12:60:00Z", "12:30:61Z", "12:30:15", "12:30:15.Z", "12:30:15+2:00",
                          "12:30:15+24:00", "12:30Z", "12:30:15Z1"})
    CHECK_FALSE(fits("time", bad));
  CHECK(fits("date-time", "2024-05-31T08:30:00Z"));
  CHECK(fits("date-time", "2024-05-31t08:30:00.5+01:30"));
  for (const char* bad : {"2024-05-31 08:30:00Z", "2024-05-31", "2024-05-31T", "T08:30:00Z"})
    CHECK_FALSE(fits("date-time", bad));
}

TEST_CASE("a reason has a limit of length", "[tools][G15]") {
  std::string all = R"({"type":"string"})";
  for (int i = 0; i < 6; ++i) all = R"({"anyOf":[)" + all + "," + all + "," + all + "]}";
  CHECK(check_k(all, json::object()).size() < 1000);
  CHECK(check_k(R"({"const":")" + std::string(10'000, 'a') + "\"}", 1).size() < 200);
  json names = json::array();
  for (int i = 0; i < 1000; ++i) names.push_back("value " + std::to_string(i));
  CHECK(contains(check_k(json{{"enum", names}}.dump(), "x"), ", ..."));
  CHECK(check_k(json{{"enum", names}}.dump(), "x").size() < 1000);
}

TEST_CASE("numbers at the ends of their ranges are checked correctly", "[tools][G15]") {
  for (const json& number : {json(INT64_MIN), json(UINT64_MAX), json(1e308), json(-1e308), json(5e-324)})
    for (const std::string keyword :
         {"\"multipleOf\":1", "\"multipleOf\":9223372036854775807", "\"multipleOf\":1e-300",
          "\"minimum\":1e308", "\"maximum\":-9223372036854775808", "\"type\":\"integer\""})
      CHECK_NOTHROW(check_k("{" + keyword + "}", number));
  CHECK(contains(refusal(R"({"multipleOf":18446744073709551615})"), "multipleOf"));
}
