#include "llm/http/prices.hpp"

namespace agentcore::detail::llm {

const Prices* find_prices(const PriceTable& table, std::string_view model) noexcept {
  for (std::size_t length = model.size(); length > 0; --length)
    if (const auto found = table.find(model.substr(0, length)); found != table.end()) return &found->second;
  return nullptr;
}

}  // namespace agentcore::detail::llm
