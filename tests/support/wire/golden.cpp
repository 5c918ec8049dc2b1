#include "support/wire/golden.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace agentcore::test {

std::string read_golden(const std::string& name) {
  std::ifstream file(AGENTCORE_GOLDEN "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("no golden file " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace agentcore::test
