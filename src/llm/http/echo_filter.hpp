// EchoFilter: leaves out of a line of a stream what the server repeats of the request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Reads the JSON of one line in pieces, cut anywhere. The values of the members with the given names are left
// out, at any depth: a text becomes "", an array [] and an object {}. Everything else is kept as it is.
class EchoFilter {
 public:
  // `names` must outlive this object.
  explicit EchoFilter(std::span<const std::string_view> names) noexcept : names_(names) {}

  // Appends to `kept` what is kept of the next piece.
  void feed(std::string_view piece, std::string& kept);

 private:
  enum class State : std::uint8_t { between, in_text, in_echoed_text, in_echoed_value };

  void take(char letter, std::string& kept);
  void take_between(char letter, std::string& kept);
  bool ends_text(char letter) noexcept;

  std::span<const std::string_view> names_;
  std::string name_;         // the text that was read last, or its beginning
  std::uint32_t depth_ = 0;  // within an echoed array or object
  State state_ = State::between;
  bool is_escaped_ = false;         // the next character of a text
  bool is_in_nested_text_ = false;  // within an echoed array or object
  bool after_text_ = false;         // a colon here makes name_ the name of a member
  bool is_echo_next_ = false;
};

}  // namespace agentcore::detail::llm
