#include "console/events/json.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::detail::console {

// A number that is not finite is null.
Json::Json(double value) : kind_(Kind::scalar), text_(nlohmann::json(value).dump()) {
}

Json::Json(std::string_view value) : kind_(Kind::scalar), text_(core::json_string(std::string(value))) {
}

std::string Json::text() const {
  if (kind_ == Kind::array) return "[" + text_ + "]";
  if (kind_ != Kind::object) return text_;
  std::string object = "{";
  for (const auto& [name, value] : members_) {
    if (object.size() > 1) object += ',';
    object.append(core::json_string(name)).append(":").append(value);
  }
  return object += '}';
}

}  // namespace agentcore::detail::console
