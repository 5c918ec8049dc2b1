// Names that are made of hashes, as cache keys are.
#include "core/text_hash.hpp"

#include "support/catch.hpp"

using agentcore::detail::core::hashed_name;

TEST_CASE("a name of a hash has 16 digits, and the same ones in every run", "[core]") {
  CHECK(hashed_name("agent-", "") == "agent-cbf29ce484222325");
  CHECK(hashed_name("agent-", "a") == "agent-af63dc4c8601ec8c");
  // The first digit may be a zero.
  CHECK(hashed_name("tool-", "cook") == "tool-0bc60d911959a649");
}
