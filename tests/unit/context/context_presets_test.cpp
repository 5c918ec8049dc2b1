// ContextOptions for the window of a model.
#include "support/catch.hpp"

#include <agentcore/context_presets.hpp>

#include <string>

using namespace agentcore;

namespace {

std::size_t max_of(std::string_view model) {
  return context_for_model(model).value().max_tokens;
}

}  // namespace

TEST_CASE("a preset leaves room for the answer and trims to less", "[context]") {
  for (const std::size_t window :
       {std::size_t{1}, std::size_t{8'192}, std::size_t{128'000}, std::size_t{2'000'000}}) {
    const ContextOptions options = context_for_window(window);
    CHECK(options.max_tokens <= window);
    CHECK(options.max_tokens >= window - window / 4);
    CHECK(options.target_tokens >= 1);
    CHECK(options.target_tokens <= options.max_tokens);
    if (window > 1000) CHECK(options.target_tokens < options.max_tokens);
  }
  CHECK(context_for_window(128'000).max_tokens == 96'000);
  CHECK(context_for_window(1'000'000).max_tokens == 968'000);
  CHECK(context_for_window(0).max_tokens == 1);
}

TEST_CASE("a model is known by the longest beginning of its name", "[context]") {
  CHECK(max_of("gpt-4") == 8'192 - 2'048);
  CHECK(max_of("gpt-4o-mini-2024-07-18") == 96'000);
  CHECK(max_of("gpt-4-turbo") == 96'000);
  CHECK(max_of("openai/GPT-4o") == 96'000);
  CHECK(max_of("anthropic/claude-sonnet-4") == 168'000);
  CHECK(max_of("qwen3-coder-plus") > max_of("qwen3-8b"));
}

TEST_CASE("a model that is not known is refused with the remedy", "[context][errors]") {
  for (const std::string model : {"", "my-model", "open"}) {
    const auto options = context_for_model(model);
    REQUIRE_FALSE(options);
    CHECK(options.error().code == Errc::invalid_config);
    CHECK(options.error().message ==
          "the context window of the model '" + model +
              "' is not known; use context_for_window() with its number of tokens");
  }
}
