// Hashes of receipts: SHA-256, or HMAC-SHA-256 with a key of the host.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::receipts {

// 64 hexadecimal digits. Throws std::bad_alloc.
std::string sha256(std::string_view text);

// `bytes` random bytes as hexadecimal digits. Throws std::runtime_error if the system has none.
std::string random_digits(std::size_t bytes);

// Overwrites the text.
void wipe(std::string& text) noexcept;

// The hash that links receipts. Its copy of the key is overwritten at its end.
class ChainHash {
 public:
  // Overwrites `key`. Empty: SHA-256.
  explicit ChainHash(std::string& key);
  ~ChainHash() { wipe(key_); }
  ChainHash(const ChainHash&) = delete;
  ChainHash& operator=(const ChainHash&) = delete;

  bool has_key() const noexcept { return !key_.empty(); }
  // The name of the function in the file.
  std::string_view name() const noexcept { return has_key() ? "hmac-sha256" : "sha256"; }
  // 64 hexadecimal digits. Throws std::bad_alloc.
  std::string of(std::string_view text) const;

 private:
  std::string key_;
};

}  // namespace agentcore::detail::receipts
