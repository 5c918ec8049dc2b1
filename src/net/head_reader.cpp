#include "net/head_reader.hpp"

#include "net/ascii.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace agentcore::detail::net {

namespace {

// The header fields that the library uses.
bool is_read(std::string_view name) noexcept {
  return name == "location" || name == "content-encoding" || name == "transfer-encoding" || name == "date" ||
         name.starts_with("retry-after") || name == "x-ms-retry-after-ms" || name == "x-should-retry" ||
         name.find("ratelimit-") != std::string_view::npos || name.ends_with("request-id");
}

// "HTTP/1.1 200 OK" -> 200; 0 when it is not a status line.
int parse_status(std::string_view line) noexcept {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  const std::string_view digits = line.substr(space + 1, 3);
  int status = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return error == std::errc{} && end == digits.data() + 3 ? status : 0;
}

bool is_beyond_all_lengths(std::string_view digits) noexcept {
  std::int64_t length = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), length).ec ==
         std::errc::result_out_of_range;
}

}  // namespace

bool HeadReader::read(std::string_view line) {
  line = trim(line);
  if (line.empty()) return head_.status >= 200;
  if (line.starts_with("HTTP/")) {
    head_ = HttpHead{.status = parse_status(line)};
    has_absurd_length_ = false;
    return false;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  std::string name = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name == "content-type") {
    head_.content_type = lower(trim(value.substr(0, value.find(';'))));
  } else if (name == "content-length") {
    has_absurd_length_ = has_absurd_length_ || is_beyond_all_lengths(value);
  } else if (is_read(name)) {
    head_.fields.emplace_back(std::move(name), value);
  }
  return false;
}

}  // namespace agentcore::detail::net
