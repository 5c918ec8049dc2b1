#include "net/head_reader.hpp"

#include <algorithm>
#include <charconv>

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

bool is_content_type(std::string_view name) noexcept {
  constexpr std::string_view wanted = "content-type";
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](char a, char b) { return to_lower(a) == b; });
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
  if (line.empty()) return status_ >= 200;
  if (line.starts_with("HTTP/")) {
    status_ = parse_status(line);
    content_type_.clear();
    return false;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_content_type(line.substr(0, colon))) return false;
  const std::string_view value = line.substr(colon + 1);
  content_type_ = trim(value.substr(0, value.find(';')));
  std::transform(content_type_.begin(), content_type_.end(), content_type_.begin(), to_lower);
  return false;
}

}  // namespace agentcore::net
