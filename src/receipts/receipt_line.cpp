#include "receipts/receipt_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <utility>

namespace agentcore::detail::receipts {
namespace {

constexpr std::size_t hash_digits = 64;

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr bool is_hash(std::string_view text) noexcept {
  return text.size() == hash_digits &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// As text_of_time() writes it, but for the ranges of the numbers, which the hash proves.
constexpr bool is_time(std::string_view text) noexcept {
  constexpr std::string_view pattern = "0000-00-00T00:00:00.000000Z";
  return text.size() == pattern.size() &&
         std::equal(text.begin(), text.end(), pattern.begin(),
                    [](char c, char wanted) { return wanted == '0' ? is_digit(c) : c == wanted; });
}

// Reads a line from left to right. After the first thing that is wrong it reads nothing more.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : line_(line), rest_(line) {}

  void expect(std::string_view text) {
    if (!problem_.empty()) return;
    if (rest_.starts_with(text))
      rest_.remove_prefix(text.size());
    else
      fail(std::string(text) + " is expected");
  }
  // Up to the next quotation mark.
  std::string text() {
    if (!problem_.empty()) return {};
    const std::size_t end = rest_.find('"');
    if (end == rest_.npos) return fail("a text has no end"), std::string();
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return found;
  }
  // As std::to_string() writes it.
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (!problem_.empty()) return value;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const std::string_view read(rest_.data(), static_cast<std::size_t>(end - rest_.data()));
    if (error != std::errc() || read != std::to_string(value)) return fail("a number is expected"), 0;
    rest_.remove_prefix(read.size());
    return value;
  }
  // All but the last `bytes` bytes.
  std::string all_but(std::size_t bytes) {
    if (!problem_.empty()) return {};
    if (rest_.size() <= bytes) return fail("the line is too short"), std::string();
    std::string found(rest_.substr(0, rest_.size() - bytes));
    rest_.remove_prefix(found.size());
    return found;
  }
  void require(bool condition, const char* what) {
    if (problem_.empty() && !condition) fail(what);
  }
  void expect_end() { require(rest_.empty(), "the line is too long"); }
  std::string take_problem() { return std::move(problem_); }

 private:
  void fail(std::string what) {
    problem_ = "is not a receipt: " + std::move(what) + " at byte " +
               std::to_string(line_.size() - rest_.size() + 1);
  }

  std::string_view line_;
  std::string_view rest_;
  std::string problem_;
};

}  // namespace

std::string text_of_time(WallTime time) {
  using std::chrono::days;
  using std::chrono::microseconds;
  constexpr std::chrono::sys_days first{std::chrono::year(1970) / 1 / 1},
      end{std::chrono::year(9999) / 12 / 31};
  // Compared in days: the range of nanoseconds is smaller than these years.
  auto day = std::chrono::floor<days>(time);
  microseconds rest{};
  if (day >= first && day <= end)  // else the difference may overflow
    rest = std::chrono::floor<microseconds>(time - day);
  else
    day = std::clamp(day, std::chrono::time_point_cast<days>(first), std::chrono::time_point_cast<days>(end));
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<microseconds> clock(rest);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

std::string line_of(const Receipt& receipt) {
  std::string line = R"({"format":")" + std::string(receipt_format) + R"(","mac":")" + receipt.mac +
                     R"(","number":)" + std::to_string(receipt.number) + R"(,"time":")" + receipt.time +
                     R"(","lost":)" + std::to_string(receipt.lost) + R"(,"prev":")" + receipt.prev +
                     R"(","body_hash":")" + receipt.body_hash + R"(","body":)";
  line += receipt.body ? *receipt.body : "null";
  line += R"(,"hash":")" + receipt.hash + R"("})";
  return line;
}

std::optional<Receipt> receipt_of(std::string_view line, std::string& problem) {
  constexpr std::string_view before_hash = R"(,"hash":")", end = R"("})";
  Receipt receipt;
  LineParser parser(line);
  parser.expect(R"({"format":")" + std::string(receipt_format) + R"(","mac":")");
  receipt.mac = parser.text();
  parser.expect(R"(","number":)");
  receipt.number = parser.number();
  parser.expect(R"(,"time":")");
  receipt.time = parser.text();
  parser.require(is_time(receipt.time), "a time is expected before");
  parser.expect(R"(","lost":)");
  receipt.lost = parser.number();
  parser.expect(R"(,"prev":")");
  receipt.prev = parser.text();
  parser.require(receipt.prev.empty() || is_hash(receipt.prev), "a hash is expected before");
  parser.expect(R"(","body_hash":")");
  receipt.body_hash = parser.text();
  parser.require(is_hash(receipt.body_hash), "a hash is expected before");
  parser.expect(R"(","body":)");
  if (std::string body = parser.all_but(before_hash.size() + hash_digits + end.size()); body != "null") {
    parser.require(body.starts_with('{'), "an object or null is expected before");
    receipt.body = std::move(body);
  }
  parser.expect(before_hash);
  receipt.hash = parser.text();
  parser.require(is_hash(receipt.hash), "a hash is expected before");
  parser.expect(end);
  parser.expect_end();
  problem = parser.take_problem();
  if (!problem.empty()) return std::nullopt;
  return receipt;
}

}  // namespace agentcore::detail::receipts
