// Which prices a model has.
#include "llm/http/prices.hpp"

#include "support/catch.hpp"

using namespace agentcore;
using detail::llm::find_prices;

TEST_CASE("a model has its own prices or those of the longest matching prefix", "[llm]") {
  const PriceTable table = {{"gpt-4o", {1, 1}}, {"gpt-4o-mini", {2, 2}}, {"gpt-4o-mini-2024", {3, 3}}};
  const auto price = [&table](std::string_view model) {
    const Prices* const prices = find_prices(table, model);
    return prices != nullptr ? prices->prompt : 0;
  };
  CHECK(price("gpt-4o") == 1);
  CHECK(price("gpt-4o-2024-08-06") == 1);
  CHECK(price("gpt-4o-mini") == 2);
  CHECK(price("gpt-4o-mini-2") == 2);
  CHECK(price("gpt-4o-mini-2024-07-18") == 3);
  CHECK(price("gpt-4") == 0);
  CHECK(price("") == 0);
  CHECK(find_prices({{"", {1, 1}}}, "x") == nullptr);
}
