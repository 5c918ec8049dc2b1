#include "schema/pattern_syntax.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace agentcore::detail::schema {
namespace {

// `\s`, `\S` and `.` as ECMA-262 defines them; RE2 defines them otherwise.
constexpr std::string_view space =
    R"(\t\n\v\f\r\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view no_space =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr std::string_view any_but_line_end = R"([^\n\r\x{2028}\x{2029}])";
constexpr std::string_view anything = R"(\x{0}-\x{10ffff})";

bool is_high_surrogate(std::uint32_t code) noexcept {
  return code >= 0xD800 && code < 0xDC00;
}
bool is_low_surrogate(std::uint32_t code) noexcept {
  return code >= 0xDC00 && code < 0xE000;
}
bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Translation {
 public:
  explicit Translation(std::string_view pattern) : rest_(pattern) {}

  Result<std::string> run() {
    while (!rest_.empty() && wrong_.empty()) {
      const char c = take();
      if (c == '\\')
        escape();
      else if (c == '[')
        set();
      else if (c == '(')
        group();
      else if (c == '.')
        out_ += any_but_line_end;
      else if (c == ']')
        out_ += "\\]";
      else
        out_ += c;
    }
    if (!wrong_.empty()) return Error{Errc::invalid_config, std::move(wrong_)};
    return std::move(out_);
  }

 private:
  void wrong(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  // After "(".
  void group() {
    if (!rest_.starts_with('?') || skip("?:")) {
      out_ += "(?:";
    } else if (rest_.starts_with("?=") || rest_.starts_with("?!")) {
      wrong("look-ahead, \"(" + std::string(rest_.substr(0, 2)) + "\", is not supported");
    } else if (rest_.starts_with("?<=") || rest_.starts_with("?<!")) {
      wrong("look-behind, \"(" + std::string(rest_.substr(0, 3)) + "\", is not supported");
    } else if (const auto end = rest_.find('>'); skip("?<") && end != rest_.npos) {  // a name
      rest_.remove_prefix(end - 1);
      out_ += "(?:";
    } else {
      wrong("\"(?\" must be followed by \":\" or \"<name>\"");
    }
  }

  // After "[".
  void set() {
    const bool negated = skip("^");
    if (skip("]")) {
      out_ += (negated ? "[" : "[^") + std::string(anything) + "]";
      return;
    }
    out_ += negated ? "[^" : "[";
    in_set_ = true;
    while (wrong_.empty() && !skip("]")) {
      if (rest_.empty()) return wrong("\"[\" has no end");
      set_item(take());
    }
    in_set_ = false;
    out_ += ']';
  }
  void set_item(char c) {
    if (c == '\\')
      escape();
    else if (c == '[')
      out_ += "\\[";
    else if (c == '-' && before_class())
      code_point('-');
    else
      out_ += c;
  }
  // Next to an escape that stands for several characters, a hyphen is an ordinary character.
  bool before_class() const {
    return rest_.size() > 1 && rest_[0] == '\\' && std::string_view("dDsSwWpP").find(rest_[1]) != rest_.npos;
  }
  void class_escape(std::string_view text) {
    out_ += text;
    if (in_set_ && skip("-")) code_point('-');
  }
  void class_of(std::string_view characters) {
    class_escape(in_set_ ? std::string(characters) : "[" + std::string(characters) + "]");
  }

  // After a backslash.
  void escape() {
    if (rest_.empty()) return wrong("it ends with a backslash");
    const char c = take();
    const std::string text{'\\', c};
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        return class_escape(text);
      case 's':
        return class_of(space);
      case 'S':
        return class_of(no_space);
      case 'p':
      case 'P':
        return property(c);
      case 'b':
        if (in_set_) return code_point('\b');
        [[fallthrough]];
      case 't':
      case 'n':
      case 'v':
      case 'f':
      case 'r':
        out_ += text;
        return;
      default:
        return other_escape(c);
    }
  }
  void other_escape(char c) {
    if (c == 'B' && !in_set_) {
      out_ += "\\B";
    } else if (c == 'c' && !rest_.empty() && is_letter(rest_[0])) {
      code_point(static_cast<unsigned char>(take()) % 32);
    } else if (c == 'x' || c == 'u') {
      hexadecimal(c == 'x' ? 2 : 4);
    } else if (c == '0' && (rest_.empty() || !is_digit(rest_[0]))) {
      code_point(0);
    } else if (is_digit(c) || c == 'k') {
      wrong(std::string("back references, \"\\") + c + "\", are not supported");
    } else if (is_letter(c)) {
      wrong(std::string("\"\\") + c + "\" is no escape of ECMA-262");
    } else if (static_cast<unsigned char>(c) < 0x80) {
      code_point(static_cast<unsigned char>(c));
    } else {
      out_ += c;  // the first byte of a character
    }
  }

  // \p{Lu}, \p{Script=Greek}. RE2 checks the name.
  void property(char c) {
    const auto end = rest_.find('}');
    if (!skip("{") || end == rest_.npos) return wrong(std::string("\"\\") + c + "\" needs a name in braces");
    for (const std::string_view key : {"Script=", "sc=", "General_Category=", "gc="})
      if (skip(key)) break;
    const std::string name(rest_.substr(0, rest_.find('}')));
    rest_.remove_prefix(name.size() + 1);
    class_escape(std::string("\\") + c + "{" + name + "}");
  }

  void hexadecimal(std::size_t digits) {
    const char letter = digits == 2 ? 'x' : 'u';
    std::optional<std::uint32_t> code =
        letter == 'u' && rest_.starts_with('{') ? in_braces() : number(digits);
    if (code && is_high_surrogate(*code) && skip("\\u")) {
      const std::optional<std::uint32_t> low = number(4);
      code = low && is_low_surrogate(*low)
                 ? std::optional(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00))
                 : std::nullopt;
    }
    if (!code || is_high_surrogate(*code) || is_low_surrogate(*code) || *code > 0x10FFFF)
      return wrong(std::string("\"\\") + letter + "\" must be followed by the digits of a character");
    code_point(*code);
  }
  std::optional<std::uint32_t> number(std::size_t digits) {
    std::uint32_t code = 0;
    const char* const begin = rest_.data();
    if (rest_.size() < digits || std::from_chars(begin, begin + digits, code, 16).ptr != begin + digits)
      return std::nullopt;
    rest_.remove_prefix(digits);
    return code;
  }
  std::optional<std::uint32_t> in_braces() {
    take();
    const auto digits = rest_.find('}');
    if (digits == 0 || digits > 6) return std::nullopt;
    const std::optional<std::uint32_t> code = number(digits);
    skip("}");
    return code;
  }

  void code_point(std::uint32_t code) {
    char digits[8];
    out_.append("\\x{").append(digits, std::to_chars(digits, digits + sizeof digits, code, 16).ptr) += '}';
  }

  std::string_view rest_;
  std::string out_;
  std::string wrong_;
  bool in_set_ = false;
};

}  // namespace

Result<std::string> to_re2(std::string_view pattern) {
  return Translation(pattern).run();
}

}  // namespace agentcore::detail::schema
