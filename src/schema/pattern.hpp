// Pattern: a regular expression of a JSON schema, matched in time linear in the text.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace agentcore::detail::schema {

inline constexpr std::size_t max_pattern_bytes = 1024;

// The syntax is that of ECMA-262, except the parts that cannot be matched in linear time (look-ahead,
// look-behind, back references). pattern.cpp alone uses RE2; a build may omit RE2. Immutable; can be moved.
class Pattern {
 public:
  // False: built without RE2; compile() refuses every pattern.
  static bool is_supported() noexcept;

  // Returns an error if the pattern is invalid, or exceeds a limit: max_pattern_bytes, or the size that RE2
  // compiles within a megabyte. `text` must be UTF-8. Throws nothing but std::bad_alloc.
  static Result<Pattern> compile(std::string_view text);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  // True if some part of `text`, which should be UTF-8, matches.
  bool matches(std::string_view text) const;

  // An upper bound of the cost of matching that many bytes, in the steps that Schema::check() counts.
  std::size_t steps(std::size_t bytes) const noexcept;

 private:
  struct Impl;
  explicit Pattern(std::unique_ptr<const Impl> impl) noexcept;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace agentcore::detail::schema
