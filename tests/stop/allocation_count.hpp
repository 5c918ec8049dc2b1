// How often this test executable has asked for memory.
#pragma once

#include <cstddef>

namespace stop_test {

// Calls of operator new so far, on all threads; always 0 under a sanitizer, which has its own.
std::size_t allocations() noexcept;

}  // namespace stop_test
