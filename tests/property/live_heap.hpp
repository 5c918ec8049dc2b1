// How much memory this test executable holds, by operator new.
#pragma once

#include <cstddef>

namespace agentcore::test {

// Bytes that came from operator new and have not gone back, on all threads; always 0 under a sanitizer, which
// has an allocator of its own.
std::size_t live_heap() noexcept;

}  // namespace agentcore::test
