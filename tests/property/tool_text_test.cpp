// The text protocol against arbitrary text.
#include "support/prop.hpp"
#include "tools/block_filter.hpp"
#include "tools/text_protocol.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore::detail::tools;

namespace {

// Pieces out of which broken blocks are made.
rc::Gen<std::string> any_piece() {
  return rc::gen::oneOf(rc::gen::element<std::string>(
                            "<tool_call>", "</tool_call>", "{\"calls\":[", "]}", "{", "}", "[", "]", ",", ":",
                            "\"window_id\":\"w\"", "\"action_id\":\"a\"", "\"params\":{}", "\"name\":\"n\"",
                            "\"arguments\":\"{}\"", "\"", "\\", "\n", "<tool_", "<"),
                        rc::gen::arbitrary<std::string>());
}

rc::Gen<std::string> any_id() {
  const auto any_char = rc::gen::map(rc::gen::inRange(0, 0x80), [](int c) { return static_cast<char>(c); });
  const auto no_blank = rc::gen::suchThat(
      any_char, [](char c) { return std::string_view(" \t\r\n").find(c) == std::string_view::npos; });
  return rc::gen::nonEmpty(rc::gen::container<std::string>(no_blank));
}

// The position behind the first end tag that is not in a JSON string.
std::size_t behind_block(std::string_view content) {
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content.substr(i).starts_with(block_end)) return i + block_end.size();
    if (content[i] != '"') continue;
    for (++i; i < content.size() && content[i] != '"'; ++i)
      if (content[i] == '\\') ++i;
  }
  return content.npos;
}

}  // namespace

TEST_CASE("the text protocol reads arbitrary text", "[property][tools][J11][X30]") {
  prop("it never throws, and gives calls or a reason, never both", [] {
    std::string answer;
    for (const auto& piece : *rc::gen::container<std::vector<std::string>>(any_piece())) answer += piece;
    const ParsedAnswer parsed = parse_tool_text(answer, 1);
    RC_ASSERT(parsed.calls.empty() || parsed.parse_error.empty());
    for (const ActionCall& call : parsed.calls) RC_ASSERT(!call.window_id.empty() && !call.action_id.empty());
    if (!parsed.calls.empty())
      RC_ASSERT(parse_tool_text(render_tool_text(parsed.calls), 1).calls == parsed.calls);
  });
}

TEST_CASE("the text of an answer is the same however it is split", "[property][tools][X30]") {
  prop("the filter passes on what surrounds the blocks", [] {
    std::string answer, words;
    BlockFilter filter;
    for (const auto& piece : *rc::gen::container<std::vector<std::string>>(any_piece())) {
      answer += piece;
      words += filter.pass(piece);
      RC_ASSERT(words.find(block_begin) == std::string::npos);
    }
    words += filter.finish();
    BlockFilter whole;
    std::string at_once = whole.pass(answer);
    at_once += whole.finish();
    RC_ASSERT(words == at_once);
    std::string expected;
    for (std::string_view rest = answer;;) {
      const auto begin = std::min(rest.find(block_begin), rest.size());
      expected += rest.substr(0, begin);
      rest.remove_prefix(begin);
      const auto end = behind_block(rest);
      if (end == rest.npos) break;
      rest.remove_prefix(end);
    }
    RC_ASSERT(words == expected);
  });
}

TEST_CASE("the text protocol reads back what it renders", "[property][tools][J1][J8]") {
  prop("calls survive rendering, whatever surrounds them", [] {
    std::vector<ActionCall> calls;
    const int count = *rc::gen::inRange(1, 6);
    for (int i = 1; i <= count; ++i)
      calls.push_back(
          {"call_7_" + std::to_string(i), *any_id(), *any_id(),
           *rc::gen::element<std::string>("", "{}", R"({"k":"</tool_call>"})", R"({"a":[1,{"b":null}]})")});
    const std::string before = *rc::gen::element<std::string>("", "words\n", "</tool_call>");
    RC_ASSERT(parse_tool_text(before + render_tool_text(calls) + "<tool_call>", 7).calls == calls);
  });
}
