#include "schema/date_time.hpp"

#include <charconv>
#include <chrono>

namespace agentcore::detail::schema {
namespace {

// The rest of a text that is read from its beginning. Once a part is missing, the text is invalid, whatever
// follows.
class Rest {
 public:
  explicit Rest(std::string_view text) noexcept : text_(text) {}

  bool at_end() const noexcept { return right_ && text_.empty(); }
  bool skip(std::string_view one_of) noexcept {
    if (text_.empty() || one_of.find(text_.front()) == one_of.npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  void take(std::string_view one_of) noexcept { right_ = skip(one_of) && right_; }
  void need(bool holds) noexcept { right_ = holds && right_; }
  unsigned number(std::size_t digits) noexcept {
    unsigned value = 0;
    const char* const begin = text_.data();
    need(text_.size() >= digits && std::from_chars(begin, begin + digits, value).ptr == begin + digits);
    if (right_) text_.remove_prefix(digits);
    return value;
  }

 private:
  std::string_view text_;
  bool right_ = true;
};

void read_date(Rest& rest) noexcept {
  const auto year = static_cast<int>(rest.number(4));
  rest.take("-");
  const unsigned month = rest.number(2);
  rest.take("-");
  const unsigned day = rest.number(2);
  rest.need(
      std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day))
          .ok());
}

void read_hours_and_minutes(Rest& rest) noexcept {
  rest.need(rest.number(2) < 24);
  rest.take(":");
  rest.need(rest.number(2) < 60);
}

void read_time(Rest& rest) noexcept {
  constexpr std::string_view digits = "0123456789";
  read_hours_and_minutes(rest);
  rest.take(":");
  rest.need(rest.number(2) <= 60);  // 60: a leap second
  if (rest.skip(".")) {
    rest.take(digits);
    while (rest.skip(digits)) {
    }
  }
  if (rest.skip("zZ")) return;
  rest.take("+-");
  read_hours_and_minutes(rest);
}

}  // namespace

bool has_format(std::string_view text, std::string_view format) noexcept {
  Rest rest(text);
  if (format == "date") {
    read_date(rest);
  } else if (format == "time") {
    read_time(rest);
  } else if (format == "date-time") {
    read_date(rest);
    rest.take("tT");
    read_time(rest);
  } else {
    return true;
  }
  return rest.at_end();
}

}  // namespace agentcore::detail::schema
