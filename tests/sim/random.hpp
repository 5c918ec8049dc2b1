// Random: the numbers that one seed gives, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace agentcore::sim {

// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t x = (state_ += 0x9e37'79b9'7f4a'7c15U);
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9U;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebU;
    return x ^ (x >> 31);
  }
  // 0 to `count` - 1. `count` is not 0.
  std::uint32_t below(std::uint32_t count) noexcept { return static_cast<std::uint32_t>(next() % count); }
  // True once in `count` times.
  bool once_in(std::uint32_t count) noexcept { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

// What is mixed into a hash of a trace.
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x0000'0100'0000'01b3U;
}

}  // namespace agentcore::sim
