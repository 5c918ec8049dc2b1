// EnumNames: the names of the enumerators of one enumeration, as one table.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace agentcore::detail::core {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

// Entry i is that of the enumerator with the value i; every table asserts that with is_in_order():
//
//     constexpr core::EnumNames names{std::to_array<core::EnumName<LogLevel>>(
//         {{LogLevel::debug, "debug"}, {LogLevel::info, "info"}})};
//     static_assert(names.is_in_order());
template <typename Enum, std::size_t count>
class EnumNames {
 public:
  constexpr explicit EnumNames(const std::array<EnumName<Enum>, count>& entries) noexcept
      : entries_(entries) {}

  // Invariants: (1) the entries are in the order of their values, from 0, without a gap; (2) the names
  // differ.
  constexpr bool is_in_order() const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::size_t>(entries_[i].value) != i) return false;
      for (std::size_t before = 0; before < i; ++before)
        if (entries_[before].name == entries_[i].name) return false;
    }
    return true;
  }

  // "unknown" for a value that has no enumerator.
  constexpr std::string_view name(Enum value) const noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < count ? entries_[index].name : std::string_view("unknown");
  }

  constexpr std::optional<Enum> value(std::string_view name) const noexcept {
    for (const EnumName<Enum>& entry : entries_)
      if (entry.name == name) return entry.value;
    return std::nullopt;
  }

  static constexpr std::size_t size() noexcept { return count; }

 private:
  std::array<EnumName<Enum>, count> entries_;
};

}  // namespace agentcore::detail::core
