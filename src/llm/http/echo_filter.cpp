#include "llm/http/echo_filter.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t max_name = 32;

bool is_space(char letter) noexcept {
  return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

}  // namespace

void EchoFilter::feed(std::string_view piece, std::string& kept) {
  for (const char letter : piece) take(letter, kept);
}

void EchoFilter::take(char letter, std::string& kept) {
  switch (state_) {
    case State::between:
      return take_between(letter, kept);
    case State::in_text:
      kept += letter;
      if (ends_text(letter)) {
        state_ = State::between;
        after_text_ = true;
      } else if (name_.size() <= max_name) {
        name_ += letter;
      }
      return;
    case State::in_echoed_text:
      if (!ends_text(letter)) return;
      kept += letter;
      state_ = State::between;
      return;
    case State::in_echoed_value:
      if (is_in_nested_text_) {
        is_in_nested_text_ = !ends_text(letter);
      } else if (letter == '"') {
        is_in_nested_text_ = true;
      } else if (letter == '{' || letter == '[') {
        ++depth_;
      } else if ((letter == '}' || letter == ']') && --depth_ == 0) {
        kept += letter;
        state_ = State::between;
      }
      return;
  }
}

void EchoFilter::take_between(char letter, std::string& kept) {
  kept += letter;
  if (is_space(letter)) return;
  const bool was_text = std::exchange(after_text_, false);
  const bool is_echo = std::exchange(is_echo_next_, false);
  if (letter == ':') {
    is_echo_next_ = was_text && std::ranges::find(names_, name_) != names_.end();
  } else if (letter == '"') {
    state_ = is_echo ? State::in_echoed_text : State::in_text;
    name_.clear();
  } else if (is_echo && (letter == '{' || letter == '[')) {
    state_ = State::in_echoed_value;
    depth_ = 1;
  }
}

// True for the quote that ends a text.
bool EchoFilter::ends_text(char letter) noexcept {
  if (std::exchange(is_escaped_, false)) return false;
  is_escaped_ = letter == '\\';
  return letter == '"';
}

}  // namespace agentcore::detail::llm
