// twice(): makes an answer although an allocation fails.
#pragma once

#include <new>
#include <utility>

namespace agentcore::detail::console {

// Calls make(), and once more if it finds no memory: what the first call has taken is free again. For what
// comes after a verb that took effect, so that one failed allocation does not lose its answer.
template <typename Make>
auto twice(Make&& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return make();
  }
}

}  // namespace agentcore::detail::console
