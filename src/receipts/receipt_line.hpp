// A receipt as a line of a file.
#pragma once

#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

inline constexpr std::string_view receipt_format = "agentcore-receipt-1";
// A line is longer than that only if it is not a receipt.
inline constexpr std::size_t max_line_bytes = std::size_t{16} << 20;

// The members in the order of the line. The hash is over all before it but the body, of which it has the
// hash: so a body can be replaced by `null`, and the hash stays valid.
struct Receipt {
  std::string mac;                  // ChainHash::name()
  std::uint64_t number = 0;         // from 1
  std::string time;                 // text_of_time()
  std::uint64_t lost = 0;           // receipts that could not be written since the one before
  std::string prev;                 // the hash of the one before; empty for the first
  std::string body_hash;            // SHA-256
  std::optional<std::string> body;  // a JSON object; nothing: erased
  std::string hash;
};

// "2026-11-24T21:40:00.123456Z"; times before 1970 or after 9999 as the nearest one between.
std::string text_of_time(WallTime time);

// Without the end of the line.
std::string line_of(const Receipt& receipt);
// Reads exactly what line_of() writes. Otherwise nothing, and `problem` says what is wrong.
std::optional<Receipt> receipt_of(std::string_view line, std::string& problem);

}  // namespace agentcore::detail::receipts
