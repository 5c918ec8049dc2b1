// Golden files: the bytes on the wire, kept in tests/golden.
#pragma once

#include <string>

namespace agentcore::test {

// The bytes of tests/golden/`name`. Throws when there is no such file.
std::string read_golden(const std::string& name);

}  // namespace agentcore::test
