#include "support/wire/gzip.hpp"

namespace agentcore::test {

namespace {

// A header without a name and a time.
constexpr std::string_view gzip_head("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
constexpr std::string_view zlib_head("\x78\x01", 2);

std::string bytes_of(std::uint32_t number, unsigned count) {  // the lowest first
  std::string bytes;
  for (unsigned i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xffU);
  return bytes;
}

// The last block, not compressed.
std::string stored(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  return '\x01' + bytes_of(size, 2) + bytes_of(~size, 2) + std::string(text);
}

std::uint32_t crc32(std::string_view text) {
  std::uint32_t sum = ~0U;
  for (const char c : text) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1U ^ ((sum & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~sum;
}

std::uint32_t adler32(std::string_view text) {
  std::uint32_t low = 1, high = 0;
  for (const char c : text) {
    low = (low + static_cast<unsigned char>(c)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16U | low;
}

// Bits in the order of a deflate stream: from the lowest of each byte on.
class Bits {
 public:
  // Codes of Huffman come with their highest bit first.
  Bits& code(unsigned bits, unsigned count) {
    while (count-- > 0) push(bits >> count & 1U);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void push(unsigned bit) {
    if (used_ == 0) bytes_ += '\0';
    bytes_.back() = static_cast<char>(static_cast<unsigned char>(bytes_.back()) | bit << used_);
    used_ = (used_ + 1) % 8;
  }
  std::string bytes_;
  unsigned used_ = 0;
};

}  // namespace

std::string gzip(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  return std::string(gzip_head) + stored(text) + bytes_of(crc32(text), 4) + bytes_of(size, 4);
}

std::string deflate(std::string_view text) {
  const std::uint32_t sum = adler32(text);
  std::string bytes = std::string(zlib_head) + stored(text);
  for (unsigned shift = 32; shift != 0; shift -= 8) bytes += static_cast<char>(sum >> (shift - 8) & 0xffU);
  return bytes;
}

// One block of fixed codes. A zero is a literal (8 bits), and each further 258 are a copy: length 258 (code
// 285, 8 bits), distance 1 (code 0, 5 bits). The block's own 3 bits and 5 bits of a copy fill whole bytes
// only now and then, so the head holds as many copies as it takes.
Bomb gzip_bomb() {
  const auto copy = [](Bits& bits) { bits.code(0b11000101, 8).code(0, 5); };
  Bits head;
  head.code(0b0, 1).code(0b10, 2).code(0b00110000, 8);  // not the last block; fixed codes
  unsigned used = 11;
  for (; used % 8 != 0; used += 13) copy(head);
  Bits repeat;
  for (int i = 0; i < 8; ++i) copy(repeat);
  return {std::string(gzip_head) + head.bytes(), repeat.bytes()};
}

}  // namespace agentcore::test
