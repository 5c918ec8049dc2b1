#include "llm/dialects/tool_schema.hpp"

#include "core/json_depth.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

using Json = nlohmann::ordered_json;

// Where the schemas of values stand in a schema. Those of conditions (`if`, `not`) are left as they are: they
// describe no value, and a type would change their meaning.
constexpr const char* of_names[] = {"properties", "patternProperties", "$defs", "definitions"};
constexpr const char* of_lists[] = {"items", "prefixItems", "allOf", "anyOf", "oneOf"};
constexpr const char* of_values[] = {"items", "additionalProperties"};

bool is_of_type(const Json& schema, const char* wanted) {
  const auto type = schema.find("type");
  if (type == schema.end()) return false;
  return *type == wanted || (type->is_array() && std::ranges::find(*type, wanted) != type->end());
}

bool has_properties(const Json& schema) {
  const auto properties = schema.find("properties");
  return properties != schema.end() && properties->is_object();
}

bool has_items(const Json& schema) {
  const auto items = schema.find("items");
  return items != schema.end() && !items->is_null();
}

// Completes a schema and those in it. The depth must have been checked.
class Completion {
 public:
  explicit Completion(bool only_known_names) noexcept : only_known_names_(only_known_names) {}

  bool has_changed() const noexcept { return has_changed_; }

  void complete_inner(Json& schema) {
    for (const char* const name : of_names)
      if (const auto found = schema.find(name); found != schema.end() && found->is_object())
        complete_all(*found);
    for (const char* const name : of_lists)
      if (const auto found = schema.find(name); found != schema.end() && found->is_array())
        complete_all(*found);
    for (const char* const name : of_values)
      if (const auto found = schema.find(name); found != schema.end()) complete(*found);
  }

  void prune_required(Json& schema) {
    if (!only_known_names_) return;
    const auto required = schema.find("required");
    if (required == schema.end()) return;
    const auto properties = schema.find("properties");
    const auto is_unknown = [&](const Json& name) {
      return !name.is_string() || properties == schema.end() || !properties->is_object() ||
             !properties->contains(name.get_ref<const std::string&>());
    };
    Json known = Json::array();
    if (required->is_array())
      for (const Json& name : *required)
        if (!is_unknown(name)) known.push_back(name);
    if (known == *required) return;
    has_changed_ = true;
    if (known.empty())
      schema.erase("required");
    else
      *required = std::move(known);
  }

 private:
  void complete_all(Json& schemas) {
    for (Json& schema : schemas) complete(schema);
  }

  void complete(Json& schema) {
    if (!schema.is_object()) return;
    const auto type = schema.find("type");
    const bool has_type = type != schema.end() && !type->is_null();
    if (!has_type && has_properties(schema)) set(schema, "type", "object");
    if (only_known_names_ && schema.contains("properties") && !is_of_type(schema, "object")) {
      schema.erase("properties");
      has_changed_ = true;
    }
    if (is_of_type(schema, "object") && !has_properties(schema)) set(schema, "properties", Json::object());
    if (is_of_type(schema, "array") && !has_items(schema)) set(schema, "items", Json::object());
    prune_required(schema);
    complete_inner(schema);
  }

  void set(Json& schema, const char* name, Json value) {
    schema[name] = std::move(value);
    has_changed_ = true;
  }

  const bool only_known_names_;
  bool has_changed_ = false;
};

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Adds the type and the properties that the schema itself lacks. The rest of `text` stays as it is written.
std::string completed_root(std::string text, bool has_type, bool names_properties) {
  if (!names_properties) text.insert(text.rfind('}'), R"(,"properties":{})");
  if (!has_type) text.insert(text.find('{') + 1, R"("type":"object",)");
  return text;
}

}  // namespace

std::string completed_schema(const std::string& schema, bool only_known_names) {
  if (core::json_depth(schema) > core::max_json_depth) return {};
  Json json = Json::parse(schema, nullptr, false);
  if (!json.is_object() || json.empty()) return {};
  const bool has_type = json.contains("type"), names_properties = json.contains("properties");
  if (has_type ? json["type"] != "object" : !names_properties) return {};
  Completion completion(only_known_names);
  completion.complete_inner(json);
  completion.prune_required(json);
  const bool mends_properties = names_properties && !has_properties(json);
  if (mends_properties) json["properties"] = Json::object();
  if (has_type && names_properties && !mends_properties && !completion.has_changed()) return {};
  const bool is_as_written = !mends_properties && !completion.has_changed();
  return completed_root(is_as_written ? schema : text_of(json), has_type, names_properties);
}

}  // namespace agentcore::detail::llm
