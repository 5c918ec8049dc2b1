#include "receipts/hash.hpp"

#include <array>
#include <new>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace agentcore::detail::receipts {
namespace {

std::string hex_digits(const unsigned char* bytes, std::size_t count) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4U];
    text += digits[bytes[i] & 15U];
  }
  return text;
}

}  // namespace

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
  return hex_digits(digest.data(), size);
}

std::string random_digits(std::size_t bytes) {
  std::array<unsigned char, 32> random{};
  if (bytes > random.size() || RAND_bytes(random.data(), static_cast<int>(bytes)) != 1)
    throw std::runtime_error("OpenSSL has no random bytes");
  return hex_digits(random.data(), bytes);
}

void wipe(std::string& text) noexcept {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

ChainHash::ChainHash(std::string& key) : key_(key) {
  wipe(key);
}

std::string ChainHash::of(std::string_view text) const {
  if (!has_key()) return sha256(text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size))
    throw std::bad_alloc();
  return hex_digits(digest.data(), size);
}

}  // namespace agentcore::detail::receipts
