#include "llm/http/secret.hpp"

#include "core/wipe.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {

Secret::Secret(std::string_view text) : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
  std::copy(text.begin(), text.end(), bytes_.get());
}

Secret::Secret(std::string&& text) : Secret(std::string_view(text)) {
  core::wipe(text);
}

Secret::Secret(Secret&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {
}

Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  const Secret old(std::move(other));  // overwritten now, not when `other` is destroyed
  return *this;
}

Secret::~Secret() {
  core::wipe(bytes_.get(), size_);
}

}  // namespace agentcore::detail::llm
