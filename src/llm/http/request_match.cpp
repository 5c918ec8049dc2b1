#include "llm/http/request_match.hpp"

#include "core/json_depth.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t most_places = 3;
constexpr std::size_t most_levels = 200;  // of a body that is compared as JSON
constexpr std::size_t shown_bytes = 60;   // of a value
constexpr std::string_view removed = "[removed]";

// Nothing: compared as text.
std::optional<nlohmann::json> parsed(std::string_view body) {
  if (core::json_depth(body) > most_levels) return std::nullopt;
  nlohmann::json value = nlohmann::json::parse(body, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

// Equal but for secrets that were removed from the recorded text.
bool is_same_text(std::string_view recorded, std::string_view asked) {
  const std::size_t first = recorded.find(removed);
  if (first == recorded.npos) return recorded == asked;
  if (!asked.starts_with(recorded.substr(0, first))) return false;
  asked.remove_prefix(first);
  recorded.remove_prefix(first + removed.size());
  for (std::size_t next = recorded.find(removed); next != recorded.npos; next = recorded.find(removed)) {
    const std::string_view between = recorded.substr(0, next);
    const std::size_t at = asked.find(between);
    if (at == asked.npos) return false;
    asked.remove_prefix(at + between.size());
    recorded.remove_prefix(next + removed.size());
  }
  return asked.ends_with(recorded);
}

std::string in_short(const nlohmann::json& value, std::size_t from) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() <= shown_bytes) return text;
  std::size_t begin = std::min(from, text.size() - 1);
  begin -= std::min(begin, shown_bytes / 2);
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  const std::string_view cut = core::first_bytes(std::string_view(text).substr(begin), shown_bytes);
  return fmt::format("{}{}{}", begin == 0 ? "" : "...", cut, begin + cut.size() < text.size() ? "..." : "");
}

// The places where two bodies differ, in their order.
class Comparison {
 public:
  void compare(const std::string& place, const nlohmann::json& recorded, const nlohmann::json& asked) {
    if (places_.size() > most_places) return;
    if (recorded.is_string() && asked.is_string()) {
      if (!is_same_text(recorded.get_ref<const std::string&>(), asked.get_ref<const std::string&>()))
        add_values(place, recorded, asked);
    } else if (recorded.is_object() && asked.is_object()) {
      compare_members(place, recorded, asked);
    } else if (recorded.is_array() && asked.is_array()) {
      compare_entries(place, recorded, asked);
    } else if (recorded != asked) {
      add_values(place, recorded, asked);
    }
  }
  const std::vector<std::string>& places() const noexcept { return places_; }

 private:
  void compare_members(const std::string& place, const nlohmann::json& recorded,
                       const nlohmann::json& asked) {
    const std::string before = place.empty() ? place : place + ".";
    for (const auto& [name, value] : recorded.items()) {
      const auto other = asked.find(name);
      if (other == asked.end())
        places_.push_back(fmt::format("{}{}: recorded {}, not asked", before, name, in_short(value, 0)));
      else
        compare(before + name, value, *other);
    }
    for (const auto& [name, value] : asked.items())
      if (!recorded.contains(name))
        places_.push_back(fmt::format("{}{}: not recorded, asked {}", before, name, in_short(value, 0)));
  }

  void compare_entries(const std::string& place, const nlohmann::json& recorded,
                       const nlohmann::json& asked) {
    for (std::size_t i = 0; i < std::min(recorded.size(), asked.size()); ++i)
      compare(fmt::format("{}[{}]", place, i), recorded[i], asked[i]);
    if (recorded.size() != asked.size())
      places_.push_back(
          fmt::format("{}: recorded {} entries, asked {}", place, recorded.size(), asked.size()));
  }

  void add_values(const std::string& place, const nlohmann::json& recorded, const nlohmann::json& asked) {
    const std::string a = recorded.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string b = asked.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const auto differs = std::ranges::mismatch(a, b).in1 - a.begin();
    const auto from = static_cast<std::size_t>(differs);
    places_.push_back(fmt::format("{}: recorded {}, asked {}", place.empty() ? "the body" : place,
                                  in_short(recorded, from), in_short(asked, from)));
  }

  std::vector<std::string> places_;
};

std::vector<std::string> places_of(std::string_view recorded, std::string_view asked) {
  const std::optional<nlohmann::json> before = parsed(recorded), now = parsed(asked);
  Comparison comparison;
  if (before && now)
    comparison.compare("", *before, *now);
  else
    comparison.compare("", nlohmann::json(std::string(recorded)), nlohmann::json(std::string(asked)));
  return comparison.places();
}

}  // namespace

bool asks_the_same(std::string_view recorded, std::string_view asked) {
  return recorded == asked || places_of(recorded, asked).empty();
}

std::string difference_of(std::string_view recorded, std::string_view asked) {
  const std::vector<std::string> places = places_of(recorded, asked);
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), most_places); ++i)
    text += (i == 0 ? "" : "; ") + places[i];
  return places.size() > most_places ? text + "; and more" : text;
}

}  // namespace agentcore::detail::llm
