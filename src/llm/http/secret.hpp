// Secret: a text that leaves nothing behind in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore::llm {

// Overwritten when it goes. It never lies inside the object itself, so one that was moved from holds nothing.
// It cannot be copied: who needs it too, shares it or says so with a view.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text);
  explicit Secret(const char* text) : Secret(std::string_view(text)) {}
  // Takes it away: `text` is overwritten, its object included, and empty then.
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

}  // namespace agentcore::llm
