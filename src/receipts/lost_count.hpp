// LostCount: how many receipts were lost since the last one, in a file of its own.
#pragma once

#include "receipts/line_file.hpp"

#include <agentcore/error.hpp>

#include <cstdint>
#include <string>

namespace agentcore::detail::receipts {

// The file has its full size from the beginning, and its bytes are replaced: a full disk does not prevent
// that. It names the receipt after which they were lost, so nothing has to be written when a later receipt
// has reported how many.
class LostCount {
 public:
  // Opens the file, or creates it with mode 0600.
  static Result<LostCount> open(const std::string& path);

  // How many were lost after that receipt, which is the last one. A damaged file says none.
  Result<std::uint64_t> after(std::uint64_t receipt);
  // `disk`: returns when the disk has it.
  Result<void> set(std::uint64_t receipt, std::uint64_t lost, bool disk);

 private:
  LineFile file_;
};

}  // namespace agentcore::detail::receipts
