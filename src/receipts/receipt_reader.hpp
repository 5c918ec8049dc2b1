// Reading and verifying the lines of a file of receipts.
#pragma once

#include "receipts/hash.hpp"
#include "receipts/line_file.hpp"
#include "receipts/receipt_line.hpp"

#include <agentcore/error.hpp>
#include <agentcore/receipt_file.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

// Why a path or a key cannot be used by `function`; nothing if they can.
std::optional<Error> problem_of(const std::string& path, const std::string& key, const char* function);

// Verifies `file` up to its end, or to the first receipt that is wrong. Calls visit(receipt) for each receipt
// before that. Errors are those of reading.
Result<ReceiptCheck> check_receipts(LineFile& file, const ChainHash& hash,
                                    const std::function<void(Receipt&)>& visit = {});

}  // namespace agentcore::detail::receipts
