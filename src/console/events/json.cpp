#include "console/events/json.hpp"

#include "core/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::detail::console {
namespace {

// Most texts are ids and words of the library: nothing in them is to be replaced.
bool is_plain(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

std::string quoted(std::string_view text) {
  if (!is_plain(text)) return core::json_string(std::string(text));
  std::string result;
  result.reserve(text.size() + 2);
  return result.append("\"").append(text).append("\"");
}

}  // namespace

// A number that is not finite is null.
Json::Json(double value) : kind_(Kind::scalar), text_(nlohmann::json(value).dump()) {
}

Json::Json(std::string_view value) : kind_(Kind::scalar), text_(console::quoted(value)) {
}

std::string Json::text() const {
  if (kind_ == Kind::array) return "[" + text_ + "]";
  if (kind_ != Kind::object) return text_;
  std::string object = "{";
  for (const auto& [name, value] : members_) {
    if (object.size() > 1) object += ',';
    object.append(console::quoted(name)).append(":").append(value);
  }
  return object += '}';
}

}  // namespace agentcore::detail::console
