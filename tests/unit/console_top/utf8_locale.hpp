// A locale of UTF-8 while it lives: the widths of characters depend on it.
#pragma once

#include "console/top/text.hpp"
#include "support/catch.hpp"

#include <clocale>
#include <string>

namespace console_top_test {

class Utf8Locale {
 public:
  Utf8Locale() : before_(std::setlocale(LC_CTYPE, nullptr)) { REQUIRE(console_app::top::use_utf8()); }
  ~Utf8Locale() { std::setlocale(LC_CTYPE, before_.c_str()); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  std::string before_;
};

}  // namespace console_top_test
