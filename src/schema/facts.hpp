// Reads the text of a schema before it is compiled: rejects what the compiler and the check do not support,
// and collects what they need in addition.
#pragma once

#include "schema/pattern.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::schema {

struct SchemaFacts {
  bool draft4 = false;                                   // according to `$schema`
  std::map<std::string, Pattern, std::less<>> patterns;  // of `pattern` and `patternProperties`
  std::vector<nlohmann::json> constants;                 // of `enum` and `const`, in their order
};

// True if arrays and objects in `value` are nested deeper than that.
bool deeper_than(const nlohmann::json& value, std::size_t levels);

// The part of `root` that a local reference ("#", "#/definitions/a") names, through further references; null
// if there is none, or they form a cycle.
const nlohmann::json* resolve_ref(const nlohmann::json& root, std::string_view ref);

// Fills `facts`. Returns what is wrong with the schema, or "". Its depth must have been checked. Removes each
// `id`: references to an id are not supported, and the compiler would match the id with a std::regex.
std::string read_facts(nlohmann::json& root, SchemaFacts& facts);

}  // namespace agentcore::detail::schema
