// The key of a chain of receipts, from a file.
#pragma once

#include <string>

namespace store_tool {

// All bytes of the file, but for one end of line behind them. Throws Failure.
std::string read_key(const std::string& file);

}  // namespace store_tool
