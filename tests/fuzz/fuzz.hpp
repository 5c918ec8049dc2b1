// Common functions of the fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// The entry point that libFuzzer calls, with each input. An exception counts as a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace agentcore::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the program where the input shows a fault; libFuzzer keeps the input.
inline void expect(bool good) noexcept {
  if (!good) __builtin_trap();
}

}  // namespace agentcore::fuzz
