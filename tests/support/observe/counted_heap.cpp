// Replaces operator new of the whole test executable by one that counts.
#include "support/observe/counted_heap.hpp"

#include "support/observe/host_code.hpp"
#include "support/sanitized.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

namespace {

std::atomic<std::size_t> live{0}, peak{0}, asked{0};

struct Hook {
  void (*function)(void*) = nullptr;
  void* with = nullptr;
};
thread_local Hook hook;

}  // namespace

std::size_t agentcore::test::live_heap() noexcept {
  return live.load();
}

std::size_t agentcore::test::allocations() noexcept {
  return asked.load();
}

std::size_t agentcore::test::peak_heap() noexcept {
  return peak.load();
}

void agentcore::test::mark_heap() noexcept {
  peak = live.load();
}

void agentcore::test::at_next_allocation(void (*function)(void*), void* with) noexcept {
  hook = {function, with};
}

namespace {

struct Failing {
  std::size_t until = 0;  // the number of the next allocation to fail, from 1
  std::size_t left = 0;   // allocations that are still to fail
  std::size_t step = 1;
  std::size_t seen = 0;
  bool failed = false;
};
thread_local bool fails = false;
thread_local Failing failing;

}  // namespace

agentcore::test::FailingAllocation::FailingAllocation(std::size_t n, std::size_t count,
                                                      std::size_t step) noexcept {
  failing = {.until = n, .left = count, .step = step};
  fails = true;
}

agentcore::test::FailingAllocation::~FailingAllocation() {
  fails = false;
}

bool agentcore::test::FailingAllocation::failed() const noexcept {
  return failing.failed;
}

std::size_t agentcore::test::FailingAllocation::seen() const noexcept {
  return failing.seen;
}

// ThreadSanitizer does not let a program replace its operators.
#ifndef RACES_WATCHED

namespace {

// True if this allocation is to fail.
bool is_to_fail() noexcept {
  if (!fails || agentcore::test::runs_host_code) return false;
  ++failing.seen;
  if (failing.left == 0 || --failing.until != 0) return false;
  --failing.left;
  failing.until = failing.step;
  failing.failed = true;
  return true;
}

#ifdef SANITIZED
constexpr bool counts = false;
#else
constexpr bool counts = true;
#endif

void note_peak(std::size_t now) noexcept {
  std::size_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

#ifdef _WIN32

// The runtime of Windows tells no size of aligned memory: it stands in front of it.
constexpr std::size_t every_alignment = 64;

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (alignment > every_alignment) return nullptr;
  void* const block = ::_aligned_malloc(every_alignment + size, every_alignment);
  if (!block) return nullptr;
  *static_cast<std::size_t*>(block) = size;
  return static_cast<char*>(block) + every_alignment;
}
void* block_of(void* memory) noexcept {
  return memory ? static_cast<char*>(memory) - every_alignment : nullptr;
}
std::size_t size_of(void* memory) noexcept {
  return memory ? *static_cast<std::size_t*>(block_of(memory)) : 0;
}
void release(void* memory) noexcept {
  ::_aligned_free(block_of(memory));
}

#else

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(size ? size : 1)
                                                : std::aligned_alloc(alignment, rounded);
}
std::size_t size_of(void* memory) noexcept {
#ifdef __APPLE__
  return ::malloc_size(memory);
#else
  return ::malloc_usable_size(memory);
#endif
}
void release(void* memory) noexcept {
  std::free(memory);
}

#endif

void* counted(std::size_t size, std::size_t alignment) {
  if (hook.function) {
    const Hook now = std::exchange(hook, {});
    now.function(now.with);
  }
  if (is_to_fail()) throw std::bad_alloc();
  void* const memory = allocate(size, alignment);
  if (!memory) throw std::bad_alloc();
  if (!counts) return memory;
  asked.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size_given = size_of(memory);
  note_peak(live.fetch_add(size_given, std::memory_order_relaxed) + size_given);
  return memory;
}

void* counted_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return counted(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::atomic<int> keepers{0};
// What was freed since: each block has the address of the one before.
std::atomic<void*> kept{nullptr};

void keep(void* memory) noexcept {
  void* before = kept.load();
  do {
    *static_cast<void**>(memory) = before;
  } while (!kept.compare_exchange_weak(before, memory));
}

void gone(void* memory) noexcept {
  if (counts) live.fetch_sub(size_of(memory), std::memory_order_relaxed);  // 0 for null
  if (counts && memory && keepers.load() != 0) return keep(memory);
  release(memory);
}

void release_kept() noexcept {
  void* memory = kept.exchange(nullptr);
  while (memory) {
    void* const before = *static_cast<void**>(memory);
    release(memory);
    memory = before;
  }
}

}  // namespace

agentcore::test::KeepsFreedMemory::KeepsFreedMemory() noexcept {
  ++keepers;
}

agentcore::test::KeepsFreedMemory::~KeepsFreedMemory() {
  if (--keepers == 0) release_kept();
}

void* operator new(std::size_t size) {
  return counted(size, 1);
}
void* operator new[](std::size_t size) {
  return counted(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  gone(memory);
}
void operator delete[](void* memory) noexcept {
  gone(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  gone(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  gone(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  gone(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  gone(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  gone(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  gone(memory);
}

// Without these, a sanitizer would use its own, which do not match the operators above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_or_null(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted_or_null(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  gone(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  gone(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  gone(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  gone(memory);
}
#endif
