// Slab: objects that are addressed by index and never move.
#pragma once

#include "core/atomic.hpp"
#include "core/mutex.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace agentcore::detail::core {

// Grows in chunks, each twice the size of the one before. A chunk is never moved or freed as long as the slab
// exists, so that any thread may read an object at any time; the object needs a generation by which the
// reader knows which object of that slot it reads. Objects are constructed once, when their index is first
// returned, and reused by their owner.
template <typename T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    const std::uint32_t end = size();
    for (std::uint32_t i = 0; i < end; ++i) std::destroy_at(&(*this)[i]);
    for (std::size_t k = 0; k < chunks_.size(); ++k)
      if (T* chunk = chunks_[k].load(std::memory_order_relaxed))
        ::operator delete (chunk, std::align_val_t{alignof(T)});
  }

  // Makes one more object and returns its index. @threadsafe. Throws std::bad_alloc.
  std::uint32_t grow() {
    const Lock lock(mutex_);
    const std::uint32_t index = size_.load(std::memory_order_relaxed);
    const auto [k, offset] = place(index);
    T* chunk = chunks_[k].load(std::memory_order_relaxed);
    if (!chunk) {
      chunk = static_cast<T*>(::operator new (bytes(k), std::align_val_t{alignof(T)}));
      chunks_[k].store(chunk, std::memory_order_release);
    }
    std::construct_at(chunk + offset);
    size_.store(index + 1, std::memory_order_release);
    return index;
  }

  // Objects made so far. Any index below it may be looked at. @threadsafe
  std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  T& operator[](std::uint32_t index) const noexcept {
    const auto [k, offset] = place(index);
    return chunks_[k].load(std::memory_order_acquire)[offset];
  }

 private:
  static constexpr unsigned first_bits = 6;  // the first chunk holds 64
  struct Place {
    std::size_t chunk;
    std::size_t offset;
  };
  static constexpr Place place(std::uint32_t index) noexcept {
    const std::uint64_t shifted = std::uint64_t{index} + (1U << first_bits);
    const auto top = static_cast<unsigned>(std::bit_width(shifted)) - 1;
    return {top - first_bits, shifted - (std::uint64_t{1} << top)};
  }
  static constexpr std::size_t bytes(std::size_t k) noexcept {
    return (std::size_t{1} << (first_bits + k)) * sizeof(T);
  }

  std::array<Atomic<T*>, 32 - first_bits + 1> chunks_{};
  Atomic<std::uint32_t> size_{0};
  Mutex mutex_;  // for growing
};

}  // namespace agentcore::detail::core
