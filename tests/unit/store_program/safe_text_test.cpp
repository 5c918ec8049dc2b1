// What agentcore-store prints cannot control a terminal.
#include "store/safe_text.hpp"

#include "core/utf8.hpp"
#include "support/catch.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using store_tool::indented;
using store_tool::printable;
using store_tool::safe_json;

namespace {

// A byte that a terminal may take for a command. Those of UTF-8 are no C1 controls where the text is valid.
bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; });
}

}  // namespace

TEST_CASE("text that a person can read is printed as it is", "[store_program]") {
  CHECK(printable("") == "");
  CHECK(printable("planner (a-z, 1%) ~") == "planner (a-z, 1%) ~");
  CHECK(printable("\u00e4\u4f60\U0001f600") == "\u00e4\u4f60\U0001f600");
  CHECK(printable("\u200d") == "\u200d");  // emoji and scripts need it
}

TEST_CASE("what controls a terminal is escaped", "[store_program]") {
  CHECK(printable("\x1b[31mred\x1b]0;title\x07") == "\\x1b[31mred\\x1b]0;title\\x07");
  CHECK(printable("a\r\n\tb") == "a\\r\\n\\tb");
  CHECK(printable(std::string_view("\0\x08\x7f", 3)) == "\\x00\\x08\\x7f");
  CHECK(printable("\u009b31m") == "\\u{9b}31m");  // CSI as one character
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");  // and as one byte
}

TEST_CASE("what cannot be seen or turns the direction of text is escaped", "[store_program]") {
  CHECK(printable("a\u202eb") == "a\\u{202e}b");
  CHECK(printable("\u2066x\u2069") == "\\u{2066}x\\u{2069}");
  CHECK(printable("\u200b\ufeff\u2028") == "\\u{200b}\\u{feff}\\u{2028}");
  CHECK(printable("\U000e0041") == "\\u{e0041}");
}

TEST_CASE("bytes that are no UTF-8 are escaped, and what follows is not", "[store_program]") {
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xe4\xbd"
                  "a") == "\\xe4\\xbda");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");  // an overlong ESC
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(printable("\xf0\x9f") == "\\xf0\\x9f");
}

TEST_CASE("an escape cannot be taken for text", "[store_program]") {
  CHECK(printable("\\x1b") == "\\\\x1b");
}

TEST_CASE("each line of a text has the margin", "[store_program]") {
  CHECK(indented("one", "> ") == "> one\n");
  CHECK(indented("", "> ") == "> \n");
  CHECK(indented("one\n\ntwo\n", "> ") == "> one\n> \n> two\n");
  CHECK(indented("\x1b[2J\r\nx", "  ") == "  \\x1b[2J\\r\n  x\n");
}

TEST_CASE("JSON is printed in ASCII", "[store_program]") {
  const std::string text = safe_json({{"id", "\x1b\u009b\x7f\xff\u00e4"}});
  CHECK(text.find(R"("\u001b\u009b\u007f\ufffd\u00e4")") != std::string::npos);
}

TEST_CASE("no bytes at all come out as a control character", "[store_program]") {
  prop("printable text is UTF-8 without control characters", [](const std::string& bytes) {
    const std::string text = printable(bytes);
    RC_ASSERT(!has_control(text));
    RC_ASSERT(agentcore::detail::core::is_utf8(text));
    const std::string lines = indented(bytes, "");
    RC_ASSERT(std::count(lines.begin(), lines.end(), '\n') >= 1);
  });
}
