// The names of enumerators: AGENTCORE_NAMES() defines to_string() of an enumeration, value_of() reads a name.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace agentcore::detail::core {

// A table: entry i is the name of the enumerator with the value i, as it is spelled. A name ends with a NUL,
// which does not count: hosts print data() of what to_string() returns.
template <typename Enum, std::size_t count, std::size_t bytes>
class EnumNames {
 public:
  // `spelled` has the enumerators `values` as they stand in the source, with commas between them.
  constexpr EnumNames(const Enum (&values)[count], const char (&spelled)[bytes]) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      is_in_order_ = is_in_order_ && static_cast<std::size_t>(values[i]) == i;
      while (spelled[at] == ',' || spelled[at] == ' ' || spelled[at] == '\n') ++at;
      begins_[i] = at;
      for (; spelled[at] != ',' && spelled[at] != '\0'; ++at) text_[at] = spelled[at];
      sizes_[i] = at - begins_[i];
    }
  }

  // The enumerators are in the order of their values, from 0, without a gap.
  constexpr bool is_in_order() const noexcept { return is_in_order_; }

  // "unknown" for a value that has no enumerator.
  constexpr std::string_view name(Enum value) const noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < count ? std::string_view(&text_[begins_[index]], sizes_[index]) : "unknown";
  }

  constexpr std::optional<Enum> value(std::string_view name_of_one) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (name(static_cast<Enum>(i)) == name_of_one) return static_cast<Enum>(i);
    return std::nullopt;
  }

  static constexpr std::size_t size() noexcept { return count; }

 private:
  std::array<char, bytes> text_{};  // the names, with NULs between them
  std::array<std::size_t, count> begins_{}, sizes_{};
  bool is_in_order_ = true;
};

// The table of an enumeration; AGENTCORE_NAME_TABLE() makes it.
template <typename Enum>
inline constexpr auto names_of = nullptr;

// The enumerator with that name; nothing: there is none. core/enum_names.cpp lists the enumerations. Within
// the library core: the others do not see it.
template <typename Enum>
std::optional<Enum> value_of(std::string_view name) noexcept;

}  // namespace agentcore::detail::core

// In namespace agentcore, with all enumerators in the order of their values: the table alone, or the table
// and to_string().
#define AGENTCORE_NAME_TABLE(Enum, ...)                          \
  template <>                                                    \
  constexpr auto detail::core::names_of<Enum> = [] {             \
    using enum Enum;                                             \
    return detail::core::EnumNames({__VA_ARGS__}, #__VA_ARGS__); \
  }();                                                           \
  static_assert(detail::core::names_of<Enum>.is_in_order());
#define AGENTCORE_NAMES(Enum, ...)                   \
  AGENTCORE_NAME_TABLE(Enum, __VA_ARGS__)            \
  std::string_view to_string(Enum value) noexcept {  \
    return detail::core::names_of<Enum>.name(value); \
  }
