// The texts for a model about where and why a value that it wrote is invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace agentcore::detail::schema {

// A place in a value: a member of the place above, or, without a name, an item. On the stack.
struct Place {
  const Place* above = nullptr;  // null: the value itself
  const std::string* name = nullptr;
  std::size_t index = 0;
};

// "params.list[2].name", where `root` is "params". Names that are not identifiers are quoted, long ones cut.
std::string to_words(const Place& place, std::string_view root);

// A value as JSON, cut when long; a number without a needless fraction.
std::string to_words(const nlohmann::json& value);
std::string to_words(double number);

// The beginning of a text that is longer than that, never cut within a character of several bytes.
std::string cut(std::string text, std::size_t bytes);

// "1 item", "2 items".
std::string count_words(std::size_t count, const char* noun);

}  // namespace agentcore::detail::schema
