#include "receipts/receipt_chain.hpp"

namespace agentcore::detail::receipts {

std::string hash_of(const Receipt& receipt, const ChainHash& chain) {
  // No member has a line break, so each list of members has one text.
  std::string text(receipt_format);
  for (const std::string& member : {receipt.mac, std::to_string(receipt.number), receipt.time,
                                    std::to_string(receipt.lost), receipt.prev, receipt.body_hash})
    text += "\n" + member;
  return chain.of(text);
}

std::optional<Receipt> ReceiptChain::take(std::string_view line) {
  std::optional<Receipt> receipt = receipt_of(line, found_.problem);
  if (receipt) found_.problem = problem_of(*receipt);
  if (!found_.problem.empty()) {
    found_.line = found_.records + 1;
    return std::nullopt;
  }
  ++found_.records;
  found_.erased += receipt->body ? 0 : 1;
  found_.lost += receipt->lost;
  found_.last = {receipt->number, receipt->hash};
  return receipt;
}

// Empty: nothing is wrong.
std::string ReceiptChain::problem_of(const Receipt& receipt) const {
  if (receipt.mac != hash_.name()) {
    if (receipt.mac != "sha256" && receipt.mac != "hmac-sha256") return "has an unknown hash function";
    return hash_.has_key() ? "was made without a key" : "was made with a key; give the key";
  }
  if (receipt.number != found_.last.number + 1)
    return "has the number " + std::to_string(receipt.number) + " and not " +
           std::to_string(found_.last.number + 1) + ": receipts were removed, added or moved";
  if (receipt.prev != found_.last.hash)
    return "does not follow the receipt before it, or that one was changed";
  if (receipt.body && receipt.body_hash != sha256(*receipt.body)) return "has a body that was changed";
  if (receipt.hash == hash_of(receipt, hash_)) return {};
  return hash_.has_key() ? "was changed, or made with another key" : "was changed";
}

}  // namespace agentcore::detail::receipts
