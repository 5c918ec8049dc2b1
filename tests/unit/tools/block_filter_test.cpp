#include "tools/block_filter.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace agentcore::detail::tools;

namespace {

// What each piece lets out, and the end.
std::vector<std::string> passed(const std::vector<std::string>& pieces) {
  BlockFilter filter;
  std::vector<std::string> all;
  for (const std::string& piece : pieces) all.push_back(filter.pass(piece));
  all.push_back(filter.finish());
  return all;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("a tool call block is removed from the deltas wherever the pieces end", "[tools][X30]") {
  CHECK(passed({"I add.\n<tool_call>{}</tool_call> Done."}) == Pieces{"I add.\n Done.", ""});
  CHECK(passed({"I add.<tool", "_call>{\"a\"", ":1}</tool_c", "all> Done."}) ==
        Pieces{"I add.", "", "", " Done.", ""});
  std::string words;
  BlockFilter filter;
  for (const char c : std::string("a<tool_call></tool_call></tool_call>b<tool_call>x</tool_call>"))
    words += filter.pass(std::string(1, c));
  CHECK(words + filter.finish() == "a</tool_call>b");
}

TEST_CASE("an end tag in a string of a block does not end the block", "[tools][X30]") {
  const std::string answer = R"(a<tool_call>{"t":"x</tool_call>\"</tool_call>\\"}</tool_call>b)";
  CHECK(passed({answer}) == Pieces{"ab", ""});
  std::string words;
  BlockFilter filter;
  for (const char c : answer) words += filter.pass(std::string(1, c));
  CHECK(words + filter.finish() == "ab");
  CHECK(passed({R"(a<tool_call>{"t":"x</tool_call>", b)"}) == Pieces{"a", ""});  // a string without an end
  CHECK(passed({R"(a<tool_call>{"t":1}</tool_call> "b" <tool_call>{}</tool_call>c)"}) ==
        Pieces{R"(a "b" c)", ""});
}

TEST_CASE("text that only looks like the beginning of a block is delivered", "[tools][X30]") {
  CHECK(passed({"1 <", " 2"}) == Pieces{"1 ", "< 2", ""});
  CHECK(passed({"<tool_", "box> <<tool_call", "s>"}) == Pieces{"", "<tool_box> <", "<tool_calls>", ""});
  CHECK(passed({"<", "<tool_call>x"}) == Pieces{"", "<", ""});
}

TEST_CASE("the end of the answer delivers the text that was held back", "[tools][X30]") {
  CHECK(passed({"a <tool_c"}) == Pieces{"a ", "<tool_c"});
  CHECK(passed({"a <tool_call>{}", "</tool"}) == Pieces{"a ", "", ""});
  CHECK(passed({}) == Pieces{""});
}

TEST_CASE("the text of a whole answer has no trailing blanks", "[tools][X30]") {
  CHECK(without_blocks("A </tool_call> B <tool_call>{}</tool_call> C\n") == "A </tool_call> B  C");
  CHECK(without_blocks("A \n<tool_call>{}</tool_call>\n<tool_call>{}</tool_call>") == "A");
  CHECK(without_blocks("<tool_call>") == "");
}

TEST_CASE("a tag is found right behind the beginning of another one", "[tools][X30]") {
  CHECK(passed({"a<tool_call>x<</tool_call>b"}) == Pieces{"ab", ""});
  CHECK(passed({"a<tool_call>x</tool_</tool_call>b"}) == Pieces{"ab", ""});
  CHECK(passed({"a<<tool_call>x</tool_call>b"}) == Pieces{"a<b", ""});
  CHECK(passed({"a<tool_<tool_call>x</tool_call>b"}) == Pieces{"a<tool_b", ""});
  CHECK(passed({"a<tool_", "<tool_c", "all>x</tool", "_call></tool_call>b"}) ==
        Pieces{"a", "<tool_", "", "</tool_call>b", ""});
}
