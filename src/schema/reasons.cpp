#include "schema/reasons.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace agentcore::detail::schema {
namespace {

using nlohmann::json;

constexpr std::size_t longest = 64;      // of one name or value, in bytes
constexpr std::size_t most_places = 16;  // of a path; the places between are left out

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_word(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && std::ranges::all_of(name, fits);
}

std::string step_words(const Place& place) {
  if (!place.name) return "[" + std::to_string(place.index) + "]";
  const std::string name = cut(*place.name, longest);
  return is_word(*place.name) ? "." + name : "[" + dump(name) + "]";
}

}  // namespace

std::string cut(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string to_words(const Place& place, std::string_view root) {
  std::vector<const Place*> steps;
  for (const Place* step = &place; step->above; step = step->above) steps.push_back(step);
  std::string words(root);
  for (std::size_t left = steps.size(); left-- > 0;) {
    const bool skipped =
        steps.size() > most_places && left >= most_places / 2 && left < steps.size() - most_places / 2;
    if (!skipped)
      words += step_words(*steps[left]);
    else if (left == most_places / 2)
      words += "[...]";
  }
  return words;
}

std::string to_words(const json& value) {
  return cut(dump(value), longest);
}

std::string to_words(double number) {
  constexpr double exact = 9e15;
  if (std::abs(number) < exact && std::trunc(number) == number)
    return std::to_string(static_cast<std::int64_t>(number));
  return json(number).dump();
}

std::string count_words(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace agentcore::detail::schema
