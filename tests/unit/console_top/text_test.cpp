// Text of others in the terminal view: it controls no terminal, and fits its columns.
#include "console/top/text.hpp"

#include "core/code_points.hpp"
#include "core/utf8.hpp"
#include "support/catch.hpp"
#include "unit/console_top/utf8_locale.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace console_app::top;
using console_top_test::Utf8Locale;

TEST_CASE("the terminal view shows text as it is", "[console_top]") {
  const Utf8Locale locale;
  CHECK(printable("planner C:\\dir ~") == "planner C:\\dir ~");
  CHECK(printable("caf\u00e9 \u4f60\u597d \U0001f600") == "caf\u00e9 \u4f60\u597d \U0001f600");
  CHECK(printable("e\u0301") == "e\u0301");
}

TEST_CASE("the terminal view escapes what controls a terminal", "[console_top]") {
  const Utf8Locale locale;
  CHECK(printable("\x1b[31mred\x1b]0;t\x07") == "\\u001b[31mred\\u001b]0;t\\u0007");
  CHECK(printable("a\r\n\tb") == "a\\n\\tb");
  CHECK(printable("a\rb") == "a\\u000db");
  CHECK(printable(std::string_view("\0\x08\x7f", 3)) == "\\u0000\\u0008\\u007f");
  CHECK(printable("\u009b31m") == "\\u009b31m");
  CHECK(printable("\x9b"
                  "31m") == "\ufffd31m");
  CHECK(printable("\u202eabc\u200b") == "\\u202eabc\\u200b");
  CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("the terminal view escapes each character that the library escapes", "[console_top]") {
  const Utf8Locale locale;
  for (char32_t c = 1; c <= 0x10ffff; c = c == 0xd7ff ? 0xe000 : c + 1) {
    if (!agentcore::detail::core::is_unsafe_to_show(c)) continue;
    std::string text;
    agentcore::detail::core::append_utf8(text, c);
    CAPTURE(static_cast<unsigned>(c));
    CHECK(printable(text).front() == '\\');
  }
}

TEST_CASE("the terminal view escapes what its locale does not know", "[console_top]") {
  const Utf8Locale locale;
  CHECK(printable("a\u0378b") == "a\\u0378b");  // not assigned
}

TEST_CASE("the terminal view replaces bytes that are no UTF-8", "[console_top]") {
  const Utf8Locale locale;
  for (const char* text : {"\xc0\xaf", "\xe4\xbd", "\xf4\x90\x80\x80", "\xed\xa0\x80"}) {
    const std::string shown = printable("a" + std::string(text) + "b");
    CAPTURE(shown);
    CHECK(shown.starts_with("a\ufffd"));
    CHECK(shown.ends_with("\ufffdb"));
  }
}

TEST_CASE("the terminal view leaves out what joins characters", "[console_top]") {
  const Utf8Locale locale;
  CHECK(printable("\U0001f468\u200d\U0001f469") == "\U0001f468\U0001f469");
  CHECK(printable("\u2764\ufe0f") == "\u2764");
}

TEST_CASE("columns are counted, not bytes", "[console_top]") {
  const Utf8Locale locale;
  CHECK(columns("") == 0);
  CHECK(columns("abc") == 3);
  CHECK(columns("\u4f60\u597d") == 4);
  CHECK(columns("e\u0301") == 1);
}

TEST_CASE("a text is cut and filled to its columns", "[console_top]") {
  const Utf8Locale locale;
  CHECK(fit("abc", 5) == "abc  ");
  CHECK(fit("abcdef", 5) == "abcd\u2026");
  CHECK(fit("\u4f60\u597d\u4f60", 5) == "\u4f60\u597d\u2026");
  CHECK(fit("\u4f60\u597d\u4f60", 4) == "\u4f60\u2026 ");  // half a character does not exist
  CHECK(cut("e\u0301x", 1) == "\u2026");
  CHECK(cut("xe\u0301", 2) == "xe\u0301");
  CHECK(cut_front("abcdef", 4) == "\u2026def");
  CHECK(cut_front("a\u4f60\u597d", 4) == "\u2026\u597d");
  CHECK(cut("abc", 0).empty());
  CHECK(cut_front("abc", 0).empty());
  for (std::size_t width = 0; width < 12; ++width)
    CHECK(columns(fit("a\u4f60b\u597dc\u4f60", width)) == width);
}

TEST_CASE("lines are broken between words", "[console_top]") {
  const Utf8Locale locale;
  CHECK(wrap("one two three", 8, 10) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("abcdefghij", 4, 10) == std::vector<std::string>{"abcd", "efgh", "ij"});
  CHECK(wrap("a\n\nb\n", 4, 10) == std::vector<std::string>{"a", "", "b"});
  CHECK(wrap("    code", 6, 10) == std::vector<std::string>{"    co", "de"});
  CHECK(wrap("\u4f60\u597d\u4f60", 4, 10) == std::vector<std::string>{"\u4f60\u597d", "\u4f60"});
  CHECK(wrap("\u4f60", 1, 10) ==
        std::vector<std::string>{"\u4f60"});  // wider than all columns: no endless loop
  CHECK(wrap("a\r\n\tb\x1b[", 12, 10) == std::vector<std::string>{"a", " b\\u001b["});
  CHECK(wrap("1\n2\n3\n4", 4, 2) == std::vector<std::string>{"3", "4"});
  CHECK(wrap("text", 0, 10).empty());
}
