// Patterns: ECMA-262's syntax on RE2.
#include "schema/pattern.hpp"

#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <utility>

using namespace agentcore::detail::schema;

namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern);
  INFO(pattern << " " << (compiled ? "" : compiled.error().message));
  REQUIRE(compiled);
  return compiled->matches(text);
}

std::string refusal(std::string_view pattern) {
  const auto compiled = Pattern::compile(pattern);
  return compiled ? "" : compiled.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a build without RE2 refuses every pattern", "[tools][Y9]") {
  if (Pattern::is_supported()) return;
  CHECK(contains(refusal("^a$"), "has no RE2"));
}

TEST_CASE("a pattern matches anywhere unless it is anchored", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  CHECK(matches("b+", "abc"));
  CHECK_FALSE(matches("^b", "abc"));
  CHECK_FALSE(matches("^a$", "a\n"));
  CHECK_FALSE(matches("^b", "a\nb"));
  CHECK(matches("", ""));
  CHECK(matches("^(a|b)*c{2,3}$", "abcc"));
}

TEST_CASE("the characters of a pattern are code points", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  CHECK(matches("^.$", "\u00e4"));
  CHECK(matches("^.$", "\U0001f600"));
  CHECK(matches("^[\u00e0-\u00ff]$", "\u00e4"));
  CHECK(matches(R"(^\u00e4\xe4$)", "\u00e4\u00e4"));
  CHECK(matches(R"(^[\u0041-\u0043]+$)", "ABC"));
  CHECK(matches(R"(^\uD83D\uDE00$)", "\U0001f600"));
  CHECK(matches(R"(^[\uD83D\uDE00-\uD83D\uDE01]$)", "\U0001f601"));
  CHECK(matches(R"(^\u{1F600}$)", "\U0001f600"));
  CHECK(matches(R"(^\p{Lu}\p{Script=Greek}\P{gc=Lu}$)", "\u00c4\u03b1b"));
  for (const char* broken :
       {R"(\u12)", R"(\uD83D)", R"(\uDE00)", R"(\uD83D\u0041)", R"(\u{110000})", R"(\u{})", R"(\x4)"})
    CHECK(contains(refusal(broken), "must be followed by the digits of a character"));
}

TEST_CASE("escapes and classes and the dot are those of ECMA-262", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  CHECK(matches(R"(^\d\D\w\W$)", "1a_-"));
  CHECK(matches(R"(^\s\S$)", "\u00a0a"));
  CHECK_FALSE(matches(R"(^\S$)", "\u2003"));
  CHECK(matches(R"(^[\s\S]*$)", "a\n\u00a0\U0001f600"));
  CHECK(matches(R"(^[^\S]$)", "\v"));
  CHECK(matches(R"(^\t\n\v\f\r\cJ\0$)", std::string_view("\t\n\v\f\r\n\0", 7)));
  CHECK(matches(R"(\bword\b)", "a word."));
  CHECK(matches(R"(a\Bb)", "ab"));
  CHECK(matches(R"(^[\b]$)", "\b"));
  CHECK_FALSE(matches("^.$", "\r"));
  CHECK_FALSE(matches("^.$", "\u2028"));
  CHECK(matches(R"(^\/\.\-\_\ \$\\$)", "/.-_ $\\"));
  CHECK(matches("^\\\u00e4$", "\u00e4"));
}

TEST_CASE("bracket expressions are those of ECMA-262", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  CHECK(matches("^[^]$", "\n"));
  CHECK_FALSE(matches("[]", "a"));
  CHECK(matches("^[[:a]]$", ":]"));
  CHECK(matches("^a]$", "a]"));
  CHECK(matches(R"(^[\]\\^-]+$)", "]\\^-"));
  CHECK(matches(R"(^[\w-.]+$)", "a-."));
  CHECK(matches(R"(^[\s-a]+$)", " -a"));
  CHECK_FALSE(matches(R"(^[\s-\u{10ffff}]$)", "\U0001f600"));
  CHECK(matches(R"(^[+-\d]+$)", "+-7"));
  CHECK_FALSE(matches(R"(^[+-\d]+$)", ","));
  CHECK(matches("^(?:a)(?<name>b)$", "ab"));
}

TEST_CASE("a pattern that RE2 cannot match is refused with the reason", "[tools][Y9]") {
  if (!Pattern::is_supported()) return;
  CHECK(contains(refusal("a(?=b)"), "look-ahead, \"(?=\""));
  CHECK(contains(refusal("a(?!b)"), "look-ahead, \"(?!\""));
  CHECK(contains(refusal("(?<=a)b"), "look-behind, \"(?<=\""));
  CHECK(contains(refusal("(?<!a)b"), "look-behind, \"(?<!\""));
  CHECK(contains(refusal(R"((a)\1)"), "back references"));
  CHECK(contains(refusal(R"((?<n>a)\k<n>)"), "back references"));
  for (const char* foreign : {R"(\Aa)", R"(a\Z)", R"(a\z)", R"(\Qa\E)", R"(\C)", R"(\a)", R"(\h)"})
    CHECK(contains(refusal(foreign), "is no escape of ECMA-262"));
  for (const char* broken : {"(", "[", "a)", "*", "a**", "[b-a]", "a{2,1}", "\\", "(?i)a", "(?<name", R"(\p)",
                             R"(\p{)", R"(\p{None})", R"([\B])", R"([a\)"})
    CHECK(refusal(broken) != "");
}

TEST_CASE("a pattern has limits of length and size", "[tools][G15]") {
  if (!Pattern::is_supported()) return;
  CHECK(refusal(std::string(max_pattern_bytes, 'a')) == "");
  CHECK(contains(refusal(std::string(max_pattern_bytes + 1, 'a')), "longer than 1024 bytes"));
  CHECK(contains(refusal("a{1001}"), "1001"));
  CHECK(refusal("((a{100}){100}){100}") != "");
  CHECK(contains(refusal(R"((\p{L}{1,30}a){1,30}!)"), "too large"));
  const std::string groups = std::string(500, '(') + std::string(500, ')');
  CHECK(matches(groups, "a"));
}

TEST_CASE("the steps of a match grow linearly with the text", "[tools][G15]") {
  if (!Pattern::is_supported()) return;
  auto compiled = Pattern::compile(R"((\w{1,30}[ -]?){1,30}!)");
  REQUIRE(compiled);
  const Pattern pattern = std::move(*compiled);
  CHECK(pattern.steps(0) == 1);
  CHECK(pattern.steps(1024) > 1024);
  CHECK(pattern.steps(2048) - 1 == 2 * (pattern.steps(1024) - 1));
  // It ends: the work of both is bounded. Quadratic, let alone exponential, it would take hours.
  CHECK_FALSE(pattern.matches(std::string(1024, 'a')));
  CHECK_FALSE(pattern.matches(std::string(100 * 1024, 'a')));
}
