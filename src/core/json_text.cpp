#include "core/json_text.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::core {

std::string json_string(std::string text) {
  return nlohmann::json(std::move(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace agentcore::detail::core
