#include "llm/http/base64.hpp"

#include <cstddef>
#include <cstdint>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view digit_table = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Three bytes, of which `count` are there, as four digits.
void append_group(std::string& text, std::string_view bytes, std::size_t count) {
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < 3; ++i)
    group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[i]) : 0U);
  for (std::size_t i = 0; i < 4; ++i)
    text.push_back(i <= count ? digit_table[group >> (18 - 6 * i) & 63U] : '=');
}

// Four digits, of which the last `padding` are none. False: not base64.
bool append_bytes(std::string& bytes, std::string_view digits, std::size_t padding) {
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto digit = i < 4 - padding ? digit_table.find(digits[i]) : 0;
    if (digit == std::string_view::npos) return false;
    group = group << 6U | static_cast<std::uint32_t>(digit);
  }
  if ((group & ((1U << (8 * padding)) - 1)) != 0) return false;  // bits that no encoder sets
  for (std::size_t i = 0; i < 3 - padding; ++i)
    bytes.push_back(static_cast<char>(group >> (16 - 8 * i) & 0xFFU));
  return true;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (; bytes.size() > 3; bytes.remove_prefix(3)) append_group(text, bytes, 3);
  if (!bytes.empty()) append_group(text, bytes, bytes.size());
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (; !text.empty(); text.remove_prefix(4)) {
    const std::size_t padding = text.size() > 4 ? 0 : text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    if (!append_bytes(bytes, text, padding)) return std::nullopt;
  }
  return bytes;
}

}  // namespace agentcore::detail::llm
