// ReceiptChain: checks receipts one after the other.
#pragma once

#include "receipts/hash.hpp"
#include "receipts/receipt_line.hpp"

#include <agentcore/receipt_file.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

// The hash that the receipt must have.
std::string hash_of(const Receipt& receipt, const ChainHash& chain);

class ReceiptChain {
 public:
  explicit ReceiptChain(const ChainHash& hash) : hash_(hash) {}

  // Checks the next line, and counts it. Nothing if it is wrong: see problem().
  std::optional<Receipt> take(std::string_view line);
  const std::string& problem() const noexcept { return found_.problem; }
  // So far.
  const ReceiptCheck& found() const noexcept { return found_; }

 private:
  std::string problem_of(const Receipt& receipt) const;

  const ChainHash& hash_;
  ReceiptCheck found_;
};

}  // namespace agentcore::detail::receipts
