// Foreign text that is shown to people.
#include "support/catch.hpp"

#include <agentcore/display.hpp>

#include <string>

using namespace agentcore;

TEST_CASE("what is shown to people cannot control a terminal", "[core][security]") {
  CHECK(display("\x1b[2Jgone\a\b") == "\\u001b[2Jgone\\u0007\\u0008");
  CHECK(display(std::string("a\0b", 3)) == "a\\u0000b");
  CHECK(display("50 %\rdone") == "50 %\\u000ddone");
  CHECK(display("\xc2\x9b"
                "2J\x7f") == "\\u009b2J\\u007f");  // C1 and DEL
}

TEST_CASE("what is shown to people cannot hide or reorder text", "[core][security]") {
  CHECK(display("a\xe2\x80\xae"
                "cba") == "a\\u202ecba");
  CHECK(display("\xe2\x81\xa6x\xe2\x81\xa9") == "\\u2066x\\u2069");
  CHECK(display("a\xe2\x80\x8b"
                "b\xef\xbb\xbf") == "a\\u200bb\\ufeff");
  CHECK(display("\xf3\xa0\x80\x81") == "\\U000e0001");
  CHECK(display("a\xe2\x80\xa8"
                "b") == "a\\u2028b");
}

TEST_CASE("other text is shown as it is", "[core]") {
  for (const std::string text : {"", "plain \"text\" \\u001b", "a\n\tb", "\xe5\xb7\xb2", "g\xc3\xbcltig",
                                 "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\xef\xb8\x8f"})
    CHECK(display(text) == text);
  CHECK(display("a\r\nb") == "a\nb");
  CHECK(display("a\xff\xc3") == "a\xef\xbf\xbd\xef\xbf\xbd");
  const std::string once = display("\x1b\xff\r");
  CHECK(display(once) == once);
}
