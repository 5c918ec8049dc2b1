// Text that is JSON: strings and objects.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/clock.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace agentcore::detail::core {

// Invalid UTF-8 is replaced by U+FFFD. For text that is put together from strings: the destructor of a JSON
// object allocates, and its exception could not be caught. Throws std::bad_alloc.
AGENTCORE_INTERNAL_API std::string json_string(std::string text);

// Writes a JSON object. Records are written all the time: a json object would allocate for each member, and
// in its destructor, too, which would end the process where there is no memory. Names are written as they
// are; a name must not be written twice.
class AGENTCORE_INTERNAL_API JsonObjectText {
 public:
  void add(std::string_view name, bool value) { begin(name) += value ? "true" : "false"; }
  void add(std::string_view name, std::string_view value) { add_string(begin(name), value); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void add(std::string_view name, T value) {
    add_number(begin(name), value);
  }
  void add(std::string_view name, double value);
  void add(std::string_view name, const std::vector<std::string>& list) {
    add_json(name, array(list, [](const std::string& entry) { return string(entry); }));
  }
  template <std::integral T>
  void add(std::string_view name, const std::vector<T>& list) {
    std::string& text = begin(name) += '[';
    for (std::size_t i = 0; i < list.size(); ++i) add_number(i == 0 ? text : text += ',', list[i]);
    text += ']';
  }
  // `value`: as JSON.
  void add_json(std::string_view name, std::string_view value) { begin(name) += value; }

  // Leave out a value that is usual.
  template <typename T>
  void put(std::string_view name, const T& value, const std::type_identity_t<T>& usual = {}) {
    if (!(value == usual)) add(name, value);
  }
  template <typename T>
  void put(std::string_view name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void put_enum(std::string_view name, Enum value, Enum usual) {
    if (value != usual) add(name, static_cast<int>(value));
  }
  // In nanoseconds.
  void put_duration(std::string_view name, Duration value, Duration usual) {
    if (value != usual) add(name, value.count());
  }
  // `value`: an object. Left out if it has no members.
  void put_object(std::string_view name, std::string_view value) {
    if (value != "{}") add_json(name, value);
  }

  // Calls write(entry) for each, which returns JSON.
  template <typename List, typename Write>
  static std::string array(const List& list, Write&& write) {
    std::string text = "[";
    for (const auto& entry : list) {
      if (text.size() > 1) text += ',';
      text += write(entry);
    }
    return text += ']';
  }
  static std::string string(std::string_view value);

  // The object. Nothing can be added to it any more.
  std::string take() {
    text_ += text_.empty() ? "{}" : "}";
    return std::move(text_);
  }

  template <std::integral T>
  static void add_number(std::string& text, T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text.append(digits, static_cast<std::size_t>(end - digits));
  }

 private:
  std::string& begin(std::string_view name);
  static void add_string(std::string& text, std::string_view value);

  std::string text_;
};

}  // namespace agentcore::detail::core
