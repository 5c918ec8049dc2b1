// What a model's tokens cost, by a client's table.
#pragma once

#include <agentcore/http_llm_client.hpp>

#include <string_view>

namespace agentcore::llm {

// The prices of the model itself, else those of the longest name that it begins with; null: it is not in the
// table.
const Prices* find_prices(const PriceTable& table, std::string_view model) noexcept;

}  // namespace agentcore::llm
