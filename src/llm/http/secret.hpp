// Secret: a text that is overwritten in memory when it is destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Never stored inside the object itself, so a moved-from secret is empty. It cannot be copied: other users
// share it, or take a view.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text);
  explicit Secret(const char* text) : Secret(std::string_view(text)) {}
  // Moves the text in: `text` is overwritten, its object included, and empty then.
  explicit Secret(std::string&& text);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace agentcore::detail::llm
