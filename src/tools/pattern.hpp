// Pattern: a regular expression of a JSON schema, matched in time linear in the text.
#pragma once

#include <agentcore/error.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace agentcore::tools {

inline constexpr std::size_t max_pattern_bytes = 1024;

// The syntax is that of ECMA-262, but for what cannot be matched in linear time (look-ahead, look-behind,
// back references). RE2 does the work; pattern.cpp alone knows it, and a build may do without. Immutable;
// can be moved.
class Pattern {
 public:
  // False: built without RE2, and compile() refuses everything.
  static bool is_supported() noexcept;

  // An error says what is wrong with the pattern, or too much: longer than max_pattern_bytes, or more than
  // RE2 compiles within a megabyte. `text` must be UTF-8. Never throws but for a lack of memory.
  static Result<Pattern> compile(std::string_view text);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  // Whether it matches somewhere in `text`, which should be UTF-8.
  bool matches(std::string_view text) const;

  // A bound of what it takes to match that many bytes, in steps of Schema::check.
  std::size_t steps(std::size_t bytes) const noexcept;

 private:
  struct Impl;
  explicit Pattern(std::unique_ptr<const Impl> impl) noexcept;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace agentcore::tools
