// Scripts as bytes, for a fuzzer: any bytes are a script, and small changes of them are small changes of it.
#pragma once

#include "sim/command.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace agentcore::sim {

// One byte for each knob, then eight for each command: the act, the place, and the three numbers with two
// bytes each. What is left at the end is not used. Each value is taken modulo the number of choices.
Script script_of_bytes(std::span<const std::uint8_t> bytes);
// The bytes of a script: script_of_bytes() makes it of them again, unless a number is greater than 65,535.
std::vector<std::uint8_t> bytes_of(const Script& script);

}  // namespace agentcore::sim
