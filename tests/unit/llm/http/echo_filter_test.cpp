// What is left of a line without the members that repeat its request.
#include "llm/http/echo_filter.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using agentcore::detail::llm::EchoFilter;

namespace {

constexpr std::string_view names[] = {"instructions", "tools"};

std::string kept(std::string_view line, std::size_t bytes) {
  EchoFilter filter(names);
  std::string result;
  for (; !line.empty(); line.remove_prefix(std::min(bytes, line.size())))
    filter.feed(line.substr(0, bytes), result);
  return result;
}

}  // namespace

TEST_CASE("the values of echoed members are left out, and everything else is kept", "[llm][echo]") {
  struct Row {
    const char* line;
    const char* kept;
  };
  const Row rows[] = {
      {R"(data: {"a":1,"instructions":"x","b":"y"})", R"(data: {"a":1,"instructions":"","b":"y"})"},
      {R"({"instructions" : "a\"b\\","b":2})", R"({"instructions" : "","b":2})"},
      {R"({"tools":[{"tools":["]"]},"\"]"],"b":2})", R"({"tools":[],"b":2})"},
      {R"({"tools":{"a":{}},"b":{"tools":[1]}})", R"({"tools":{},"b":{"tools":[]}})"},
      {R"({"instructions":null,"tools":7,"a":"tools"})", R"({"instructions":null,"tools":7,"a":"tools"})"},
      {R"({"text":"\"instructions\":\"x\""})", R"({"text":"\"instructions\":\"x\""})"},
      {R"(["instructions","x"])", R"(["instructions","x"])"},
      {R"({"instructions_":"x","my instructions":"y"})", R"({"instructions_":"x","my instructions":"y"})"},
      {"no JSON: \"tools", "no JSON: \"tools"},
  };
  for (const Row& row : rows)
    for (const std::size_t bytes : {1U, 3U, 1000U}) {
      INFO(row.line << ", " << bytes);
      CHECK(kept(row.line, bytes) == row.kept);
    }
}
