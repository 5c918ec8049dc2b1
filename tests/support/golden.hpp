// Golden files: what goes over the wire, stored as it is on it.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace agentcore::test {

// The bytes of a file below tests/golden.
inline std::string read_golden(const std::string& name) {
  std::ifstream file(AGENTCORE_GOLDEN "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("no golden file " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace agentcore::test
