// Json: how the console writes JSON.
#pragma once

#include <agentcore/clock.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::console {

// A JSON value as text: null, true, a number, a string, an array, or an object whose members keep their
// order. Invalid UTF-8 in texts is replaced by U+FFFD. It is written, and never read. Its destructor
// allocates nothing, other than that of nlohmann::json: without memory, a request fails and the process goes
// on.
class Json {
 public:
  using Members = std::initializer_list<std::pair<std::string_view, Json>>;

  // NOLINTBEGIN(google-explicit-constructor): a list of members has values of each type
  Json(std::nullptr_t = nullptr) : text_("null") {}
  Json(std::same_as<bool> auto value) : kind_(Kind::scalar), text_(value ? "true" : "false") {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : kind_(Kind::scalar), text_(std::to_string(value)) {}
  Json(double value);
  Json(std::string_view value);
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  Json(const std::vector<std::string>& values) : kind_(Kind::array) {
    for (const std::string& value : values) push_back(value);
  }
  // NOLINTEND(google-explicit-constructor)
  // An object: {{"name", value}, ...}.
  Json(Members members) : kind_(Kind::object) {
    members_.reserve(members.size() + 2);
    for (const auto& [name, value] : members) set(name, value);
  }

  // An empty array.
  static Json array() {
    Json json;
    json.kind_ = Kind::array;
    json.text_.clear();
    return json;
  }
  // A value that is JSON already.
  static Json of_text(std::string text) {
    Json json;
    json.kind_ = Kind::scalar;
    json.text_ = std::move(text);
    return json;
  }

  // A member of an object: a new one at its end, or in the place of the one with this name.
  void set(std::string_view name, const Json& value) {
    const auto known =
        std::find_if(members_.begin(), members_.end(), [&](const auto& one) { return one.first == name; });
    if (known != members_.end())
      known->second = value.text();
    else
      members_.emplace_back(name, value.text());
  }
  // An element of an array.
  void push_back(const Json& value) {
    if (size_++ != 0) text_ += ',';
    text_ += value.text();
  }
  // Of an array: its elements.
  std::size_t size() const noexcept { return size_; }
  bool is_null() const noexcept { return kind_ == Kind::null; }
  // One line, unless of_text() had several.
  std::string text() const;

 private:
  enum class Kind : std::uint8_t { null, scalar, array, object };

  Kind kind_ = Kind::null;
  std::string text_;                                          // of an array: without its brackets
  std::vector<std::pair<std::string, std::string>> members_;  // of an object: names and texts
  std::size_t size_ = 0;
};

inline std::string to_line(const Json& json) {
  return json.text();
}

// Milliseconds since 1970.
inline std::int64_t to_milliseconds(WallTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace agentcore::detail::console
