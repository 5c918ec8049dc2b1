// Compressed data without a library that compresses: blocks that are stored as they are, and runs of zeros,
// which shrink to a hundred-and-fiftieth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::test {

// `text` (of at most 65535 bytes) as gzip, and as what HTTP calls "deflate" (zlib's format).
std::string gzip(std::string_view text);
std::string deflate(std::string_view text);

// A stream of gzip that becomes `count` zeros, without the check sum at its end: a reader without a limit
// reads too much.
struct Bomb {
  std::string head;    // what comes first
  std::string repeat;  // then this, over and over: 2064 zeros each
};
Bomb gzip_bomb();

}  // namespace agentcore::test
