// Counts allocations in a test executable. An executable that uses one of these functions gets counting
// operators.
#pragma once

#include <cstddef>

namespace agentcore::test {

// Bytes that came from operator new and were not freed, and calls of it so far, on all threads. Always 0
// under a sanitizer, which has an allocator of its own.
std::size_t live_heap() noexcept;
std::size_t allocations() noexcept;

// The maximum of live_heap() since the last mark_heap(), which sets it to the present value.
std::size_t peak_heap() noexcept;
void mark_heap() noexcept;

// Calls `function` once, from within the next operator new of this thread: to test events between two steps
// of a function that allocates there. Not under ThreadSanitizer.
void at_next_allocation(void (*function)(void*), void* with) noexcept;

// While one exists, no memory that is freed is used again: two objects never have the same address, and which
// have one does not depend on what ran before. Not under a sanitizer.
class KeepsFreedMemory {
 public:
  KeepsFreedMemory() noexcept;
  ~KeepsFreedMemory();
  KeepsFreedMemory(const KeepsFreedMemory&) = delete;
  KeepsFreedMemory& operator=(const KeepsFreedMemory&) = delete;
};

// Until it is destroyed, makes `count` allocations of this thread fail: the n-th (1: the next), and from then
// on each `step`-th. Those within a HostCode neither fail nor count. Not under ThreadSanitizer.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t n, std::size_t count = 1, std::size_t step = 1) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool failed() const noexcept;       // at least one did
  std::size_t seen() const noexcept;  // allocations so far that could have failed
};

}  // namespace agentcore::test
