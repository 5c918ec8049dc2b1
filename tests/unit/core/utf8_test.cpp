#include "core/utf8.hpp"

#include "support/catch.hpp"
#include "support/prop.hpp"

using namespace agentcore::detail::core;

TEST_CASE("each broken UTF-8 sequence is replaced by one replacement character", "[core]") {
  CHECK(valid_utf8("plain") == "plain");
  CHECK(valid_utf8("gr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(valid_utf8("a\xFFz") == "a\xEF\xBF\xBDz");
  CHECK(valid_utf8("\xE2\x82") == "\xEF\xBF\xBD");                              // cut short
  CHECK(valid_utf8("\xC0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  CHECK(valid_utf8("\xF0\x9F\x98\x80") == "\xF0\x9F\x98\x80");
}

TEST_CASE("text is cut between characters", "[core]") {
  CHECK(first_characters("abc", 2) == "ab");
  CHECK(first_characters("abc", 9) == "abc");
  CHECK(first_characters("\xC3\xBC\xE2\x82\xAC!", 1) == "\xC3\xBC");
  CHECK(first_characters("\xC3\xBC\xE2\x82\xAC!", 2) == "\xC3\xBC\xE2\x82\xAC");
}

TEST_CASE("an incomplete character at the end is removed", "[core]") {
  CHECK(whole_characters("") == "");
  CHECK(whole_characters("abc") == "abc");
  CHECK(whole_characters("a\xC3\xBC") == "a\xC3\xBC");
  CHECK(whole_characters("a\xC3") == "a");
  CHECK(whole_characters("a\xE2\x82") == "a");
  CHECK(whole_characters("a\xF0\x9F\x98") == "a");
  CHECK(whole_characters("a\xFF") == "a\xFF");  // not cut: broken
  CHECK(whole_characters("\x82\x82\x82\x82") == "\x82\x82\x82\x82");
  CHECK(whole_characters("\xE2\x28") == "\xE2\x28");
}

TEST_CASE("any bytes become valid UTF-8", "[core]") {
  prop("valid_utf8() gives valid UTF-8, and leaves valid text alone", [](const std::string& bytes) {
    const std::string once = valid_utf8(bytes);
    RC_ASSERT(is_utf8(once));
    RC_ASSERT(valid_utf8(once) == once);
    if (is_utf8(bytes)) RC_ASSERT(once == bytes);
  });
}

TEST_CASE("every code point is written as UTF-8", "[core]") {
  for (char32_t point = 0; point < 0x110100; point += 0x55) {
    std::string text;
    append_utf8(text, point);
    if (!is_utf8(text)) FAIL("U+" << std::hex << static_cast<unsigned>(point));
  }
}
