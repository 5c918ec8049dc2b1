#include "core/json_text.hpp"

#include "core/utf8.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::detail::core {
namespace {

bool stays(char c) noexcept {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

// Only of what does not stay.
void add_escape(std::string& text, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\')
    (text += '\\') += c;
  else if (c == '\n')
    text += "\\n";
  else
    ((text += "\\u00") += hex[code >> 4U]) += hex[code & 15U];
}

}  // namespace

std::string& JsonObjectText::begin(std::string_view name) {
  text_ += text_.empty() ? "{\"" : ",\"";
  return (text_ += name) += "\":";
}

// As the JSON library writes it. What has no members is freed without an allocation.
void JsonObjectText::add(std::string_view name, double value) {
  begin(name) += nlohmann::json(value).dump();
}

std::string JsonObjectText::string(std::string_view value) {
  std::string text;
  add_string(text, value);
  return text;
}

void JsonObjectText::add_string(std::string& text, std::string_view value) {
  if (!is_utf8(value)) {
    text += json_string(std::string(value));
    return;
  }
  text.reserve(text.size() + value.size() + 16);
  text += '"';
  for (auto place = value.begin(); place != value.end();) {
    const auto next = std::find_if_not(place, value.end(), stays);
    text.append(place, next);
    place = next;
    if (place != value.end()) add_escape(text, *place++);
  }
  text += '"';
}

std::string json_string(std::string text) {
  return nlohmann::json(std::move(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace agentcore::detail::core
