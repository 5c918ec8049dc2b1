#include "net/head_reader.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace agentcore::net {

namespace {

constexpr std::string_view blank = " \t\r\n";

// The locale must not matter, and std::tolower asks it.
char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trim(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), to_lower);
  return small;
}

// The fields that somebody asks for.
bool is_read(std::string_view name) noexcept {
  return name == "location" || name == "content-encoding" || name == "date" ||
         name.starts_with("retry-after") || name.find("ratelimit-") != std::string_view::npos ||
         name.ends_with("request-id");
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

}  // namespace

bool HeadReader::read(std::string_view line) {
  line = trim(line);
  if (line.empty()) return head_.status >= 200;
  if (line.starts_with("HTTP/")) {
    head_ = HttpHead{.status = parse_status(line)};
    return false;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  std::string name = lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1));
  if (name == "content-type") {
    head_.content_type = lower(trim(value.substr(0, value.find(';'))));
  } else if (is_read(name)) {
    head_.fields.emplace_back(std::move(name), value);
  }
  return false;
}

}  // namespace agentcore::net
