// The price of a model's tokens, by a client's table.
#pragma once

#include <agentcore/http_llm_client.hpp>

#include <string_view>

namespace agentcore::detail::llm {

// The prices of the model itself, else those of the longest entry that is a prefix of its name; null: not in
// the table.
const Prices* find_prices(const PriceTable& table, std::string_view model) noexcept;

}  // namespace agentcore::detail::llm
