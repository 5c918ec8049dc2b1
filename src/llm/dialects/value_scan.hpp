// ValueScan: whether a JSON object that comes in pieces is complete.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {

// Looks at brackets and texts only: broken JSON between them is not noticed. One object reads one value.
class ValueScan {
 public:
  void add(std::string_view piece) noexcept {
    for (const char letter : piece) add(letter);
  }

  // The brackets that were opened are closed.
  bool is_complete() const noexcept { return is_begun_ && depth_ == 0; }

 private:
  void add(char letter) noexcept {
    if (std::exchange(is_escaped_, false)) return;
    if (is_in_text_) {
      is_escaped_ = letter == '\\';
      is_in_text_ = letter != '"';
    } else if (letter == '"') {
      is_in_text_ = true;
    } else if (letter == '{' || letter == '[') {
      is_begun_ = true;
      ++depth_;
    } else if ((letter == '}' || letter == ']') && depth_ > 0) {
      --depth_;
    }
  }

  std::uint32_t depth_ = 0;
  bool is_begun_ = false;
  bool is_in_text_ = false;
  bool is_escaped_ = false;
};

}  // namespace agentcore::detail::llm
