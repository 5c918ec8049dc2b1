#include "llm/http/rate_headers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace agentcore::detail::llm {
namespace {

using std::chrono::milliseconds;

// A longer wait makes no sense; the limit also keeps sums of times in range.
constexpr Duration longest = std::chrono::hours(24 * 365);

// Reads a text from its front to its end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  bool literal(std::string_view expected) noexcept {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  // A number of exactly so many digits.
  std::optional<int> digits(std::size_t count) noexcept {
    int value = 0;
    if (rest_.size() < count) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + count, value);
    if (error != std::errc() || end != rest_.data() + count || value < 0) return std::nullopt;
    rest_.remove_prefix(count);
    return value;
  }
  std::optional<double> number() noexcept {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string_view take(std::size_t count) noexcept {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// "08:49:37"
struct TimeOfDay {
  int hour = 0;
  int minute = 0;
  int second = 0;
};

std::optional<TimeOfDay> time_of_day(Scanner& in) noexcept {
  const auto hour = in.digits(2);
  if (!hour || !in.literal(":")) return std::nullopt;
  const auto minute = in.digits(2);
  if (!minute || !in.literal(":")) return std::nullopt;
  const auto second = in.digits(2);
  return second ? std::optional(TimeOfDay{*hour, *minute, *second}) : std::nullopt;
}

std::optional<UtcTime> make_time(int year, unsigned month, int day, TimeOfDay time) noexcept {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || time.hour > 23 || time.minute > 59 || time.second > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(time.hour) + std::chrono::minutes(time.minute) +
         std::chrono::seconds(time.second);
}

// 1 to 12; 0 for no month.
unsigned month_of(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 12> names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? 0 : static_cast<unsigned>(found - names.begin()) + 1;
}

Duration seconds(double count) noexcept {
  return count >= std::chrono::duration<double>(longest).count()
             ? longest
             : std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

Duration until(UtcTime when, UtcTime now) noexcept {
  constexpr milliseconds most = std::chrono::duration_cast<milliseconds>(longest);
  return std::clamp(when - now, milliseconds::zero(), most);
}

std::optional<std::uint64_t> count_in(std::string_view text) noexcept {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return count;
}

std::optional<double> number_in(std::string_view text) noexcept {
  Scanner in(text);
  const auto number = in.number();
  return in.at_end() ? number : std::nullopt;
}

// A duration, a date, or an instant since 1970, in milliseconds (OpenRouter) or in seconds.
Duration reset_in(std::string_view text, UtcTime now) noexcept {
  constexpr std::uint64_t year_2001 = 1'000'000'000'000, year_5138 = 100'000'000'000'000;  // in ms
  constexpr std::uint64_t year_2001_in_seconds = year_2001 / 1000, year_5138_in_seconds = year_5138 / 1000;
  if (const auto instant = count_in(text); instant && *instant > year_2001)
    return until(UtcTime(milliseconds(std::min(*instant, year_5138))), now);
  if (const auto instant = count_in(text);
      instant && *instant > year_2001_in_seconds && *instant < year_5138_in_seconds)
    return until(UtcTime(std::chrono::seconds(*instant)), now);
  if (const auto duration = parse_duration(text)) return *duration;
  if (const auto date = parse_rfc3339(text)) return until(*date, now);
  return Duration::zero();
}

int year_of(UtcTime time) noexcept {
  return static_cast<int>(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time)).year());
}

// The three forms of a date in HTTP (RFC 9110, 5.6.7). The day of the week is redundant.

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<UtcTime> parse_imf_date(std::string_view text) noexcept {
  Scanner in(text);
  in.take(3);
  if (!in.literal(", ")) return std::nullopt;
  const auto day = in.digits(2);
  if (!day || !in.literal(" ")) return std::nullopt;
  const unsigned month = month_of(in.take(3));
  if (month == 0 || !in.literal(" ")) return std::nullopt;
  const auto year = in.digits(4);
  if (!year || !in.literal(" ")) return std::nullopt;
  const auto time = time_of_day(in);
  if (!time || !in.literal(" GMT") || !in.at_end()) return std::nullopt;
  return make_time(*year, month, *day, *time);
}

// "Sunday, 06-Nov-94 08:49:37 GMT"
std::optional<UtcTime> parse_rfc850_date(std::string_view text, UtcTime now) noexcept {
  Scanner in(text);
  if (!in.take(text.find(',')).ends_with("day") || !in.literal(", ")) return std::nullopt;
  const auto day = in.digits(2);
  if (!day || !in.literal("-")) return std::nullopt;
  const unsigned month = month_of(in.take(3));
  if (month == 0 || !in.literal("-")) return std::nullopt;
  const auto year = in.digits(2);
  if (!year || !in.literal(" ")) return std::nullopt;
  const auto time = time_of_day(in);
  if (!time || !in.literal(" GMT") || !in.at_end()) return std::nullopt;
  // The latest of all years with these digits that is at most 50 years ahead.
  const int last = year_of(now) + 50;
  const int whole_year = last - ((last - *year) % 100 + 100) % 100;
  const auto date = make_time(whole_year, month, *day, *time);
  const auto limit = now + std::chrono::years(50);
  return date && *date > limit ? make_time(whole_year - 100, month, *day, *time) : date;
}

// "Sun Nov  6 08:49:37 1994"
std::optional<UtcTime> parse_asctime(std::string_view text) noexcept {
  Scanner in(text);
  in.take(3);
  if (!in.literal(" ")) return std::nullopt;
  const unsigned month = month_of(in.take(3));
  if (month == 0 || !in.literal(" ")) return std::nullopt;
  const auto day = in.digits(in.literal(" ") ? 1 : 2);
  if (!day || !in.literal(" ")) return std::nullopt;
  const auto time = time_of_day(in);
  if (!time || !in.literal(" ")) return std::nullopt;
  const auto year = in.digits(4);
  if (!year || !in.at_end()) return std::nullopt;
  return make_time(*year, month, *day, *time);
}

}  // namespace

std::optional<UtcTime> parse_http_date(std::string_view text, UtcTime now) noexcept {
  const auto comma = text.find(',');
  if (comma == text.npos) return parse_asctime(text);
  return comma == 3 ? parse_imf_date(text) : parse_rfc850_date(text, now);
}

std::optional<UtcTime> parse_rfc3339(std::string_view text) noexcept {
  Scanner in(text);
  const auto year = in.digits(4);
  if (!year || !in.literal("-")) return std::nullopt;
  const auto month = in.digits(2);
  if (!month || !in.literal("-")) return std::nullopt;
  const auto day = in.digits(2);
  if (!day || !in.literal("T")) return std::nullopt;
  const auto clock = time_of_day(in);
  if (!clock) return std::nullopt;
  if (in.literal(".") && !in.number()) return std::nullopt;  // a fraction of a second, ignored
  auto time = make_time(*year, static_cast<unsigned>(*month), *day, *clock);
  if (!time || in.literal("Z")) return in.at_end() ? time : std::nullopt;
  const bool east = in.literal("+");
  if (!east && !in.literal("-")) return std::nullopt;
  const auto hours = in.digits(2);
  if (!hours || !in.literal(":")) return std::nullopt;
  const auto minutes = in.digits(2);
  if (!minutes || !in.at_end()) return std::nullopt;
  const auto offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return east ? *time - offset : *time + offset;
}

std::optional<Duration> parse_duration(std::string_view text) noexcept {
  Scanner in(text);
  double total = 0;
  bool first = true;
  if (in.at_end()) return std::nullopt;
  while (!in.at_end()) {
    const auto count = in.number();
    if (!count) return std::nullopt;
    // The longer names first: "ms" begins as "m".
    if (in.literal("ms")) {
      total += *count / 1e3;
    } else if (in.literal("us") || in.literal("µs")) {
      total += *count / 1e6;
    } else if (in.literal("ns")) {
      total += *count / 1e9;
    } else if (in.literal("s")) {
      total += *count;
    } else if (in.literal("m")) {
      total += *count * 60;
    } else if (in.literal("h")) {
      total += *count * 3600;
    } else if (in.literal("d")) {
      total += *count * 86400;
    } else {
      // Only if it is the whole text.
      return first && in.at_end() ? std::optional(seconds(*count)) : std::nullopt;
    }
    first = false;
  }
  return seconds(total);
}

std::optional<milliseconds> retry_after(const net::HttpHead& head, UtcTime now) noexcept {
  const auto rounded = [](Duration wait) { return std::chrono::ceil<milliseconds>(wait); };
  for (const char* name : {"retry-after-ms", "x-ms-retry-after-ms"})
    if (const auto count = number_in(head.field(name))) return rounded(seconds(*count / 1e3));
  const std::string_view text = head.field("retry-after");
  if (text.empty()) return std::nullopt;
  if (const auto wait = parse_duration(text)) return rounded(*wait);
  now = parse_http_date(head.field("date"), now).value_or(now);
  const auto date = parse_http_date(text, now);
  if (!date) return std::nullopt;
  return rounded(until(*date, now));
}

std::optional<bool> should_retry(const net::HttpHead& head) noexcept {
  const std::string_view text = head.field("x-should-retry");
  const auto is = [text](std::string_view small) {
    return std::ranges::equal(text, small, [](char c, char s) { return (c | 0x20) == s; });
  };
  if (is("true")) return true;
  return is("false") ? std::optional(false) : std::nullopt;
}

std::optional<RateLimit> rate_limit(const net::HttpHead& head, UtcTime now) noexcept {
  now = parse_http_date(head.field("date"), now).value_or(now);
  RateLimit limit;
  // The spelling of the names of the three fields, for requests or for tokens. Names with "requests" or
  // "tokens" belong to buckets, which fill evenly (OpenAI, Anthropic, Groq); the others belong to fixed
  // windows (OpenRouter, drafts of the IETF).
  const auto read = [&](const char* limit_name, const char* left_name, const char* reset_name, bool tokens) {
    auto& all = tokens ? limit.tokens : limit.requests;
    auto& left = tokens ? limit.tokens_left : limit.requests_left;
    auto& reset = tokens ? limit.tokens_reset : limit.requests_reset;
    if (!all) all = count_in(head.field(limit_name));
    if (!left) left = count_in(head.field(left_name));
    if (reset == Duration::zero()) reset = reset_in(head.field(reset_name), now);
  };
  read("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", false);
  read("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", true);
  read("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining",
       "anthropic-ratelimit-requests-reset", false);
  read("anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining",
       "anthropic-ratelimit-tokens-reset", true);
  const bool has_bucket = limit.requests_left || limit.tokens_left;
  read("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", false);
  read("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", false);
  limit.fixed_window = !has_bucket && limit.requests_left;
  if (limit == RateLimit{}) return std::nullopt;
  return limit;
}

}  // namespace agentcore::detail::llm
