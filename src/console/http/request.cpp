#include "console/http/request.hpp"

#include <algorithm>

namespace agentcore::detail::console {
namespace {

const std::string* first_of(const Request::Fields& fields, std::string_view name) noexcept {
  for (const auto& [key, value] : fields)
    if (key == name) return &value;
  return nullptr;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// In a query, a '+' is a space.
std::optional<std::string> decoded(std::string_view text, bool in_query) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && in_query) {
      result += ' ';
    } else if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Takes what is before the first `separator` from the front of `rest`.
std::string_view take_until(std::string_view& rest, char separator) noexcept {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool parse_query(std::string_view query, Request::Fields& into) {
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    if (value.empty()) continue;
    auto name = decoded(take_until(value, '='), true);
    auto text = decoded(value, true);
    if (!name || !text) return false;
    into.emplace_back(std::move(*name), std::move(*text));
  }
  return true;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return result;
}

const std::string* Request::header(std::string_view name) const noexcept {
  return first_of(headers, name);
}

std::size_t Request::count_header(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(), [&](const auto& field) { return field.first == name; }));
}

const std::string* Request::parameter(std::string_view name) const noexcept {
  return first_of(query, name);
}

std::string_view Request::cookie(std::string_view name) const noexcept {
  for (const auto& [key, value] : headers) {
    if (key != "cookie") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      std::string_view one = take_until(rest, ';');
      while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
      if (take_until(one, '=') == name) return one;
    }
  }
  return {};
}

bool parse_target(std::string_view target, Request& into) {
  if (target.empty() || target.front() != '/') return false;
  std::string_view query = target.substr(1);
  std::string_view path = take_until(query, '?');
  const bool ends_with_slash = !path.empty() && path.back() == '/';
  do {
    auto segment = decoded(take_until(path, '/'), false);
    if (!segment) return false;
    into.path.push_back(std::move(*segment));
  } while (!path.empty());
  if (ends_with_slash) into.path.emplace_back();
  return parse_query(query, into.query);
}

}  // namespace agentcore::detail::console
