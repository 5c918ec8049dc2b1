// The texts for a model about where and why its arguments are invalid.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace agentcore::detail::schema {

// A place in the arguments: a member of the place above, or, without a name, an item. On the stack.
struct Place {
  const Place* above = nullptr;  // null: the arguments themselves
  const std::string* name = nullptr;
  std::size_t index = 0;
};

// "params.list[2].name". Names that are not identifiers are quoted, long ones cut.
std::string to_words(const Place& place);

// A value as JSON, cut when long; a number without a needless fraction.
std::string to_words(const nlohmann::json& value);
std::string to_words(double number);

// The beginning of a text that is longer than that, never cut within a character of several bytes.
std::string cut(std::string text, std::size_t bytes);

// "1 item", "2 items".
std::string count_words(std::size_t count, const char* noun);

}  // namespace agentcore::detail::schema
