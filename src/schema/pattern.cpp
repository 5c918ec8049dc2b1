#include "schema/pattern.hpp"

#include <string>
#include <utility>

#ifdef AGENTCORE_WITH_RE2
#include "schema/pattern_syntax.hpp"

#include <algorithm>

#include <re2/re2.h>
#endif

namespace agentcore::detail::schema {
namespace {

Error refused(std::string why) {
  return {Errc::invalid_config, std::move(why)};
}

#ifdef AGENTCORE_WITH_RE2

// In bytes: of the compiled form, and of the memory for matching.
constexpr int max_memory = 1 << 20;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(max_memory);
  return options;
}

#endif

}  // namespace

#ifdef AGENTCORE_WITH_RE2

struct Pattern::Impl {
  explicit Impl(const std::string& text) : expression(text, options()) {}
  const RE2 expression;
};

bool Pattern::is_supported() noexcept {
  return true;
}

Result<Pattern> Pattern::compile(std::string_view text) {
  if (text.size() > max_pattern_bytes)
    return refused("it is longer than " + std::to_string(max_pattern_bytes) + " bytes");
  const Result<std::string> translated = to_re2(text);
  if (!translated) return translated.error();
  auto impl = std::make_unique<const Impl>(*translated);
  if (!impl->expression.ok()) return refused(impl->expression.error());
  return Pattern(std::move(impl));
}

bool Pattern::matches(std::string_view text) const {
  return impl_->expression.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

// For each byte RE2 may visit each instruction of the compiled pattern. Above some thousand instructions the
// measured time does not grow any more.
std::size_t Pattern::steps(std::size_t bytes) const noexcept {
  constexpr std::size_t most_visited = 4096;
  constexpr std::size_t visits_per_step = 32;
  const auto size = static_cast<std::size_t>(impl_->expression.ProgramSize());
  return 1 + bytes * std::min(size, most_visited) / visits_per_step;
}

#else

struct Pattern::Impl {};

bool Pattern::is_supported() noexcept {
  return false;
}

Result<Pattern> Pattern::compile(std::string_view) {
  return refused("this build of agentcore has no RE2, which patterns need");
}

bool Pattern::matches(std::string_view) const {
  return false;
}

std::size_t Pattern::steps(std::size_t) const noexcept {
  return 1;
}

#endif

Pattern::Pattern(std::unique_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {
}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

}  // namespace agentcore::detail::schema
