// wipe: overwrites what was secret, so that it is not found in memory that is free.
#pragma once

#include <cstddef>
#include <string>

namespace agentcore::core {

// Writes zeros that no optimiser leaves out.
void wipe(char* bytes, std::size_t size) noexcept;

// All that the string holds room for, also what is inside of the object itself; it is empty then.
void wipe(std::string& text) noexcept;

}  // namespace agentcore::core
