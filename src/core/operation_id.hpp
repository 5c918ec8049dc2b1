// OperationId: identifies one in-flight operation among all that were ever started in a tree.
#pragma once

#include <compare>
#include <cstdint>

namespace agentcore::detail::core {

// Slots are reused, serials are not: the id of an ended operation finds nothing.
struct OperationId {
  std::uint32_t slot = 0;
  std::uint64_t serial = 0;  // 1, 2, ... in the order of starting; 0: no operation

  explicit operator bool() const noexcept { return serial != 0; }
  auto operator<=>(const OperationId&) const = default;  // NOLINT: clang-tidy 14 sees a null pointer
};

}  // namespace agentcore::detail::core
