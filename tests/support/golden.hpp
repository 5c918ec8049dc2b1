// Golden files: what goes over the wire, byte for byte, kept in tests/golden.
#pragma once

#include "support/catch.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace agentcore::test {

// The bytes of tests/golden/`name`.
inline std::string read_golden(const std::string& name) {
  std::ifstream file(AGENTCORE_GOLDEN "/" + name, std::ios::binary);
  INFO("tests/golden/" << name);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace agentcore::test
