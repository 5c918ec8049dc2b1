// The schema of a tool, with what servers demand of it.
#pragma once

#include <string>

namespace agentcore::detail::llm {

// The schema with what is missing in it; empty if nothing is, or if it is not the schema of an object. The
// members that it has keep their order.
//
// - Everywhere in it, the schema of an object has a type and properties, and that of an array has items
//   (OpenAI: "array schema missing items", "object schema missing properties").
// - `only_known_names`: names in `required` that are no properties are left out (Gemini: "required[0]:
// property
//   is not defined"), and so are the properties of what is no object ("properties: only allowed for OBJECT
//   type").
std::string completed_schema(const std::string& schema, bool only_known_names = false);

}  // namespace agentcore::detail::llm
