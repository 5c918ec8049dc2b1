// What was secret is overwritten when it goes.
#include "llm/http/secret.hpp"

#include "core/wipe.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

using namespace agentcore;
using detail::llm::Secret;

static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_assignable_v<Secret>);
static_assert(!std::is_convertible_v<std::string, Secret>);

namespace {

// The bytes of an object that holds short strings within itself.
template <typename T>
bool holds(const T& object, std::string_view bytes) {
  const auto* const begin = reinterpret_cast<const char*>(&object);
  return std::search(begin, begin + sizeof(T), bytes.begin(), bytes.end()) != begin + sizeof(T);
}

}  // namespace

TEST_CASE("a string is wiped with its whole capacity", "[llm][secrets]") {
  std::string brief = "sk-12345";
  REQUIRE(holds(brief, "sk-12345"));
  detail::core::wipe(brief);
  CHECK(brief.empty());
  CHECK_FALSE(holds(brief, "k-12345"));

  std::string text = "a key that is longer than what fits in";
  const std::size_t size = text.size();
  text.erase(3);  // the rest is still in the buffer
  detail::core::wipe(text);
  CHECK(std::all_of(text.data(), text.data() + size, [](char c) { return c == 0; }));
}

TEST_CASE("a secret moves from a string and wipes it", "[llm][secrets]") {
  std::string brief = "sk-12345";
  Secret secret(std::move(brief));
  CHECK(secret.view() == "sk-12345");
  CHECK_FALSE(holds(brief, "k-12345"));
  CHECK_FALSE(holds(secret, "sk-12345"));
  Secret other(std::move(secret));
  CHECK(secret.empty());  // NOLINT(bugprone-use-after-move): it says so
  CHECK(other.view() == "sk-12345");
  other = Secret("next");
  CHECK(other.view() == "next");
}
